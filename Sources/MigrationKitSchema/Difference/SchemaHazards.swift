import GRDB
import MigrationKitGRDB

/// Finds what may lose rows, or be refused because of rows, on the way to another schema.
struct SchemaHazards {
    private let match: SchemaMatch
    private let backfills: ColumnExpressions
    private let rewritten: Set<String>
    private let db: Database

    /// - Parameters:
    ///   - match: The present schema and the wanted one.
    ///   - backfills: Expressions over the present rows, by names in the wanted schema.
    ///   - rewritten: The tables that are rebuilt, by new names in lower case.
    ///   - db: A database in memory with the present schema.
    init(
        _ match: SchemaMatch,
        backfills: ColumnExpressions,
        rewritten: Set<String>,
        in db: Database
    ) {
        self.match = match
        self.backfills = backfills
        self.rewritten = rewritten
        self.db = db
    }

    /// The hazards, by table.
    var all: [SchemaHazard] {
        let tables = match.old.tables.values.sorted { $0.name < $1.name }
        return tables.flatMap { old -> [SchemaHazard] in
            guard let new = match.newTable(of: old) else { return [dropped(old)] }
            guard !old.isVirtual else { return recreated(old, as: new) }
            return droppedColumns(of: old) + demands.all(of: new, old).map(SchemaHazard.init)
                + reusedRowIDs(of: new, old) + rewrites(of: new, old)
        }
    }

    /// Why rows of today may be refused, each in a sentence.
    var refusals: [String] {
        match.old.tables.values.sorted { $0.name < $1.name }.flatMap { old -> [String] in
            guard !old.isVirtual, let new = match.newTable(of: old) else { return [] }
            return demands.all(of: new, old).map { $0.detail ?? $0.message }
        }
    }

    private var demands: RowDemands { RowDemands(match, values: backfills, in: db) }

    private func hazard(
        _ kind: SchemaHazard.Kind,
        _ table: SchemaModel.Table,
        column: String? = nil,
        _ message: String,
        _ suggestion: String,
        count: String
    ) -> SchemaHazard {
        SchemaHazard(
            kind: kind,
            table: table.name,
            column: column,
            message: message,
            suggestion: suggestion,
            countQuery: count
        )
    }

    private func count(_ table: SchemaModel.Table, where condition: String? = nil) -> String {
        "SELECT count(*) FROM \(table.name.quotedName)"
            + (condition.map { " WHERE \($0)" } ?? "")
    }

    // MARK: - Tables and Columns

    private func dropped(_ table: SchemaModel.Table) -> SchemaHazard {
        hazard(
            .dropTable,
            table,
            "the rows of \(table.name) are lost",
            """
            Stop using the table first, copy what is still needed, and drop it in a later \
            migration. If it is only renamed, declare the rename.
            """,
            count: count(table)
        )
    }

    /// A virtual table can't be changed, only dropped and created.
    private func recreated(_ old: SchemaModel.Table, as new: SchemaModel.Table) -> [SchemaHazard] {
        guard !old.hasSameDefinition(as: new) else { return [] }
        var hazards: [SchemaHazard] = []
        let content = rewritten.contains(new.name.foldedName) ? new.contentTable : nil
        // What is indexed from another table is there, too.
        if content == nil || old.contentTable == nil {
            hazards.append(
                hazard(
                    .dropTable,
                    old,
                    "\(old.name) is dropped and created again: its content is lost",
                    """
                    Create a table with another name, fill it in a step of its own, and drop this \
                    one in a later migration. A full-text index must be filled again.
                    """,
                    count: count(old)
                )
            )
        }
        if let content {
            hazards.append(
                hazard(
                    .rewritesTable,
                    old,
                    "\(old.name) is dropped, created again and filled from \(content)",
                    "Run it when the app can wait: every row of \(content) is indexed again.",
                    count: count(old)
                )
            )
        }
        return hazards
    }

    private func droppedColumns(of old: SchemaModel.Table) -> [SchemaHazard] {
        old.columns.filter { $0.generated == nil }.compactMap { column in
            let new = match.newColumn(of: column.name, in: old)
            guard new == nil || new?.generated != nil else { return nil }
            let name = "\(old.name).\(column.name)"
            return hazard(
                .dropColumn,
                old,
                column: column.name,
                new == nil
                    ? "the values of \(name) are lost"
                    : "the values of \(name) are replaced by those of an expression",
                """
                Stop using the column first, copy what is still needed, and drop it in a later \
                migration. If it is only renamed, declare the rename.
                """,
                count: count(old, where: "\(column.name.quotedName) IS NOT NULL")
            )
        }
    }

    /// Without AUTOINCREMENT, the next number is the largest one that a row has, plus one.
    /// <https://www.sqlite.org/autoinc.html>
    private func reusedRowIDs(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        guard old.isAutoincrement, !new.isAutoincrement, let before = old.rowIDColumn,
            let after = match.newColumn(of: before.name, in: old), new.isRowID(after)
        else { return [] }
        return [
            hazard(
                .reusesRowIDs,
                old,
                column: before.name,
                "new rows of \(new.name) may get the numbers of rows that were deleted",
                "Keep AUTOINCREMENT if something outside of the database still has these numbers.",
                count: """
                    SELECT max(0, ifnull((SELECT max(seq) FROM sqlite_sequence \
                    WHERE name = \(old.name.sqlString)), 0) \
                    - ifnull((SELECT max(\(before.name.quotedName)) FROM \(old.name.quotedName)), 0))
                    """
            )
        ]
    }

    private func rewrites(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        guard rewritten.contains(new.name.foldedName) else { return [] }
        return [
            hazard(
                .rewritesTable,
                old,
                """
                \(old.name) is rebuilt: all of its rows are copied, which takes time and space on \
                the disk
                """,
                """
                Run it when the app can wait. A new column at the end of the table, with a constant \
                default or none, needs no rebuild.
                """,
                count: count(old)
            )
        ]
    }
}

extension SchemaHazard {
    /// A demand on rows that may not hold.
    fileprivate init(_ demand: RowDemand) {
        self.init(
            kind: demand.requirement.hazard,
            table: demand.table,
            column: demand.column,
            message: demand.detail ?? demand.message,
            suggestion: demand.suggestion,
            countQuery: demand.countQuery
        )
    }
}
