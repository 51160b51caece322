import ArgumentParser
import MigrationKitRescue
import MigrationKitSQLCipher

struct SalvageCommand<Migrations: MigrationsOptions>: CopyCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "salvage",
            abstract: "Bring what can be read of a damaged database into a new file.",
            usage: """
                \(Migrations.programName) salvage --db-path <path> --output <path>
                  [--new-password-file <path>] [<options>]
                """,
            discussion: """
                The damaged file is only read, page by page: rows on whole pages come back even if \
                what leads to them is damaged. Indexes are made anew. Rows of which it isn't known \
                where they belong go into a table 'lost_and_found'. It is told what was lost, or \
                may be. A damaged salt is looked for, which takes some seconds.

                Close every program that uses the database, or salvage a copy of its file and of \
                those beside it.

                Exit codes: 0 everything came back, 2 something was lost, 77 the key opens no page.
                """
        )
    }

    @Option(
        help: ArgumentHelp("The new file, which must not be there yet.", valueName: "path"),
        completion: .file()
    )
    var output: String

    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "New key") var newKey: NewKeyOptions
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var files: [(option: String, path: String?)] { [("--output", output)] }
    // What a damaged file is can't be told from its first bytes.
    var keyedFile: (path: String?, is: EncryptedDatabase.Expectation) { (nil, .file) }

    func run(in context: CommandContext) throws {
        let (path, _, report) = try copy(
            in: context,
            phases: [.reading, .copying, .verifying]
        ) { path, form, newKey, options in
            try DatabaseSalvage(
                path,
                to: output,
                form: form,
                newKey: newKey,
                options: options
            ).run()
        }
        if json {
            try context.printJSON(SalvageDocument(database: path, report))
        } else {
            context.output(SalvageText(report, database: path).text)
        }
        guard report.isComplete else { throw SalvageLoss(path: path) }
    }
}
