import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSchema

/// The rule of the group "Not repeatable" about migrations that aren't one transaction. An interrupted
/// one may be applied but not recorded, and then runs again. ``Publication`` has the others.
enum Repeatability {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard step.incomplete == nil, let trials = step.trials, step.succeeds else { return }
        if !step.usesTransaction { interrupted(step, trials, &findings) }
        for (batch, statement) in zip(step.batches, step.statements) {
            inBatches(batch, statement, step, trials, &findings)
        }
    }

    private static func interrupted(
        _ step: StepRecord,
        _ trials: Trials,
        _ findings: inout FindingList
    ) {
        let count = step.statements.count
        guard let once = trials.database(), trials.run(on: once) != nil else { return }
        let result = Content(of: once)
        // After all of them first: the message is then about the whole migration.
        for finished in ([count] + Array(1..<max(count, 1))).prefix(20) {
            guard let database = trials.database(),
                trials.run(on: database, first: finished) != nil,
                let again = trials.run(on: database)
            else { return }
            let failed = again.statements.firstIndex { $0.failure != nil }
            guard failed != nil || Content(of: database) != result else { continue }
            let effect =
                if let failed {
                    "fails: "
                        + (again.statements[failed].failure.map {
                            SQLiteMessage($0).withoutValues(in: step.statements[failed])
                        } ?? "")
                } else {
                    "changes the database once more"
                }
            let point = finished == count ? "" : " after \(counted(finished, "statement"))"
            findings.add(
                .notRepeatable,
                at: step.statements[failed ?? 0],
                "the migration runs outside of a transaction; if it is interrupted\(point), it "
                    + "runs again and \(effect)",
                fix: "Put what can run in a transaction into a migration of its own. For the rest "
                    + "use IF EXISTS and IF NOT EXISTS, and one statement in each migration."
            )
            return
        }
    }

    // MARK: - Batches

    /// Runs a statement in batches of one row, on rows for which it has something to do.
    private static func inBatches(
        _ batch: MigrationBatch,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ trials: Trials,
        _ findings: inout FindingList
    ) {
        for setup in [[]] + trials.setups(for: batch, step.before) {
            do {
                guard
                    let fault = try fault(of: batch, statement, step, trials, setup)
                else { continue }
                findings.add(.notRepeatable, at: statement, fault.message, fix: fault.fix)
            } catch MigrationKitError.unusableBatch(_, let reason) {
                findings.add(
                    .migrationFails,
                    at: statement,
                    "the statement can't be run in batches: \(reason)",
                    fix: "Write it in another way, or remove 'migrate:batch': it then runs in one "
                        + "transaction."
                )
            } catch MigrationKitError.batchRepeats {
                findings.add(
                    .notRepeatable,
                    level: .error,
                    at: statement,
                    "run a second time, the statement changes rows that it has changed already, and "
                        + "a run stops there",
                    fix: "Add a condition that no longer holds for a row that is done, such as "
                        + "WHERE column IS NULL."
                )
            } catch {
                // It is about rows that there may never be.
                continue
            }
            return
        }
    }

    /// What batches do that the whole statement doesn't.
    ///
    /// - Throws: A `MigrationKitError`; a `DatabaseError` if both fail.
    private static func fault(
        of batch: MigrationBatch,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ trials: Trials,
        _ setup: [String]
    ) throws -> (message: String, fix: String)? {
        func after(_ count: Int) -> (ScratchDatabase, StepPass)? {
            guard let database = trials.database(after: setup) else { return nil }
            return trials.run(on: database, first: count).map { (database, $0) }
        }
        guard let (whole, pass) = after(statement.number + 1),
            let (other, _) = after(statement.number + 1),
            let (database, _) = after(statement.number)
        else { return nil }
        func run() throws -> Int {
            database.execute("PRAGMA foreign_keys = ON")
            let earlier = Array(step.batches.prefix(statement.number))
            return try database.read {
                try batch.runByRow(of: step.identifier, after: earlier, in: $0)
            }
        }
        do {
            guard try run() > 0 else { return nil }
        } catch let error as DatabaseError where pass.statements.allSatisfy({ $0.failure == nil }) {
            let message = SQLiteMessage(
                error.message ?? "",
                code: error.extendedResultCode.rawValue
            )
            return (
                "in batches SQLite refuses it: " + message.withoutValues(in: statement)
                    + "; as a whole, it doesn't",
                fix: "Write it so that each row can be changed without the others, or remove "
                    + "'migrate:batch'."
            )
        }
        // What depends on the time or on chance is another each time.
        let result = Content(of: whole)
        if result == Content(of: other), result != Content(of: database) {
            return (
                "in batches the statement has another result than as a whole: rows depend on each "
                    + "other",
                fix: "Remove 'migrate:batch', or write the statement so that the order of the rows "
                    + "doesn't matter."
            )
        }
        let changes = try run()
        guard changes > 0, try run() >= changes else { return nil }
        return (
            "the statement never gets done: each time that it goes over the table, it changes rows "
                + "again",
            fix:
                "A trigger may put them back. Add a condition that no longer holds for a row that is "
                + "done."
        )
    }

    /// Everything that is in a small database.
    private struct Content: Equatable {
        private let rows: [String: [Row]]

        init(of database: ScratchDatabase) {
            rows = database.read { db in
                let schema = "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2"
                let objects = (try? Row.fetchAll(db, sql: schema)) ?? []
                var rows = ["": objects]
                for object in objects where object["type"] == "table" {
                    let name: String = object["name"]
                    let quoted = GRDBMigrationSQLHelpers.quoted(name)
                    rows[name] = try? Row.fetchAll(db, sql: "SELECT * FROM main.\(quoted)")
                }
                return rows
            }
        }
    }
}

extension Trials {
    /// The SQL that gives a statement rows to change, in several ways: also with NULL in the columns that
    /// its condition doesn't name.
    fileprivate func setups(for batch: MigrationBatch, _ schema: SchemaModel) -> [[String]] {
        guard let statement = try? BatchStatement(batch.sql),
            let table = schema.table(statement.table)
        else { return [] }
        let condition = statement.isPending
        let named = Set(SQLTokens(condition ?? "").tokens.map(\.name))
        let read = Set(SQLTokens(batch.sql).tokens.map(\.name)).subtracting(named)
        let nulls = table.columns.filter { column in
            !column.isNotNull && column.generated == nil && read.contains(column.name.foldedName)
        }.map { table.update($0.name, to: "NULL") }
        let wanted = condition.map { updates(of: table, toSatisfy: $0) } ?? [[]]
        return wanted + wanted.map { $0 + nulls }
    }
}
