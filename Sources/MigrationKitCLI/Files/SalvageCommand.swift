import ArgumentParser
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQL
import MigrationKitSQLCipher

struct SalvageCommand: CopyCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "salvage",
            _superCommandName: Program.name,
            abstract: "Recover the readable content of a damaged database into a new file.",
            usage: """
                \(Program.name) salvage [<database>] --output <path>
                  [--second-password-file <path>] [--new-password-file <path>]
                  [<options>]
                """,
            discussion: """
                Reads the damaged file page by page and does not change it. Rows on intact pages \
                are recovered even if the pages that lead to them are damaged. Indexes are \
                rebuilt. Rows whose table is unknown go into a table 'lost_and_found'. The report \
                lists what was lost or may be lost. If the salt is damaged, one wrong bit is \
                searched for, which takes up to half a minute with a passphrase; the write-ahead \
                log and the rollback journal may have the salt, too. A log or a journal that isn't \
                the file's own is left out.

                If a change of the key was interrupted, pages have two keys: give the other one as \
                the second key. If page 1 is damaged, the tables get their names from the \
                migrations that made them, as far as that is certain.

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

    @Option(
        help: ArgumentHelp(
            "The folder of SQL files that made the tables; default: migrations, if there is one.",
            valueName: "folder",
            visibility: Program.hasFolder ? .default : .hidden
        ),
        completion: .directory
    )
    var migrations: String?

    @OptionGroup var waiting: LockTimeoutOptions

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Second key") var secondKey: KeyOptions<SecondKey>
    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var files: [(option: String, path: String?)] { [("--output", output)] }
    // A damaged file's first bytes don't show whether it is encrypted.
    var keyedFile: (path: String?, is: EncryptedDatabase.Expectation) { (nil, .file) }

    func run(in context: CommandContext) throws {
        let runner = try runner(in: context)
        var second: DatabaseKey?
        let (path, _, report) = try makeCopy(
            in: context,
            phases: [.reading, .copying, .verifying],
            prepare: { _ in second = try readSecondKey(in: context) }
        ) { path, form, newKey, options in
            var salvage = DatabaseSalvage(
                path,
                to: output,
                form: form,
                newKey: newKey,
                secondKey: second,
                options: options
            )
            salvage.runner = runner
            return try salvage.run()
        }
        let mayHaveSecondKey =
            second == nil && report.provesPages
            && report.damagedPages.contains { $0.problem == .damaged }
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
                    + (mayHaveSecondKey
                        ? """

                        If a change of the key was interrupted, some pages may have the other key: \
                        give it with --second-password-file.
                        """ : "")
            )
        }
    }

    private func readSecondKey(in context: CommandContext) throws -> DatabaseKey? {
        guard let source = try secondKey.source() else {
            guard !secondKey.rawKey else {
                throw ValidationError("--second-raw-key needs a source of the second key.")
            }
            return nil
        }
        guard !encryption.noEncryption else {
            throw ValidationError(
                "With --no-encryption the pages have no key. Leave out the second key."
            )
        }
        defer { context.release(source) }
        for other in [context.keySource.noted, try newKey.source()] {
            try Self.checkInput(of: other, source)
        }
        let store = try database.keychain.keyStore(in: context, ofService: false)
        return try KeyResolver { store }.key(from: source, form: secondKey.form)
    }

    /// The migrations that name tables whose names are lost.
    ///
    /// - Returns: `nil` if none are named and the default folder doesn't exist.
    private func runner(in context: CommandContext) throws -> GRDBMigrationRunner? {
        let named = [("--migrations", migrations), ("--config", settings.config)]
        let options = try MigrationsOptions.parse(
            named.flatMap { option, value in value.map { [option, $0] } ?? [] }
        )
        do {
            return try options.load(in: context).runnerWithoutDrafts()
        } catch MigrationFolderError.noSuchFolder where migrations == nil {
            return nil
        } catch MigrationFolderError.empty where migrations == nil {
            return nil
        } catch  where migrations == nil {
            // Migrations that nobody named must not keep rows from being recovered.
            context.note("the migrations can't be read: \(error.localizedDescription)")
            return nil
        }
    }
}
