import GRDB
import MigrationKitGRDB

/// Finds what old rows must satisfy to become those of another schema.
///
/// What can't be violated isn't among it, as far as that is known without the rows.
package struct RowDemands {
    let match: SchemaMatch
    /// Expressions over the old rows for columns that don't keep their values.
    let values: ColumnExpressions
    let db: Database

    /// - Parameters:
    ///   - match: The old schema and the new one.
    ///   - values: Expressions over the old rows, by names of the new schema. Without one, a column has
    ///     the values of the old column, or its default.
    ///   - db: A database with the old schema. The functions that expressions use are registered.
    package init(_ match: SchemaMatch, values: ColumnExpressions, in db: Database) {
        self.match = match
        self.values = values
        self.db = db
    }

    /// Finds what the rows of a table must satisfy.
    package func all(of new: SchemaModel.Table, _ old: SchemaModel.Table) -> [RowDemand] {
        narrowedTypes(of: new, old) + notNulls(of: new, old) + nullExpressions(of: new, old)
            + generatedNulls(of: new, old) + uniques(of: new, old) + strictTypes(of: new, old)
            + checks(of: new, old) + foreignKeys(of: new, old)
    }

    /// - Parameter sources: The SQL on which it depends, in which old columns are found.
    func demand(
        _ requirement: RowDemand.Requirement,
        _ table: SchemaModel.Table,
        column: String? = nil,
        dependsOn sources: [String],
        _ message: String,
        detail: String? = nil,
        _ suggestion: String,
        count: String?
    ) -> RowDemand {
        let names = Set(sources.flatMap { SQLTokens($0).tokens.map(\.name) })
        return RowDemand(
            requirement: requirement,
            table: table.name,
            column: column,
            columns: table.columns.map(\.name).filter { names.contains($0.foldedName) },
            message: message,
            detail: detail,
            suggestion: suggestion,
            // Whether the names in an expression could all be replaced is SQLite's to say.
            countQuery: count.flatMap { db.problem(compiling: $0) == nil ? $0 : nil }
        )
    }

    func count(_ table: SchemaModel.Table, where condition: String) -> String {
        "SELECT count(*) FROM \(table.name.quotedName) WHERE \(condition)"
    }

    // MARK: - Values

    private func narrowedTypes(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [RowDemand] {
        pairs(new, old).compactMap { before, after in
            guard values[new.name, after.name] == nil, after.generated == nil else { return nil }
            let becomesRowID = new.isRowID(after) && !old.isRowID(before)
            guard becomesRowID || Self.narrows(before, after, isStrict: new.isStrict) else {
                return nil
            }
            let name = "\(old.name).\(before.name)"
            var demand = demand(
                .fits,
                old,
                column: before.name,
                dependsOn: [before.name.quotedName],
                "values of \(name) may not fit the new type \(after.type), and change",
                detail: """
                    values of \(name) may not fit the new type \(after.type): a value that would \
                    change is refused
                    """,
                """
                Convert the values with an expression, or add a new column, fill it, and drop this one \
                in a later migration.
                """,
                count: count(old, where: Self.misfits(before, after))
            )
            demand.isRefused = becomesRowID
            return demand
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
    private static func misfits(
        _ before: SchemaModel.Column,
        _ after: SchemaModel.Column
    ) -> String {
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
    ) -> [RowDemand] {
        pairs(new, old).compactMap { before, after in
            let isRequired = new.requires(after) || new.isRowID(after)
            guard isRequired, !old.requires(before), !old.isRowID(before),
                values[new.name, after.name] == nil, after.generated == nil
            else { return nil }
            let name = "\(old.name).\(before.name)"
            var demand = demand(
                .notNull,
                old,
                column: before.name,
                dependsOn: [before.name.quotedName],
                new.isRowID(after)
                    ? "rows with NULL in \(name) get a number"
                    : "rows with NULL in \(name) are refused",
                """
                Give it an expression such as coalesce(\(before.name), \(after.affinity.sample)), or \
                fill the column in a migration before this one.
                """,
                count: count(old, where: "\(before.name.quotedName) IS NULL")
            )
            demand.isRefused = !new.isRowID(after)
            return demand
        }
    }

    private func nullExpressions(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [RowDemand] {
        new.columns.compactMap { column in
            guard new.requires(column), !new.isRowID(column),
                let expression = values[new.name, column.name],
                mayHold("(\(expression)) IS NULL", old)
            else { return nil }
            return demand(
                .notNull,
                old,
                column: match.oldColumn(of: column.name, in: new)?.name,
                dependsOn: [expression],
                "rows for which the value of \(new.name).\(column.name) is NULL are refused",
                "Give it an expression such as coalesce(EXPRESSION, \(column.affinity.sample)), which "
                    + "is never NULL.",
                count: count(old, where: "(\(expression)) IS NULL")
            )
        }
    }

    private func generatedNulls(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [RowDemand] {
        new.columns.compactMap { column in
            guard column.isNotNull, let generated = column.generated else { return nil }
            let before = match.oldColumn(of: column.name, in: new)
            if let before, before.isNotNull, before.generated == generated { return nil }
            let value = expression(generated.expression.text, of: new, old)
            return demand(
                .notNull,
                old,
                column: before?.name,
                dependsOn: [value ?? ""],
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
