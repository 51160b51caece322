import ArgumentParser
import MigrationKit
import MigrationKitFleet
import MigrationKitSQLCipher
import MigrationKitSchema

struct FleetVerifyCommand: FleetJob, MigrationsCommand {
    var deed: String { "verify" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            _superCommandName: Program.name,
            abstract: "Check that many databases are sound.",
            usage: """
                \(Program.name) fleet verify --stores <pattern> --name-from <folder>
                  --master-key-file <path> [<options>]
                """,
            discussion: """
                Each database is checked as by 'verify': SQLite's quick_check and \
                foreign_key_check, the indexes that the settings require, and the schema against \
                the one that the applied migrations give. Changes nothing.

                With --full, all is checked that 'verify --full' checks: every page's HMAC, the \
                indexes, the rows, the log, and who can read the files.

                The exit code is 2 if a database isn't sound, and 1 if one only couldn't be checked.
                """
        )
    }

    @Option(help: .ignoredTable)
    var ignoreTable: [String] = []

    @Flag(help: "Check everything. Reads each whole file several times.")
    var full = false

    @Flag(help: "With --full: the files' group may read and write them.")
    var allowGroup = false

    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    func validate() throws {
        if allowGroup, !full {
            throw ValidationError("--allow-group needs --full, which checks the files' modes.")
        }
    }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        let drift = try DriftOptions(sharedBy: loaded, ignoring: ignoreTable, in: context)
        let runner = loaded.runner
        let (isFull, allowsGroup) = (full, allowGroup)
        try runFleet(in: context) { visit, record in
            var options = VerificationOptions()
            options.cancellation = visit.cancellation
            options.drift = drift
            var checks: [VerificationCheck] = []
            if isFull {
                var verification = try visit.fullVerification(with: runner)
                verification.allowsGroup = allowsGroup
                verification.options = options
                checks = try verification.run()
            }
            do {
                try visit.withStore(loaded, for: .read) { store in
                    let overview = try runner.overview(of: store.writer)
                    record.to = runner.version(of: overview.applied)
                    record.pending = overview.pending.count
                    guard !isFull else { return }
                    options.opensReader = try EncryptedDatabase.quietReaders(of: store.writer)
                    checks = try runner.verificationChecks(in: store.writer, options: options)
                }
            } catch  where isFull && checks.contains(where: { !$0.ok }) {
                // The checks say what is wrong.
            }
            let failed = checks.filter { !$0.ok }
            guard !failed.isEmpty else { return }
            record.findings = failed.flatMap { check in
                check.findings.isEmpty
                    ? ["\(check.name): \(check.detail ?? "failed")"]
                    : check.findings.prefix(10).map { "\(check.name): \($0.text)" }
            }
            throw CommandError.verificationFailed(
                failed.map(\.name),
                hasDamagedPages: failed.contains(where: \.hasDamagedPages)
            )
        }
    }
}
