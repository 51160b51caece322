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
