import MigrationKitGRDB

/// Unique keys and foreign keys that present rows may violate.
extension RowDemands {
    // MARK: - Unique Keys

    private struct Key {
        let title: String
        let columns: [SchemaModel.IndexedColumn]
        var condition: String?
    }

    private static func keys(of table: SchemaModel.Table, in schema: SchemaModel) -> [Key] {
        let primary = table.key.map { [Key(title: "the primary key", columns: $0.columns)] } ?? []
        return primary
            + table.uniques.map {
                Key(title: "UNIQUE \($0.definition(in: table))", columns: $0.columns)
            }
            + schema.indexes(of: table.name).filter(\.isUnique).map {
                Key(
                    title: "the unique index \($0.name)",
                    columns: $0.columns,
                    condition: $0.condition
                )
            }
    }

    func uniques(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [RowDemand] {
        let before = Self.keys(of: old, in: match.old)
        return Self.keys(of: new, in: match.new).compactMap { key in
            guard !before.contains(where: { isImplied(key, by: $0, new, old) }) else { return nil }
            let values = key.columns.map { column -> String? in
                guard !column.isExpression, let its = new.column(column.text) else {
                    return expression(column.text, of: new, old)
                }
                return value(of: its, in: new, old)
            }
            // NULLs differ from each other.
            guard !values.contains("NULL") else { return nil }
            let rowID = rowidName(besides: old.columns.map(\.name))
            guard values.isEmpty || values != [rowID] else { return nil }
            let condition = key.condition.map { expression($0, of: new, old) }
            let columns = key.columns.map(\.text).joined(separator: ", ")
            let names =
                key.columns.contains(where: \.isExpression)
                ? "value of an expression" : "(\(columns))"
            return demand(
                .unique,
                old,
                column: key.columns.count == 1 && !key.columns[0].isExpression
                    ? match.oldColumn(of: key.columns[0].text, in: new)?.name : nil,
                dependsOn: (values + [condition ?? nil]).compactMap(\.self),
                "rows with the same \(names) are refused by \(new.name)",
                detail:
                    "rows with the same (\(columns)) are refused by \(key.title) of \(new.name)",
                "Find the duplicates and correct them in a migration before this one.",
                count: condition == .some(nil)
                    ? nil
                    : countOfDuplicates(
                        values,
                        key.columns.map(\.collation),
                        old,
                        where: condition ?? nil
                    )
            )
        }
    }

    /// Whether rows can't violate a key because another one of the present table holds.
    private func isImplied(
        _ key: Key,
        by other: Key,
        _ new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> Bool {
        if let condition = other.condition {
            let wanted = key.condition.flatMap { expression($0, of: new, old) }
            guard wanted.map({ SQLTokens($0).meaning }) == condition else { return false }
        }
        return other.columns.allSatisfy { part in
            key.columns.contains { column in
                // What differs by a coarser collation differs byte by byte.
                guard column.collation == part.collation || column.collation == "BINARY",
                    column.isExpression == part.isExpression
                else { return false }
                guard !column.isExpression else {
                    return isUntouched(column.text, new)
                        && expression(column.text, of: new, old).map { SQLTokens($0).meaning }
                            == part.text
                }
                guard let its = new.column(column.text),
                    let source = match.oldColumn(of: its.name, in: new)
                else { return false }
                return source.name.isSameName(as: part.text)
                    && self.values[new.name, its.name] == nil && its.affinity == source.affinity
                    && isComputedAsBefore(its, in: new, old)
            }
        }
    }

    private func countOfDuplicates(
        _ values: [String?],
        _ collations: [String],
        _ table: SchemaModel.Table,
        where condition: String?
    ) -> String? {
        let values = values.compactMap(\.self)
        guard values.count == collations.count else { return nil }
        let list = values.enumerated().map { "\($1) AS c\($0)" }.joined(separator: ", ")
        let present = values.indices.map { "c\($0) IS NOT NULL" }.joined(separator: " AND ")
        let groups = collations.enumerated().map { "c\($0) COLLATE \($1.quotedName)" }
        return """
            SELECT ifnull(sum(n), 0) FROM (SELECT count(*) AS n FROM (SELECT \(list) \
            FROM \(table.name.quotedName)\(condition.map { " WHERE \($0)" } ?? "")) \
            WHERE \(present) GROUP BY \(groups.joined(separator: ", ")) HAVING count(*) > 1)
            """
    }

    // MARK: - Foreign Keys

    func foreignKeys(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [RowDemand] {
        new.foreignKeys.compactMap { key in
            guard !hasKey(like: key, new, old) else { return nil }
            let values = key.columns.map { name in
                new.column(name).flatMap { value(of: $0, in: new, old) }
            }
            guard !values.contains("NULL") else { return nil }
            let columns = key.columns.joined(separator: ", ")
            var demand = demand(
                .parent,
                old,
                column: key.columns.count == 1
                    ? match.oldColumn(of: key.columns[0], in: new)?.name : nil,
                dependsOn: values.compactMap(\.self),
                "rows of \(old.name) with (\(columns)) that \(key.table) doesn't have are refused",
                """
                Find these rows, and correct or delete them in a migration before this one, or add \
                their parents.
                """,
                count: countOfOrphans(values, key, old)
            )
            demand.parent = match.new.table(key.table).flatMap(match.oldTable)?.name
            return demand
        }
    }

    private func hasKey(
        like key: SchemaModel.ForeignKey,
        _ new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> Bool {
        guard let parent = match.new.table(key.table) else {
            // Neither schema has the parent.
            return match.old.table(key.table) == nil
                && old.foreignKeys.contains { $0.meaning(in: old) == key.meaning(in: new) }
        }
        func sources(_ columns: [String], _ table: SchemaModel.Table) -> [String?] {
            columns.map { name in
                let before = match.oldColumn(of: name, in: table)
                let wasRowID = match.oldTable(of: table)?.rowIDColumn?.name == before?.name
                // NULL in a new name of the rowid becomes a number.
                let becomesRowID = table.rowIDColumn?.name.isSameName(as: name) ?? false
                guard self.values[table.name, name] == nil, wasRowID || !becomesRowID else {
                    return nil
                }
                return before?.name.foldedName
            }
        }
        let columns = sources(key.columns, new)
        guard !columns.contains(nil), let oldParent = match.oldTable(of: parent) else {
            return false
        }
        let names = match.new.referencedColumns(of: key)
        let referenced = sources(names, parent)
        let comparesAsBefore = zip(key.columns, names).allSatisfy { name, itsName in
            guard let column = new.column(name), let its = parent.column(itsName),
                let before = match.oldColumn(of: name, in: new),
                let itsBefore = match.oldColumn(of: itsName, in: parent)
            else { return false }
            // SQLite compares the values of both with the affinity and collation of the parent's.
            // <https://www.sqlite.org/foreignkeys.html#fk_basics>
            return its.collation == itsBefore.collation && its.affinity == itsBefore.affinity
                && (its.affinity.isNumeric || !before.mayChangeValues(as: column))
        }
        guard comparesAsBefore else { return false }
        return old.foreignKeys.contains { candidate in
            candidate.table.isSameName(as: oldParent.name)
                && candidate.columns.map(\.foldedName) == columns
                && match.old.referencedColumns(of: candidate).map(\.foldedName) == referenced
        }
    }

    private func countOfOrphans(
        _ values: [String?],
        _ key: SchemaModel.ForeignKey,
        _ table: SchemaModel.Table
    ) -> String? {
        func list(_ values: [String], _ name: String) -> String {
            values.enumerated().map { "\($1) AS \(name)\($0)" }.joined(separator: ", ")
        }
        let values = values.compactMap(\.self)
        guard values.count == key.columns.count else { return nil }
        let present = values.indices.map { "c.c\($0) IS NOT NULL" }.joined(separator: " AND ")
        let orphans = """
            SELECT count(*) FROM (SELECT \(list(values, "c")) FROM \(table.name.quotedName)) AS c \
            WHERE \(present)
            """
        guard let parent = match.new.table(key.table), let before = match.oldTable(of: parent)
        else {
            return orphans
        }
        let referenced = match.new.referencedColumns(of: key).compactMap(parent.column)
        let keys = referenced.compactMap { value(of: $0, in: parent, before) }
        guard keys.count == values.count else { return nil }
        let equal = referenced.enumerated()
            .map { "p.p\($0) = \(Self.converted("c.c\($0)", to: $1))" }
        return """
            \(orphans) AND NOT EXISTS (SELECT 1 FROM (SELECT \(list(keys, "p")) \
            FROM \(before.name.quotedName)) AS p WHERE \(equal.joined(separator: " AND ")))
            """
    }
}

extension ColumnAffinity {
    fileprivate var isNumeric: Bool {
        switch self {
        case .integer, .real, .numeric: true
        case .text, .blob: false
        }
    }
}
