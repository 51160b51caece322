import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB

extension CommandContext {
    /// Whether a run applies steps or rolls them back.
    enum Deed {
        case applied, rolledBack
    }

    /// Runs a migration or a rollback, and reports what it did.
    ///
    /// - Parameters:
    ///   - recorded: What was recorded before the run without running, if requested.
    ///   - notes: Notes about that, and about the steps.
    ///   - adopts: Whether another tool's record is taken over.
    func report(
        _ deed: Deed,
        on store: OpenStore,
        recorded: [String]? = nil,
        notes: [String]? = nil,
        adopts: Bool = false,
        options: MigrationOptions,
        json: Bool,
        _ run: (MigrationOptions) throws -> MigrationReport
    ) throws {
        let report = try store.watch(options, in: self, adopts: adopts, run)
        let backups = deed == .applied ? try store.backups(of: report.steps) : []
        if json {
            return try printJSON(
                report,
                fields: [
                    "database": store.path, "recorded": recorded, "notes": notes,
                    "backups": backups.isEmpty ? nil : backups,
                    "created": deed == .applied ? store.wasCreated : nil,
                    "applied": deed == .applied ? report.steps : nil,
                    "rolledBack": deed == .rolledBack ? report.steps : nil,
                ]
            )
        }
        tell(deed, report.steps)
        output(report.closing(in: store.runner))
        let copies = Dictionary(grouping: backups, by: \.backup)
        for (copy, steps) in copies.sorted(by: { $0.key < $1.key }) {
            let which = steps.map(\.identifier.printable).joined(separator: ", ")
            let verb = steps.count == 1 ? "was" : "were"
            note("what was lost when \(which) \(verb) taken back is in \(copy.printable)")
        }
    }

    /// Rolls migrations back and applies them again, and reports both.
    func reportRedo(
        on store: OpenStore,
        options: MigrationOptions,
        json: Bool,
        _ run: (MigrationOptions) throws -> (undone: MigrationReport, redone: MigrationReport)
    ) throws {
        let (undone, redone) = try store.watch(options, in: self, run)
        if json {
            return try printJSON(
                redone,
                fields: [
                    "database": store.path, "applied": redone.steps, "rolledBack": undone.steps,
                ]
            )
        }
        if undone.steps.isEmpty {
            output("Nothing to redo.")
        } else {
            tell(.rolledBack, undone.steps)
            tell(.applied, redone.steps)
        }
        output(redone.closing(in: store.runner))
    }

    private func tell(_ deed: Deed, _ steps: [MigrationReport.Step]) {
        switch (deed, steps.isEmpty) {
        case (.applied, true): output("Nothing to apply.")
        case (.applied, false): output("Applied \(steps.summary)")
        case (.rolledBack, true): output("Nothing to roll back.")
        case (.rolledBack, false): output("Rolled back \(steps.summary)")
        }
    }
}

extension [MigrationReport.Step] {
    /// The number of steps and the total time, then each step with its time.
    var summary: String { summary { _ in "" } }

    /// The same, with the number of rows that each step changed.
    var summaryWithRows: String { summaryWithRows { _ in "" } }

    /// The same, with another column after that of the rows.
    func summaryWithRows(and column: (MigrationReport.Step) -> String) -> String {
        let width = map { "\($0.rowsChanged)".count }.max() ?? 0
        return summary { step in
            let count = "\(step.rowsChanged)"
            let padding = String(repeating: " ", count: width - count.count)
            return padding + (step.rowsChanged == 1 ? "\(count) row " : "\(count) rows") + "  "
                + column(step)
        }
    }

    private func summary(_ rows: (MigrationReport.Step) -> String) -> String {
        let total = reduce(0) { $0 + $1.seconds }
        // One long name must not push all times out of sight.
        let width = Swift.min(map(\.identifier.count).max() ?? 0, 60)
        let lines = map {
            "  \($0.identifier.printable.padded(to: width))  \(rows($0))\(duration($0.seconds))"
        }
        let heading = "\(counted(count, "migration")) in \(duration(total)):"
        return ([heading] + lines).joined(separator: "\n")
    }
}

extension MigrationReport {
    /// The current state of the database.
    func closing(in runner: GRDBMigrationRunner) -> String {
        let latest = runner.migrationIdentifiers.last { !pending.contains($0) }
        let state = latest.map { "The database is at \($0.printable)" } ?? "No migration is applied"
        let rest = pending.isEmpty ? "nothing is pending" : "\(pending.count) pending"
        let exception = unchecked.isEmpty ? "" : ", except what follows"
        let verdict = verified ? "Verified\(exception). " : ""
        let notes =
            unchecked.map { "  not checked: \($0.printable)" }
            + [violations.map { "  as before: \($0.printable) ('verify' lists them)" }].compactMap {
                $0
            }
        let strangers =
            newer.isEmpty
            ? []
            : [
                "  newer: \(newer.map(\.printable).joined(separator: ", ")), with which this version works"
            ]
        return (["\(verdict)\(state); \(rest)."] + strangers + notes).joined(separator: "\n")
    }
}

// MARK: - Watching a Run

extension OpenStore {
    /// Runs a migration, a rollback or a dry run.
    ///
    /// - Parameters:
    ///   - adopts: Whether another tool's record is taken over.
    ///   - run: Gets the options with the display of its progress in them.
    /// - Throws: ``MigrationStepFailure`` for an error of a step, or of the verification in its
    ///   transaction; any other error unchanged.
    func watch<Result>(
        _ options: MigrationOptions,
        in context: CommandContext,
        adopts: Bool = false,
        _ run: (MigrationOptions) throws -> Result
    ) throws -> Result {
        let display = ProgressDisplay(RunProgress(), in: context)
        return try display.watch(options) { options in
            do {
                return try run(options)
            } catch {
                throw explaining(error, after: display.progress, options, adopts: adopts)
            }
        }
    }

    /// The error of a run: ``MigrationStepFailure`` if it is one of a step, or of the verification in
    /// its transaction; otherwise the error itself.
    ///
    /// - Parameters:
    ///   - isRehearsal: Whether the run was one on a copy.
    ///   - adopts: Whether another tool's record is taken over, so that this is no way out.
    func explaining(
        _ error: any Error,
        after progress: RunProgress,
        _ options: MigrationOptions,
        isRehearsal: Bool = false,
        adopts: Bool = false
    ) -> any Error {
        guard let failed = progress.failed, !(error is CancellationError) else { return error }
        let error = (error as? DatabaseError)?.withoutNaming(failed.identifier) ?? error
        return MigrationStepFailure(
            identifier: failed.identifier,
            isRollback: failed.isRollback,
            committed: progress.committed,
            transaction: transaction(of: failed.identifier, failed.isRollback, options),
            ledger: failed.ledger,
            wasUnmanaged: !adopts && isUnmanaged,
            violationsBefore: options.allowsViolations ? nil : violations(explaining: error),
            isRehearsal: isRehearsal,
            underlying: error
        )
    }

    /// What violates foreign keys now that the step is undone, if it failed for such a violation.
    private func violations(explaining error: any Error) -> String? {
        guard (error as? DatabaseError)?.isOfForeignKeyCheck == true else { return nil }
        return try? writer.writeWithoutTransaction { try ForeignKeyViolations($0) }.phrase
    }

    private func transaction(
        of identifier: String,
        _ isRollback: Bool,
        _ options: MigrationOptions
    ) -> MigrationStepFailure.Transaction {
        guard let step = runner.steps.first(where: { $0.identifier == identifier }) else {
            return .own
        }
        let runsInBatches =
            !step.batches.isEmpty && !isRollback && options.transaction == .perStep
        // Before the first batch that changes a row, all is undone.
        if runsInBatches, let overview = try? runner.overview(of: writer),
            overview.begun[identifier].map({ $0.rowsChanged == 0 }) ?? true
        {
            return .own
        }
        return runsInBatches ? .batches : step.usesTransaction ? .own : .none
    }

    /// Whether the database has tables, but no recorded migration that made them.
    private var isUnmanaged: Bool {
        let isUnmanaged = try? writer.read { db in
            try runner.migrator.appliedIdentifiers(db).isEmpty
                && !SchemaObject.ownInAnyOrder(of: db).isEmpty
        }
        return isUnmanaged ?? false
    }
}
