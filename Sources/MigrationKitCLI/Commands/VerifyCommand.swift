import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct VerifyCommand<Migrations: MigrationsOptions>: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "verify",
            abstract: "Check that the database is sound.",
            usage:
                "\(Migrations.programName) verify [--require-index <table.index> ...] [<options>]",
            discussion: """
                Runs SQLite's quick_check and foreign_key_check, and looks for the required \
                indexes. Changes nothing.
                """
        )
    }

    @Option(
        name: .customLong("require-index"),
        help: ArgumentHelp(
            "An index that must be there; may be given several times.",
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

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        let opened = try openStore(in: context)
        let checks = try opened.runner.verificationChecks(
            in: opened.writer,
            additionalIndexes: requiredIndexes
        )
        let failed = checks.filter { !$0.ok }

        if json {
            try context.printJSON(Document(checks: checks))
        } else {
            for check in checks {
                context.output("\(check.ok ? "ok    " : "FAILED")  \(check.name)")
                if let detail = check.detail {
                    context.output("        \(detail)")
                }
            }
            if failed.isEmpty { context.output("The database is in order.") }
        }
        guard failed.isEmpty else {
            throw MigrationVerificationFailure(failed: failed.map(\.name))
        }
    }

    private struct Document: Encodable {
        struct Check: Encodable {
            let name: String
            let ok: Bool
            let detail: String?
        }

        let schemaVersion = JSON.schemaVersion
        let ok: Bool
        let checks: [Check]

        init(checks: [VerificationCheck]) {
            ok = checks.allSatisfy(\.ok)
            self.checks = checks.map { Check(name: $0.name, ok: $0.ok, detail: $0.detail) }
        }
    }
}
