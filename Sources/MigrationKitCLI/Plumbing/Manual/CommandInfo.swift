/// A command as ArgumentParser describes it, with what a manual page needs of that.
struct CommandInfo: Decodable {
    let commandName: String
    let shouldDisplay: Bool?
    let superCommands: [String]?
    let abstract: String?
    let discussion: String?
    let subcommands: [CommandInfo]?
    let arguments: [Argument]?

    struct Argument: Decodable {
        let kind: Kind
        let shouldDisplay: Bool
        let sectionTitle: String?
        let isOptional: Bool
        let isRepeating: Bool
        var names: [Name]?
        let preferredName: Name?
        let valueName: String?
        let defaultValue: String?
        let abstract: String?
        let discussion: String?
    }

    enum Kind: String, Decodable {
        case positional, option, flag
    }

    struct Name: Decodable {
        let kind: String
        let name: String
    }
}

extension CommandInfo {
    /// The words behind the program's name that call the command.
    var words: String {
        ((superCommands ?? []).dropFirst() + [commandName]).joined(separator: " ")
    }

    /// The commands that do something, in order; not `help`, which each has as an option.
    var leaves: [CommandInfo] {
        guard shouldDisplay != false, commandName != "help" else { return [] }
        guard let subcommands, !subcommands.isEmpty else { return [self] }
        return subcommands.flatMap(\.leaves)
    }

    /// The options and arguments that people are to see. A flag and what takes it back are one.
    var shown: [Argument] {
        (arguments ?? []).filter(\.shouldDisplay).reduce(into: []) { all, argument in
            if let last = all.last?.longName, argument.longName == "no-\(last)" {
                all[all.endIndex - 1].names? += argument.names ?? []
            } else {
                all.append(argument)
            }
        }
    }
}

extension CommandInfo.Argument {
    /// Whether several commands have it, always with the same meaning: it stands in a group with a
    /// title.
    var isShared: Bool {
        sectionTitle != nil || ["help", "version"].contains(longName)
    }

    var longName: String? {
        preferredName?.kind == "long" ? preferredName?.name : nil
    }
}
