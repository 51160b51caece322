import ArgumentParser
import MigrationKitSQL

struct CreateCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "create",
            _superCommandName: FolderMigrations.programName,
            abstract: "Write the files of a new migration.",
            usage: "\(FolderMigrations.programName) create <name> [--timestamp] [<options>]",
            discussion: """
                The files have the folder's format and the next number. No database and no key is \
                needed. Until you write SQL into them, the migration is a draft, which 'migrate' \
                refuses.
                """
        )
    }

    @Argument(help: ArgumentHelp("What the migration does, such as 'add tags'.", valueName: "name"))
    var name: String

    @Flag(help: "Use the date and time in UTC as the number.")
    var timestamp = false

    @Option(
        help: ArgumentHelp(
            "The format, for an empty folder; default: dbmate.",
            valueName: "format"
        )
    )
    var format: MigrationFormat?

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Migrations") var migrations: FolderMigrations

    func run(in context: CommandContext) throws {
        let created = try MigrationFolder.create(
            name,
            in: migrations.path(in: context),
            format: format,
            numbering: timestamp ? .timestamp : .asLatest
        )
        if json {
            return try context.printJSON(
                Document(identifier: created.identifier, files: created.files)
            )
        }
        for file in created.files {
            context.output("Created \(file.printable)")
        }
        let them = created.files.count == 1 ? "it" : "them"
        context.output("Write the SQL into \(them); 'plan' then shows what would run.")
        context.output("'lint' finds what would lose data or fail in it.")
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let identifier: String
        let files: [String]
    }
}

extension MigrationFormat: ExpressibleByArgument {
    /// The names on the command line.
    public static var allValueStrings: [String] {
        allCases.map(\.argument)
    }

    /// Reads a name from the command line.
    ///
    /// - Parameter argument: The name.
    public init?(argument: String) {
        guard let format = Self.allCases.first(where: { $0.argument == argument }) else {
            return nil
        }
        self = format
    }

    /// Its name on the command line.
    var argument: String { self == .upOnly ? "up-only" : rawValue }
}
