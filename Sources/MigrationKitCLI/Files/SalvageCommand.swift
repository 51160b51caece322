import ArgumentParser
import MigrationKitRescue
import MigrationKitSQLCipher

struct SalvageCommand: CopyCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "salvage",
            _superCommandName: Program.name,
            abstract: "Recover the readable content of a damaged database into a new file.",
            usage: """
                \(Program.name) salvage [<database>] --output <path>
                  [--new-password-file <path>] [<options>]
                """,
            discussion: """
                Reads the damaged file page by page and does not change it. Rows on intact pages \
                are recovered even if the pages that lead to them are damaged. Indexes are \
                rebuilt. Rows whose table is unknown go into a table 'lost_and_found'. The report \
                lists what was lost or may be lost. If the salt is damaged, one wrong bit is \
                searched for, which takes up to half a minute with a passphrase.

                Close every program that uses the database, or salvage a copy of its file and of \
                the files beside it.

                Exit codes: 0 everything was recovered, 2 something was lost, 77 the key opens no \
                page.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The new file. It must not exist.", valueName: "path"),
        completion: .file()
    )
    var output: String

    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var files: [(option: String, path: String?)] { [("--output", output)] }
    // A damaged file's first bytes don't show whether it is encrypted.
    var keyedFile: (path: String?, is: EncryptedDatabase.Expectation) { (nil, .file) }

    func run(in context: CommandContext) throws {
        let (path, _, report) = try makeCopy(
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
            try context.printJSON(report, fields: ["database": path])
        } else {
            context.output(
                SalvageText(report, database: path, width: context.reportWidth).text
            )
        }
        guard report.isComplete else {
            throw CommandError(
                ErrorCode("incomplete", .verificationFailed),
                "not everything in \(path) was recovered",
                """
                The report on standard output lists what is lost. Keep the damaged file. A backup \
                may have what is missing.
                """
            )
        }
    }
}
