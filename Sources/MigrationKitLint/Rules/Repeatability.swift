import GRDB
import MigrationKitCommon
import MigrationKitGRDB

/// The rule of the group "Not repeatable" about migrations outside of a transaction. An interrupted
/// one may be applied but not recorded, and then runs again. ``Publication`` has the others.
enum Repeatability {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard !step.usesTransaction, step.incomplete == nil, let trials = step.trials,
            step.statements.allSatisfy({ $0.failure == nil })
        else { return }
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
