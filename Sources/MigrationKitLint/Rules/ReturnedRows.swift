import GRDB
import MigrationKitGRDB
import MigrationKitSchema

/// Rows and values that a migration moves before it drops their table or column: whether its rollback moves
/// them back. What a migration loses itself has findings of its own.
enum ReturnedRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard let down = step.down, let trials = step.trials, step.incomplete == nil,
            !down.statements.isEmpty, down.failure == nil, step.succeeds,
            !findings.findings.contains(where: { losses.contains($0.rule) })
        else { return }
        let dropped = step.before.tables.values.sorted { $0.name < $1.name }.flatMap { table in
            parts(of: table, step, down.after)
        }
        guard !dropped.isEmpty else { return }
        let returned = trials.outcomes(after: [], of: step.statements.indices) {
            database,
            outcomes in
            guard outcomes.allSatisfy({ $0.failure == nil }) else { return [Int?]?.none }
            let isKept = dropped.map { $0.mayHaveRows(in: database) }
            guard down.statements.allSatisfy({ database.run($0.text).failure == nil }) else {
                return nil
            }
            return zip(dropped, isKept).map { part, isKept in
                isKept || part.mayHaveRows(in: database) ? database.count(part.query) : nil
            }
        }
        guard let returned, let tried = trials.tried else { return }
        for (part, count) in zip(dropped, returned) where count == 0 && tried.count(part.query) > 0
        {
            findings.add(
                .rollbackDiffers,
                level: .warning,
                at: down.statements.first,
                "the rollback makes \(part.name) again without the \(part.content) that the migration has "
                    + "moved",
                fix: "Move them back in the rollback."
            )
        }
    }

    private static let losses: Set<LintRule> = [
        .dropTable, .dropColumn, .deleteWithoutWhere, .updateWithoutWhere, .conflictDropsRows,
        .rebuildLosesRows, .rebuildLosesColumn,
    ]

    /// What a migration drops and its rollback makes again.
    private struct Dropped {
        let name: String
        let content: String
        /// Counts what is in it.
        let query: String
        /// Counts the rows of its table, if that stays. Where none are left after the migration nor after its
        /// rollback, they were lost before.
        var rows: String?

        func mayHaveRows(in database: ScratchDatabase) -> Bool { rows.map(database.count) != 0 }
    }

    private static func parts(
        of table: SchemaModel.Table,
        _ step: StepRecord,
        _ returned: SchemaModel
    ) -> [Dropped] {
        guard !table.isVirtual, let again = returned.table(table.name) else { return [] }
        let count = "FROM main.\(GRDBMigrationSQLHelpers.quoted(table.name))"
        guard let after = step.after.table(table.name) else {
            return [
                Dropped(
                    name: "table '\(table.name)'",
                    content: "rows",
                    query: "SELECT count(*) \(count)"
                )
            ]
        }
        return table.columns.filter {
            $0.generated == nil && after.column($0.name) == nil && again.column($0.name) != nil
        }.map { column in
            Dropped(
                name: "column '\(column.name)' of table '\(table.name)'",
                content: "values",
                query: "SELECT count(\(GRDBMigrationSQLHelpers.quoted(column.name))) \(count)",
                rows: "SELECT count(*) \(count)"
            )
        }
    }
}

extension ScratchDatabase {
    fileprivate func count(_ query: String) -> Int {
        read { (try? Int.fetchOne($0, sql: query)) ?? 0 }
    }
}
