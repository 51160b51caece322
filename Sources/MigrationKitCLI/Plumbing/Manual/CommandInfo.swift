/// A command as ArgumentParser describes it, as far as the manual page needs it.
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
        let allValues: [String]?
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
    /// The words after the program's name that call the command.
    var words: String {
        ((superCommands ?? []).dropFirst() + [commandName]).joined(separator: " ")
    }

    var isRoot: Bool { superCommands?.isEmpty ?? true }
    var isLeaf: Bool { subcommands?.isEmpty ?? true }
    var isShown: Bool { shouldDisplay != false && commandName != "help" }

    /// The command and those below it that people see, in order.
    var all: [CommandInfo] {
        isShown ? [self] + (subcommands ?? []).flatMap(\.all) : []
    }

    /// The visible options and arguments. A flag and its inversion are combined.
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
    /// Whether several commands have it with the same meaning: it is in a group with a title.
    var isShared: Bool {
        sectionTitle != nil || ["help", "version"].contains(longName)
    }

    var longName: String? {
        preferredName?.kind == "long" ? preferredName?.name : nil
    }
}
