import ArgumentParser
import MigrationKitCommon
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

struct PlanCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "plan",
            _superCommandName: Program.name,
            abstract: "Show what 'migrate' would run, without running it.",
            usage: "\(Program.name) plan [<database>] [--to <identifier>] [<options>]",
            discussion: """
                Prints the pending migrations in order, each with its SQL and its transaction. \
                'migrate --dry-run' also runs them and undoes them.
                """
        )
    }

    static var createsDatabase: Bool { true }
    static var migrationOption: String? { "--to" }

    @OptionGroup var argument: DatabaseArgument

    @OptionGroup var range: RangeOptions

    @Flag(help: "Plan the whole run as one transaction.")
    var allOrNothing = false

    @Flag(help: "Exit with 3 if a migration is pending.")
    var exitCode = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    var needsNoDatabase: Bool { true }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(
            in: context,
            allowsOutOfOrder: range.allowOutOfOrder,
            ofStranger: true
        )
        let range = try range.resolved(in: loaded.runner)
        let store = try openStore(loaded, for: .plan, in: context)
        try store.checkIsAdopted(in: context)
        let steps = try store.runner.plannedSteps(
            in: store.writer,
            recording: [],
            range,
            transaction: allOrNothing ? .allOrNothing : .perStep
        )
        try store.folder?.checkForDrafts(in: steps.map(\.identifier))
        if !allOrNothing { try store.runner.checkBatches(of: steps, in: store.writer) }
        let oldest = try store.runner.oldestWorking(in: store.writer)
        if json {
            try context.printJSON(
                fields: [
                    "database": store.path, "isNew": store.isNew ? true : nil,
                    "oldestWorking": oldest.map(\.versionFields),
                    "transaction": allOrNothing ? "allOrNothing" : "perStep",
                    "checks": store.runner.checks.isEmpty ? nil : store.runner.checks,
                    "migrations": steps.map {
                        JSONFields($0, ["sql": store.scripts[$0.identifier]?.up])
                    },
                ]
            )
        } else {
            store.tellIsNew(to: context)
            let pending = try store.runner.pendingMigrationIdentifiers(in: store.writer).count
            context.outputLines(
                text(
                    of: steps,
                    amongPending: pending,
                    scripts: store.scripts,
                    checks: steps.count == pending ? store.runner.checks : []
                )
            )
        }
        if exitCode, !steps.isEmpty {
            throw MigrationCLIError.pending(steps.map(\.identifier))
        }
    }

    /// The plan as an SQL script: the SQL and its transactions.
    private func text(
        of steps: [GRDBMigrationRunner.Step],
        amongPending pending: Int,
        scripts: [String: MigrationSQL],
        checks: [CheckQuery]
    ) -> String {
        guard let last = steps.last else {
            return pending == 0
                ? "-- Nothing is pending." : "-- Nothing would run; \(pending) pending."
        }
        let all = "\(counted(pending, "migration")) pending"
        var lines = [
            steps.count == pending
                ? "-- \(all)" : "-- \(steps.count) of \(all)"
        ]
        if allOrNothing { lines += ["", "BEGIN IMMEDIATE;"] }
        for step in steps {
            let runsInBatches = !allOrNothing && !step.batches.isEmpty
            let own = !allOrNothing && step.usesTransaction && !runsInBatches
            let isLast = step.identifier == last.identifier
            lines += ["", "-- \(step.identifier) (\(step.sourceFile))"]
            if !step.usesTransaction { lines.append("-- outside of a transaction") }
            if runsInBatches { lines.append("-- in batches, each in a transaction of its own") }
            if own { lines.append("BEGIN IMMEDIATE;") }
            lines += step.requirements.flatMap { $0.lines("requires") }
            lines.append(scripts[step.identifier]?.up.forShell ?? "-- code of this program")
            lines += step.checks.flatMap { $0.lines("check") }
            if step.foreignKeyChecks == .deferred, step.usesTransaction {
                lines.append("-- foreign keys checked")
            }
            if isLast || !step.usesTransaction { lines.append("-- database verified") }
            if isLast { lines += checks.flatMap { $0.lines("check") } }
            if own { lines.append("COMMIT;") }
        }
        if allOrNothing { lines += ["", "COMMIT;"] }
        lines += ["", "-- 'lint' finds what would lose data or fail in them."]
        return lines.joined(separator: "\n")
    }
}

extension CheckQuery {
    /// The check as part of a script, with a comment that says what it is.
    fileprivate func lines(_ kind: String) -> [String] {
        ["-- \(kind): \(name.printable)", sql.terminated.forShell]
    }
}
