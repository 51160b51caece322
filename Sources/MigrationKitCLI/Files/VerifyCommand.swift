import ArgumentParser
import MigrationKitKeys
import MigrationKit
import MigrationKitRescue
import MigrationKitSQL
import MigrationKitSQLCipher
import MigrationKitSchema

struct VerifyCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            _superCommandName: Program.name,
            abstract: "Check that the database is sound.",
            usage: "\(Program.name) verify [<database>] [--full] [<options>]",
            discussion: """
                Runs SQLite's quick_check and foreign_key_check, looks for the required indexes, \
                runs the folder of checks, and compares the schema with the one that the applied \
                migrations give in an empty database in memory. Without --full, changes nothing, but \
                lets SQLite finish what a killed program began.

                With --full also: who can read the files; commits that a damaged write-ahead log \
                hides; the HMAC of every page; indexes against their tables; rows that break NOT \
                NULL, CHECK or STRICT; full-text indexes; the ledger against the migrations, if \
                there are any. Findings name the table, row or page. With --full, the write-ahead \
                log is moved into the database; nothing else changes.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Option(
        name: .customLong("require-index"),
        help: ArgumentHelp(
            "An index that must exist; may be given several times.",
            valueName: "table.index"
        ),
        transform: {
            guard let index = RequiredIndexSpec(dotted: $0) else {
                throw ValidationError("'\($0)' is not of the form TABLE.INDEX.")
            }
            return index
        }
    )
    var requiredIndexes: [RequiredIndexSpec] = []

    @Option(help: .ignoredTable)
    var ignoreTable: [String] = []

    @Flag(help: "Check everything. Reads the whole file several times.")
    var full = false

    @Flag(help: "With --full: the files' group may read and write them.")
    var allowGroup = false

    @Flag(
        help: """
            With --full: let SQLite's integrity_check look up every row in every index, which takes \
            much longer.
            """
    )
    var sqlite = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    func validate() throws {
        if allowGroup, !full {
            throw ValidationError("--allow-group needs --full, which checks the files' modes.")
        }
        if sqlite, !full {
            throw ValidationError("--sqlite needs --full, which checks the indexes.")
        }
    }

    func run(in context: CommandContext) throws {
        let lines: VerificationProgress.Lines =
            json ? .none : quiet ? .failures : full ? .withTimes : .withoutTimes
        let display = ProgressDisplay(
            VerificationProgress(context: context, lines: lines),
            in: context
        )
        var other: OtherRecord?
        let loaded = try loadedMigrations(in: context)
        let drift = try loaded.map { try DriftOptions($0, ignoring: ignoreTable, in: context) }
        do {
            if full {
                var verification = try fullVerification(of: loaded, in: context)
                verification.options.drift = drift
                verification.options.usesSQLiteIntegrityCheck = sqlite
                _ = try display.watch(verification.options) { options in
                    var verification = verification
                    verification.options = options
                    return try verification.run()
                }
            } else {
                let opened = try openStore(
                    loaded ?? noMigrations(in: context),
                    for: .read,
                    in: context
                )
                // The checks report any problem of the database, so this error is ignored.
                other = (try? opened.noteOtherRecord(in: context, json: json)) ?? nil
                var options = VerificationOptions()
                options.drift = drift
                options.opensReader = try EncryptedDatabase.quietReaders(of: opened.writer)
                try display.watch(options) { options in
                    _ = try opened.runner.verificationChecks(
                        in: opened.writer,
                        additionalIndexes: requiredIndexes,
                        options: options
                    )
                    guard loaded == nil else { return }
                    try VerificationMonitor(options).skipComparisons(because: Self.noMigrations)
                }
            }
        } catch {
            // If no key opens the file, the checks up to then report the problem.
            if json, display.progress.checks.contains(where: { !$0.ok }) {
                try context.printJSON(
                    fields: ["ok": false, "checks": display.progress.checks]
                )
            }
            throw error
        }

        let checks = display.progress.checks
        let failed = checks.filter { !$0.ok }
        let faults = full ? EncryptedDatabase.engine.faults : []
        if json {
            try context.printJSON(
                fields: [
                    "ok": failed.isEmpty, "checks": checks, "otherTools": other?.tools,
                    "counter": other?.counter,
                    "engineFaults": full ? faults.map(\.name) : nil,
                ]
            )
        } else if failed.isEmpty, !quiet {
            context.output("The database is sound.")
        }
        let mended = faults.filter { $0.fixedIn != nil }.map(\.name)
        if !mended.isEmpty, !json {
            context.note(
                """
                the SQLite in this program has faults that newer versions don't have: \
                \(mended.joined(separator: ", ")); see --version
                """
            )
        }
        guard failed.isEmpty else {
            throw CommandError.verificationFailed(
                failed.map(\.name),
                hasDamagedPages: failed.contains(where: \.hasDamagedPages)
            )
        }
    }

    /// - Returns: `nil` if no folder is named and the default folder doesn't exist.
    private func loadedMigrations(in context: CommandContext) throws -> LoadedMigrations? {
        do {
            return try loadMigrations(in: context)
        } catch MigrationFolderError.noSuchFolder(let path) {
            let isGiven = migrations.given.contains { $0.option == "--migrations" }
            guard try !isGiven && context.setting(.migrations) == nil,
                try path == context.defaultMigrations()
            else {
                throw MigrationFolderError.noSuchFolder(path: path)
            }
            return nil
        }
    }

    /// Used instead of missing migrations: only the required indexes of the settings file.
    private func noMigrations(in context: CommandContext) throws -> LoadedMigrations {
        let required: [RequiredIndexSpec] = try context.settings()?.value(.requireIndex) ?? []
        return LoadedMigrations(
            runner: try GRDBMigrationRunner(steps: []).requiring(required),
            folder: nil
        )
    }

    private static var noMigrations: String {
        "not compared with migrations: none are named, and there is no folder "
            + "'\(MigrationsOptions.defaultFolder)'"
    }

    private func fullVerification(
        of loaded: LoadedMigrations?,
        in context: CommandContext
    ) throws -> DatabaseVerification {
        let options = try database.resolved(
            in: context,
            for: .read,
            isPlaintext: encryption.noEncryption
        )
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        context.keySource.note(options.namedKeySource)
        let required: [RequiredIndexSpec] =
            loaded == nil ? try context.settings()?.value(.requireIndex) ?? [] : []
        var verification = try context.host.verification(
            of: path,
            options,
            runner: loaded?.runner,
            requiredIndexes: required + requiredIndexes
        ) { context.release(options.keySource) }
        verification.migrationsNote = Self.noMigrations
        verification.allowsGroup = allowGroup
        return verification
    }
}

extension MigrationCLIHost {
    /// A full verification of a database.
    ///
    /// - Parameters:
    ///   - options: How it is opened.
    ///   - release: Called once its key was read.
    func verification(
        of path: String,
        _ options: MigrationDatabaseOpenOptions,
        runner: GRDBMigrationRunner?,
        requiredIndexes: [RequiredIndexSpec] = [],
        release: @escaping @Sendable () -> Void = {}
    ) throws -> DatabaseVerification {
        guard opensItself else {
            defer { release() }
            if options.keySource != nil { try options.checkBeforeKey(path, is: .encrypted) }
            let key = try options.key()
            var opening = options.opening(store?.options ?? .init())
            if options.acceptsDoubleQuotedStrings {
                opening.acceptsDoubleQuotedStringLiterals = true
            }
            return DatabaseVerification(
                path,
                form: key.map { .encrypted($0, cipher: options.cipher) } ?? .plaintext(),
                runner: runner,
                requiredIndexes: requiredIndexes,
                opening: opening
            )
        }
        // A host opens the database itself, since it may register functions that the schema uses.
        return DatabaseVerification(
            path,
            form: options.isPlaintext ? .plaintext() : nil,
            runner: runner,
            requiredIndexes: requiredIndexes,
            open: {
                defer { release() }
                return try open(options)
            }
        )
    }
}
