import GRDB
import MigrationKitGRDB

/// Checks, and types of STRICT tables, that present rows may violate.
extension RowDemands {
    func checks(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [RowDemand] {
        let before = Set(old.checks.map { SQLTokens($0.expression.text).meaning })
        return new.checks.map(\.expression.text).compactMap { check in
            let text = expression(check, of: new, old)
            if let text, before.contains(SQLTokens(text).meaning), isUntouched(check, new) {
                return nil
            }
            if let text, holdsForNewColumns(check, text, new) { return nil }
            let named = SQLTokens(check).allNames
            let names = new.columns.map(\.name).filter { named.contains($0.foldedName) }
                .joined(separator: ", ")
            return demand(
                .check,
                old,
                dependsOn: [text ?? check],
                "rows that don't satisfy the CHECK on (\(names)) of \(new.name) are refused",
                detail: "rows for which CHECK (\(check)) is false are refused by \(new.name)",
                "Find these rows and correct them in a migration before this one.",
                count: text.map { count(old, where: "NOT (\($0))") }
            )
        }
    }

    /// Whether a check is about new columns only, and their defaults satisfy it.
    private func holdsForNewColumns(
        _ check: String,
        _ text: String,
        _ new: SchemaModel.Table
    ) -> Bool {
        let isNew = SQLTokens(check).tokens.compactMap { named($0, in: new) }.allSatisfy {
            match.oldColumn(of: $0.name, in: new) == nil && values[new.name, $0.name] == nil
                && $0.generated == nil && !new.isRowID($0)
        }
        guard isNew else { return false }
        let violations = try? Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM (SELECT 1) WHERE NOT (\(text))"
        )
        return violations == 0
    }

    // MARK: - Types

    func strictTypes(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [RowDemand] {
        guard new.isStrict else { return [] }
        let found = new.columns.compactMap { column in
            misfit(of: column, in: new, old).map { (column.name, $0) }
        }
        guard !found.isEmpty else { return [] }
        let names = found.map(\.0).joined(separator: ", ")
        let misfits = found.map(\.1)
        return [
            demand(
                .types,
                old,
                dependsOn: misfits.compactMap(\.self),
                "rows whose (\(names)) don't have the type of the column are refused by STRICT",
                "Correct the values in a migration before this one.",
                count: misfits.contains(nil)
                    ? nil
                    : count(old, where: misfits.compactMap(\.self).joined(separator: " OR "))
            )
        ]
    }

    /// A condition for rows whose value a column of a STRICT table refuses.
    ///
    /// - Returns: `nil` if there are no such rows; a condition that is `nil` if SQL can't say it.
    private func misfit(
        of column: SchemaModel.Column,
        in new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> String?? {
        guard let types = Self.strictTypes[column.type.uppercased()] else { return nil }
        let before = match.oldColumn(of: column.name, in: new)
        // A rowid is an integer.
        if let before, old.isRowID(before), values[new.name, column.name] == nil,
            column.generated == nil, column.affinity == .integer
        {
            return nil
        }
        let condition = value(of: column, in: new, old).map { "typeof(\($0)) NOT IN (\(types))" }
        if before != nil, column.generated == nil, values[new.name, column.name] == nil {
            // A column whose type changes has a hazard of its own.
            return old.isStrict ? nil : .some(condition)
        }
        if let before, old.isStrict, before.type.isSameName(as: column.type),
            isComputedAsBefore(column, in: new, old)
        {
            return nil
        }
        return condition.map { mayHold($0, old) } ?? true ? .some(condition) : nil
    }

    /// The types that a column of a STRICT table takes. <https://www.sqlite.org/stricttables.html>
    private static let strictTypes = [
        "INT": "'null', 'integer'", "INTEGER": "'null', 'integer'",
        "REAL": "'null', 'integer', 'real'", "TEXT": "'null', 'integer', 'real', 'text'",
        "BLOB": "'null', 'blob'",
    ]
}
