import MigrationKitCommon

/// The manual, made from the commands' own definitions: a page for the program, which has what all
/// commands share, and one for each command.
struct Manual {
    let pages: [ManualPage]

    /// - Parameters:
    ///   - program: The root of all commands.
    ///   - date: The day of the release, as it stands in the pages.
    init(of program: CommandInfo, date: String) {
        pages = program.all.map { ManualPage(of: $0, in: program, date: date) }
    }
}

/// The page of one command, or of the program.
struct ManualPage {
    /// The name that `man` shows it by: `migrationkit-cli-key-rotate`.
    let name: String

    private let command: CommandInfo
    private let program: CommandInfo
    private let date: String

    fileprivate init(of command: CommandInfo, in program: CommandInfo, date: String) {
        name = Self.name(of: command, in: program)
        self.command = command
        self.program = program
        self.date = date
    }

    private static func name(of command: CommandInfo, in program: CommandInfo) -> String {
        let words = command.isRoot ? program.commandName : "\(program.commandName) \(command.words)"
        return words.replacing(" ", with: "-")
    }

    /// The page in mdoc. It ends with a line feed.
    var text: String {
        let abstract = command.abstract ?? ""
        let head = [
            ".Dd \(date)",
            ".Dt \(Mdoc.argument(name).uppercased()) 1",
            ".Os",
            ".Sh NAME",
            ".Nm \(Mdoc.argument(name))",
            ".Nd \(Mdoc.line(abstract.prefix(1).lowercased() + abstract.dropFirst().dropLast()))",
            ".Sh SYNOPSIS",
            ".Nm \(Mdoc.argument(program.commandName))",
        ]
        let body = command.isRoot ? programBody : commandBody
        return (head + body).joined(separator: "\n") + "\n"
    }

    // MARK: - The Program

    private var programBody: [String] {
        let sections = ManualSections(
            program: program.commandName,
            hasFolder: program.all.contains { $0.commandName == "create" }
        )
        return [
            ".Ar command",
            ".Op Ar argument ...",
            ".Op Ar option ...",
            ".Nm \(Mdoc.argument(program.commandName))",
            ".Cm help",
            ".Op Ar command",
        ] + description + commands
            + [".Sh OPTIONS"]
            + Mdoc.paragraph(
                """
                These options mean the same for every command that has them. A command's own page \
                lists all of its options.
                """
            )
            + Self.list(of: sharedArguments)
            + sections.lines
    }

    /// The options of shared groups, each once.
    private var sharedArguments: [CommandInfo.Argument] {
        let all = program.all.filter(\.isLeaf).flatMap(\.shown)
        return all.filter(\.isShared).reduce(into: []) { all, argument in
            guard !all.contains(where: { $0.longName == argument.longName }) else { return }
            all.append(argument)
        }
    }

    // MARK: - A Command

    private var commandBody: [String] {
        guard command.isLeaf else {
            return [".Cm \(command.words)", ".Ar subcommand", ".Op Ar option ..."]
                + description + commands + seeAlso
        }
        let own = command.shown.filter { !$0.isShared }
        let general = command.shown.filter { $0.isShared && $0.sectionTitle == nil }
        let groups = command.shown.compactMap(\.sectionTitle).reduce(into: [String]()) {
            if !$0.contains($1) { $0.append($1) }
        }
        return [".Cm \(command.words)"] + own.map(Self.synopsis)
            + (groups.isEmpty ? [] : [".Op Ar option ..."])
            + description
            + [".Sh OPTIONS"] + Self.list(of: own + general)
            + groups.flatMap { title in
                [".Ss \(Mdoc.line(title))"]
                    + Self.list(of: command.shown.filter { $0.sectionTitle == title })
            }
            + seeAlso
    }

    private static func synopsis(_ argument: CommandInfo.Argument) -> String {
        let words = heading(of: argument, withAllNames: false)
        let repeated = argument.isRepeating ? " ..." : ""
        return argument.isOptional ? ".Op \(words)\(repeated)" : ".\(words)\(repeated)"
    }

    // MARK: - Sections of All Pages

    private var description: [String] {
        let abstract = command.isRoot ? [] : [command.abstract ?? ""]
        // The exit codes have their own section.
        let paragraphs = (command.discussion ?? "").split(separator: "\n\n").map(String.init)
            .filter { !$0.hasPrefix(ErrorCode.ExitStatus.summary.prefix(12)) }
        return [".Sh DESCRIPTION"]
            + (abstract + paragraphs).map(Mdoc.paragraph).joined(separator: [".Pp"])
    }

    private var commands: [String] {
        [".Sh COMMANDS", ".Bl -tag -width Ds"]
            + (command.subcommands ?? []).filter(\.isShown).flatMap { subcommand in
                [".It Cm \(subcommand.words)"] + Mdoc.paragraph(subcommand.abstract ?? "")
                    + ["See", "\(Self.reference(to: subcommand, in: program)) ."]
            }
            + [".El"]
    }

    private var seeAlso: [String] {
        let whole = Self.reference(to: program, in: program)
        let group = program.all.first { group in
            !group.isRoot && group.subcommands?.contains { $0.words == command.words } ?? false
        }
        return [".Sh EXIT STATUS"]
            + Mdoc.paragraph("Exit codes, settings, environment variables and files are in")
            + ["\(whole) .", ".Sh SEE ALSO"]
            + (group.map { ["\(whole) ,", Self.reference(to: $0, in: program)] } ?? [whole])
    }

    private static func reference(to command: CommandInfo, in program: CommandInfo) -> String {
        ".Xr \(Mdoc.argument(name(of: command, in: program))) 1"
    }

    // MARK: - Options

    private static func list(of arguments: [CommandInfo.Argument]) -> [String] {
        [".Bl -tag -width Ds"] + arguments.flatMap(item) + [".El"]
    }

    private static func item(_ argument: CommandInfo.Argument) -> [String] {
        let abstract = argument.abstract ?? ""
        // A flag that is off by default, or standard output, needs no mention.
        let value = argument.defaultValue.flatMap { $0 == "-" ? nil : "Default: \($0)." }
        let values = argument.allValues.map { "Values: \($0.joined(separator: ", "))." }
        let texts = [abstract, argument.discussion, values, value].compactMap(\.self)
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
}
