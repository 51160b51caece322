import GRDB
import MigrationKitGRDB

/// Expressions of the wanted schema over present rows.
extension RowDemands {
    /// An expression over a present row for a column of the wanted table.
    ///
    /// - Parameter hasAffinity: Whether it is compared like the column itself.
    /// - Returns: `nil` if there is none.
    func value(
        of column: SchemaModel.Column,
        in new: SchemaModel.Table,
        _ old: SchemaModel.Table,
        withAffinity hasAffinity: Bool = false
    ) -> String? {
        let before = match.oldColumn(of: column.name, in: new)
        var value: String
        if let expression = values[new.name, column.name] {
            value = Self.converted("(\(expression))", to: column)
        } else if let generated = column.generated, !isComputedAsBefore(column, in: new, old) {
            guard let its = expression(generated.expression.text, of: new, old) else { return nil }
            value = Self.converted("(\(its))", to: column)
        } else if let before {
            value =
                before.mayChangeValues(as: column)
                ? Self.converted(before.name.quotedName, to: column) : before.name.quotedName
        } else if new.isRowID(column) {
            return old.isWithoutRowID ? nil : rowidName(besides: old.columns.map(\.name))
        } else if let its = column.defaultValue?.text {
            value = Self.converted("(\(its))", to: column)
        } else {
            return "NULL"
        }
        if hasAffinity, value != before?.name.quotedName || before?.affinity != column.affinity {
            value = Self.withAffinity(of: column, value)
        }
        return column.collation == before?.collation ?? "BINARY"
            ? value : "(\(value) COLLATE \(column.collation.quotedName))"
    }

    /// The value that SQLite stores in a column, without an affinity.
    /// <https://www.sqlite.org/datatype3.html#type_affinity>
    static func converted(_ value: String, to column: SchemaModel.Column) -> String {
        // A comparison with a number converts only texts that are numbers.
        let isNumber = "typeof(v) = 'text' AND v = CAST(v AS NUMERIC)"
        let cases: String
        switch column.affinity {
        case .blob: return "(+\(value))"
        case .text: cases = "WHEN typeof(v) IN ('integer', 'real') THEN CAST(v AS TEXT)"
        case .real: cases = "WHEN typeof(v) = 'integer' OR \(isNumber) THEN CAST(v AS REAL)"
        case .integer, .numeric:
            cases = """
                WHEN \(isNumber) THEN CAST(v AS NUMERIC) \
                WHEN typeof(v) = 'real' AND v = CAST(v AS INTEGER) THEN CAST(v AS INTEGER)
                """
        }
        return "(SELECT CASE \(cases) ELSE v END FROM (SELECT \(value) AS v))"
    }

    /// A value that is compared with the affinity of a column.
    /// <https://www.sqlite.org/datatype3.html#affinity_of_expressions>
    private static func withAffinity(of column: SchemaModel.Column, _ value: String) -> String {
        guard column.affinity != .blob else { return "(+\(value))" }
        // CAST alone would change the value. A subquery has the affinity of its last SELECT.
        let type = column.affinity.rawValue.uppercased()
        return "(SELECT \(value) UNION ALL SELECT CAST(NULL AS \(type)) WHERE 0)"
    }

    /// An expression of the wanted schema with the names of the present one.
    func expression(
        _ text: String,
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> String? {
        let tokens = SQLTokens(text).tokens
        var result: [String] = []
        for (place, token) in tokens.enumerated() {
            let next = place + 1 < tokens.count ? tokens[place + 1].text : ""
            if next == ".", token.name == new.name.foldedName { continue }
            if token.text == ".", place > 0, tokens[place - 1].name == new.name.foldedName {
                continue
            }
            guard let column = named(token, in: new), next != "(" else {
                result.append(token.text)
                continue
            }
            guard let value = value(of: column, in: new, old, withAffinity: true) else {
                return nil
            }
            result.append(value)
        }
        return result.joined(separator: " ")
    }

    func named(
        _ token: SQLTokens.Token,
        in table: SchemaModel.Table
    ) -> SchemaModel.Column? {
        // A column may be called "null".
        let isName =
            token.kind == .quotedName || token.kind == .word && !Self.operators.contains(token.name)
        return isName ? table.columns.first { $0.name.foldedName == token.name } : nil
    }

    /// The words in expressions that name nothing unless they are quoted.
    /// <https://www.sqlite.org/lang_keywords.html>
    private static let operators: Set<String> = [
        "and", "as", "between", "case", "collate", "distinct", "else", "escape", "exists", "from",
        "in", "is", "isnull", "not", "notnull", "null", "or", "select", "then", "when", "where",
    ]

    /// Whether a column has the same values as before, which compare as before.
    func isUntouched(_ column: SchemaModel.Column, in new: SchemaModel.Table) -> Bool {
        guard let old = match.oldTable(of: new),
            let before = match.oldColumn(of: column.name, in: new)
        else { return false }
        return values[new.name, column.name] == nil && before.affinity == column.affinity
            && before.collation == column.collation && isComputedAsBefore(column, in: new, old)
    }

    /// Whether a column is computed by the same expression as before, or not computed at all.
    func isComputedAsBefore(
        _ column: SchemaModel.Column,
        in new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> Bool {
        let before = match.oldColumn(of: column.name, in: new)?.generated?.expression.text
        let after = column.generated.map { expression($0.expression.text, of: new, old) }
        switch (before, after) {
        case (nil, nil): return true
        case (let before?, let after??):
            return SQLTokens(before).meaning == SQLTokens(after).meaning
        default: return false
        }
    }

    /// Whether an expression names only columns that have the same values as before.
    func isUntouched(_ expression: String, _ new: SchemaModel.Table) -> Bool {
        SQLTokens(expression).tokens.compactMap { named($0, in: new) }
            .allSatisfy { isUntouched($0, in: new) }
    }

    /// Whether a condition isn't false, or fails, for one of two rows: one with NULL where the table
    /// allows it, and one without. Tables that it asks have no rows.
    func mayHold(_ condition: String, _ table: SchemaModel.Table) -> Bool {
        let rowIDs =
            table.isWithoutRowID
            ? [] : rowidNames.filter { table.column($0) == nil }
        return [true, false].contains { isNullable in
            let values = table.columns.map { column in
                let isRequired = table.requires(column) || table.isRowID(column)
                let value = isNullable && !isRequired ? "NULL" : column.affinity.emptyValue
                return "\(value) AS \(column.name.quotedName)"
            }
            let row = (rowIDs.map { "1 AS \($0)" } + values).joined(separator: ", ")
            let holds = try? Bool.fetchOne(
                db,
                sql: """
                    SELECT \(condition)
                    FROM (SELECT \(row)) AS \(table.name.quotedName)
                    """
            )
            return holds != false
        }
    }
}
