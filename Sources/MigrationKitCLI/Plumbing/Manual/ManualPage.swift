import MigrationKitCommon

/// The manual page, made from the commands' own definitions.
struct ManualPage {
    private let program: CommandInfo
    private let date: String
    private let sections: ManualSections

    /// - Parameters:
    ///   - program: The root of all commands.
    ///   - date: The day of the release, as it stands in the page.
    init(of program: CommandInfo, date: String) {
        self.program = program
        self.date = date
        sections = ManualSections(
            program: program.commandName,
            hasFolder: program.leaves.contains { $0.commandName == "create" }
        )
    }

    /// The page in mdoc. It ends with a line feed.
    var text: String {
        let name = Mdoc.argument(program.commandName)
        let abstract = program.abstract ?? ""
        let lines =
            [
                ".Dd \(date)",
                ".Dt \(name.uppercased()) 1",
                ".Os",
                ".Sh NAME",
                ".Nm \(name)",
                ".Nd \(Mdoc.line(abstract.prefix(1).lowercased() + abstract.dropFirst().dropLast()))",
                ".Sh SYNOPSIS",
                ".Nm",
                ".Ar command",
                ".Op Ar argument ...",
                ".Op Ar option ...",
                ".Nm",
                ".Cm help",
                ".Op Ar command",
                ".Sh DESCRIPTION",
            ] + description
            + [".Sh COMMANDS"] + program.leaves.flatMap(section)
            + [".Sh OPTIONS"]
            + Mdoc.paragraph("These options mean the same for every command that lists them.")
            + Self.list(of: sharedArguments)
            + sections.lines
        return lines.joined(separator: "\n") + "\n"
    }

    /// The exit codes have their own section.
    private var description: [String] {
        let paragraphs = Self.paragraphs(of: program.discussion)
            .filter { !$0.hasPrefix(ErrorCode.ExitStatus.summary.prefix(12)) }
        return Self.text(paragraphs)
    }

    // MARK: - Commands

    private func section(of command: CommandInfo) -> [String] {
        let own = command.shown.filter { !$0.isShared }
        let shared = command.shown.filter(\.isShared).compactMap(\.longName)
            .filter { !["help", "version"].contains($0) }
        var lines = [".Ss \(Mdoc.argument(command.words).replacing("\\ ", with: " "))"]
        lines += [".Nm", ".Cm \(command.words)"] + own.map(Self.synopsis)
        lines += shared.isEmpty ? [] : [".Op Ar option ..."]
        lines += [".Pp"] + Mdoc.paragraph(command.abstract ?? "")
        let discussion = Self.paragraphs(of: command.discussion)
        lines += discussion.flatMap { [".Pp"] + Mdoc.paragraph($0) }
        lines += own.isEmpty ? [] : Self.list(of: own)
        if !shared.isEmpty {
            lines += [".Pp", "Also takes these", ".Sx OPTIONS :"]
            lines += shared.dropLast().map { ".Fl \(Mdoc.argument("-" + $0)) ," }
            lines += shared.suffix(1).map { ".Fl \(Mdoc.argument("-" + $0)) ." }
        }
        return lines
    }

    private static func synopsis(_ argument: CommandInfo.Argument) -> String {
        let words = heading(of: argument, withAllNames: false)
        let repeated = argument.isRepeating ? " ..." : ""
        return argument.isOptional ? ".Op \(words)\(repeated)" : ".\(words)\(repeated)"
    }

    /// The options of shared groups, each once.
    private var sharedArguments: [CommandInfo.Argument] {
        program.leaves.flatMap(\.shown).filter(\.isShared).reduce(into: []) { all, argument in
            guard !all.contains(where: { $0.longName == argument.longName }) else { return }
            all.append(argument)
        }
    }

    // MARK: - Options

    private static func list(of arguments: [CommandInfo.Argument]) -> [String] {
        [".Bl -tag -width Ds"] + arguments.flatMap(item) + [".El"]
    }

    private static func item(_ argument: CommandInfo.Argument) -> [String] {
        let abstract = argument.abstract ?? ""
        // A flag that is off by default, or standard output, needs no mention.
        let value = argument.defaultValue.flatMap { $0 == "-" ? nil : "Default: \($0)." }
        let texts = [abstract, argument.discussion, value].compactMap(\.self)
        return [".It \(heading(of: argument, withAllNames: true))"]
            + texts.flatMap(Mdoc.paragraph)
    }

    /// The names of an option and its value, as macros.
    private static func heading(
        of argument: CommandInfo.Argument,
        withAllNames: Bool
    ) -> String {
        let value = argument.valueName.map { "Ar \(Mdoc.argument($0))" } ?? ""
        guard argument.kind != .positional else { return value }
        let names = withAllNames ? argument.names : argument.preferredName.map { [$0] }
        let heading = (names ?? [])
            .map { "Fl \(Mdoc.argument($0.kind == "long" ? "-\($0.name)" : $0.name))" }
            .joined(separator: " , ")
        return argument.kind == .flag ? heading : "\(heading) \(value)"
    }

    // MARK: - Text

    private static func paragraphs(of text: String?) -> [String] {
        (text ?? "").split(separator: "\n\n").map(String.init)
    }

    private static func text(_ paragraphs: [String]) -> [String] {
        Array(paragraphs.map(Mdoc.paragraph).joined(separator: [".Pp"]))
    }
}

// MARK: - Command Info

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

    /// The commands that do something, in order, without `help`.
    var leaves: [CommandInfo] {
        guard shouldDisplay != false, commandName != "help" else { return [] }
        guard let subcommands, !subcommands.isEmpty else { return [self] }
        return subcommands.flatMap(\.leaves)
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

// MARK: - Mdoc

/// Text in the language of manual pages. <https://man.openbsd.org/mdoc.7>
enum Mdoc {
    /// A paragraph, one line for each sentence. Indented lines are examples.
    static func paragraph(_ text: String) -> [String] {
        var lines: [String] = []
        var prose: [Substring] = []
        var example: [Substring] = []
        func endProse() {
            let sentences = prose.joined(separator: " ").replacing(/([.?!]) +/) { "\($0.1)\n" }
            if lines.last == ".Ed", !prose.isEmpty { lines.append(".Pp") }
            lines += sentences.split(separator: "\n").map(line)
            prose = []
        }
        func endExample() {
            guard !example.isEmpty else { return }
            lines += literalBlock(example.map { String($0.dropFirst(2)) })
            example = []
        }
        for line in text.split(separator: "\n") {
            if line.hasPrefix("  ") {
                endProse()
                example.append(line)
            } else {
                endExample()
                prose.append(line)
            }
        }
        endProse()
        endExample()
        return lines
    }

    /// Lines in which every character is literal.
    static func literalBlock(_ lines: [String]) -> [String] {
        [".Bd -literal -offset indent"] + lines.map(literal) + [".Ed"]
    }

    /// A line of text.
    static func line(_ text: some StringProtocol) -> String {
        let line = Substring(text).split(separator: " ").map(word).joined(separator: " ")
        // At the start of a line, these would begin a request.
        return line.hasPrefix(".") || line.hasPrefix("\\(aq") ? "\\&\(line)" : line
    }

    private static func literal(_ text: String) -> String {
        let line = escaped(text).replacing("-", with: "\\-")
        return line.hasPrefix(".") ? "\\&\(line)" : line
    }

    /// A word as the argument of a macro.
    static func argument(_ text: String) -> String {
        escaped(text).replacing("-", with: "\\-").replacing("\"", with: "\\(dq")
            .replacing(" ", with: "\\ ")
    }

    /// Escapes hyphens, so that a word or an option is not broken at them.
    private static func word(_ word: Substring) -> String {
        let escaped = escaped(String(word))
        let isCode =
            word.contains("--") || word.hasPrefix("'-") || word.hasPrefix("(-")
            || word.contains("_") || word.dropLast().contains(":")
        return isCode ? "\\%" + escaped.replacing("-", with: "\\-") : escaped
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\e"
            case "'": "\\(aq"
            case "`": "\\(ga"
            case "^": "\\(ha"
            case "~": "\\(ti"
            case _ where scalar.isASCII: String(Character(scalar))
            default: "\\[u\(hexadecimal(scalar))]"
            }
        }.joined()
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
