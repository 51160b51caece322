import GRDB
import MigrationKitGRDB

/// Finds what may lose rows, or be refused because of rows, on the way to another schema.
struct SchemaHazards {
    let match: SchemaMatch
    let backfills: ColumnExpressions
    private let rewritten: Set<String>
    let db: Database

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
            return droppedColumns(of: old) + narrowedTypes(of: new, old)
                + notNulls(of: new, old) + nullBackfills(of: new, old)
                + generatedNulls(of: new, old) + uniques(of: new, old)
                + strictTypes(of: new, old) + checks(of: new, old) + foreignKeys(of: new, old)
                + reusedRowIDs(of: new, old) + rewrites(of: new, old)
        }
    }

    /// Why rows of today may be refused, each in a sentence. A new column's own value isn't among
    /// the reasons.
    var refusals: [String] {
        match.old.tables.values.sorted { $0.name < $1.name }.flatMap { old -> [String] in
            guard !old.isVirtual, let new = match.newTable(of: old) else { return [] }
            let hazards =
                narrowedTypes(of: new, old) + notNulls(of: new, old) + generatedNulls(of: new, old)
                + uniques(of: new, old) + strictTypes(of: new, old) + checks(of: new, old)
                + foreignKeys(of: new, old)
            return hazards.map(\.message)
        }
    }

    func hazard(
        _ kind: SchemaHazard.Kind,
        _ table: SchemaModel.Table,
        column: String? = nil,
        _ message: String,
        _ suggestion: String,
        count: String?
    ) -> SchemaHazard {
        SchemaHazard(
            kind: kind,
            table: table.name,
            column: column,
            message: message,
            suggestion: suggestion,
            // Whether the names in an expression could all be replaced is SQLite's to say.
            countQuery: count.flatMap { db.problem(compiling: $0) == nil ? $0 : nil }
        )
    }

    func count(_ table: SchemaModel.Table, where condition: String? = nil) -> String {
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

    // MARK: - Values

    private func narrowedTypes(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        pairs(new, old).compactMap { before, after in
            guard backfills[new.name, after.name] == nil, after.generated == nil else { return nil }
            let becomesRowID = new.isRowID(after) && !old.isRowID(before)
            guard becomesRowID || Self.narrows(before, after, isStrict: new.isStrict) else {
                return nil
            }
            let name = "\(old.name).\(before.name)"
            return hazard(
                .narrowsType,
                old,
                column: before.name,
                """
                values of \(name) may not fit the new type \(after.type): a value that would \
                change is refused
                """,
                """
                Give it a backfill that converts the values, or add a new column, fill it, and drop \
                this one in a later migration.
                """,
                count: Self.countOfMisfits(before, after).map { count(old, where: $0) }
            )
        }
    }

    private static func narrows(
        _ before: SchemaModel.Column,
        _ after: SchemaModel.Column,
        isStrict: Bool
    ) -> Bool {
        let takesAll = !isStrict || after.type.uppercased() == "ANY"
        return switch (before.affinity, after.affinity) {
        case (.blob, .blob): !takesAll && before.type.uppercased() != "BLOB"
        case (let one, let another) where one == another: false
        case (_, .blob): !takesAll
        case (.integer, .numeric), (.numeric, .integer), (.integer, .text): false
        default: true
        }
    }

    /// A condition for values that aren't the same after conversion, as far as SQL can say.
    private static func countOfMisfits(
        _ before: SchemaModel.Column,
        _ after: SchemaModel.Column
    ) -> String? {
        let name = before.name.quotedName
        switch after.affinity {
        case .integer:
            return """
                typeof(\(name)) <> 'null' AND (typeof(\(name)) = 'blob' \
                OR CAST(CAST(\(name) AS INTEGER) AS TEXT) IS NOT CAST(\(name) AS TEXT) \
                AND (typeof(\(name)) <> 'real' OR CAST(\(name) AS INTEGER) <> \(name)))
                """
        case .real, .numeric:
            return """
                typeof(\(name)) = 'blob' OR typeof(\(name)) = 'text' \
                AND CAST(CAST(\(name) AS NUMERIC) AS TEXT) IS NOT \(name) \
                OR typeof(\(name)) = 'integer' \
                AND CAST(CAST(\(name) AS REAL) AS INTEGER) IS NOT \(name)
                """
        case .text:
            return """
                typeof(\(name)) = 'blob' OR typeof(\(name)) = 'real' \
                AND CAST(CAST(\(name) AS TEXT) AS REAL) IS NOT \(name)
                """
        case .blob:
            return "typeof(\(name)) NOT IN ('null', 'blob')"
        }
    }

    private func notNulls(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        pairs(new, old).compactMap { before, after in
            let isRequired = new.requires(after) || new.isRowID(after)
            guard isRequired, !old.requires(before), !old.isRowID(before),
                backfills[new.name, after.name] == nil, after.generated == nil
            else { return nil }
            let name = "\(old.name).\(before.name)"
            return hazard(
                .mayViolateNotNull,
                old,
                column: before.name,
                new.isRowID(after)
                    ? "rows with NULL in \(name) get a number"
                    : "rows with NULL in \(name) are refused",
                """
                Give it a backfill such as coalesce(\(before.name), \(after.affinity.sample)), or \
                fill the column in a migration before this one.
                """,
                count: count(old, where: "\(before.name.quotedName) IS NULL")
            )
        }
    }

    private func nullBackfills(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        new.columns.compactMap { column in
            guard new.requires(column), !new.isRowID(column),
                let expression = backfills[new.name, column.name],
                mayHold("(\(expression)) IS NULL", old)
            else { return nil }
            return hazard(
                .mayViolateNotNull,
                old,
                column: match.oldColumn(of: column.name, in: new)?.name,
                "rows for which the backfill of \(new.name).\(column.name) is NULL are refused",
                "Give it a backfill such as coalesce(EXPRESSION, \(column.affinity.sample)), which "
                    + "is never NULL.",
                count: count(old, where: "(\(expression)) IS NULL")
            )
        }
    }

    private func generatedNulls(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        new.columns.compactMap { column in
            guard column.isNotNull, let generated = column.generated else { return nil }
            let before = match.oldColumn(of: column.name, in: new)
            if let before, before.isNotNull, before.generated == generated { return nil }
            let value = expression(generated.expression.text, of: new, old)
            return hazard(
                .mayViolateNotNull,
                old,
                column: before?.name,
                "rows for which the expression of \(new.name).\(column.name) is NULL are refused",
                """
                Use an expression that is never NULL, such as coalesce(EXPRESSION, \
                \(column.affinity.sample)), or correct the rows in a migration before this one.
                """,
                count: value.map { count(old, where: "(\($0)) IS NULL") }
            )
        }
    }

    /// The columns that keep their values.
    private func pairs(
        _ new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [(before: SchemaModel.Column, after: SchemaModel.Column)] {
        new.columns.compactMap { column in
            match.oldColumn(of: column.name, in: new).map { ($0, column) }
        }
    }
}
