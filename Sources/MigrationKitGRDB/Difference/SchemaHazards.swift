import GRDB

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
                + checks(of: new, old) + foreignKeys(of: new, old) + rewrites(of: new, old)
        }
    }

    private func hazard(
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

    private func count(_ table: SchemaModel.Table, where condition: String? = nil) -> String {
        "SELECT count(*) FROM \(table.name.quotedName)"
            + (condition.map { " WHERE \($0)" } ?? "")
    }

    // MARK: - Tables and Columns

    private func dropped(_ table: SchemaModel.Table) -> SchemaHazard {
        hazard(
            .dropsTable,
            table,
            "the rows of \(table.name) are lost",
            """
            Stop using the table first, copy what is still needed, and drop it in a later \
            migration. If it only gets another name, name the rename.
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
                    .dropsTable,
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
                .dropsColumn,
                old,
                column: column.name,
                new == nil
                    ? "the values of \(name) are lost"
                    : "the values of \(name) are replaced by those of an expression",
                """
                Stop using the column first, copy what is still needed, and drop it in a later \
                migration. If it only gets another name, name the rename.
                """,
                count: count(old, where: "\(column.name.quotedName) IS NOT NULL")
            )
        }
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
                Give it a backfill such as coalesce(\(before.name), ''), or fill the column in a \
                migration before this one.
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
                let expression = backfills[new.name, column.name], mayBeNull(expression, old)
            else { return nil }
            return hazard(
                .mayViolateNotNull,
                old,
                column: match.oldColumn(of: column.name, in: new)?.name,
                "rows for which the backfill of \(new.name).\(column.name) is NULL are refused",
                "Give it a backfill such as coalesce(EXPRESSION, ''), which is never NULL.",
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
                Use an expression that is never NULL, such as coalesce(EXPRESSION, ''), or correct \
                the rows in a migration before this one.
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

    // MARK: - Keys

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

    private func uniques(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
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
            return hazard(
                .mayViolateUnique,
                old,
                column: key.columns.count == 1 && !key.columns[0].isExpression
                    ? match.oldColumn(of: key.columns[0].text, in: new)?.name : nil,
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
                    && backfills[new.name, its.name] == nil && its.affinity == source.affinity
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

    // MARK: - Checks

    private func checks(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        var hazards: [SchemaHazard] = []
        if new.isStrict, !old.isStrict {
            let misfits = pairs(new, old).compactMap { before, after -> String? in
                guard let types = Self.strictTypes[after.type.uppercased()] else { return nil }
                return "typeof(\(before.name.quotedName)) NOT IN (\(types))"
            }
            hazards.append(
                hazard(
                    .mayViolateCheck,
                    old,
                    "values that don't have the type of their column are refused by STRICT",
                    "Correct the values in a migration before this one.",
                    count: misfits.isEmpty
                        ? nil : count(old, where: misfits.joined(separator: " OR "))
                )
            )
        }
        let before = Set(old.checks.map { SQLTokens($0.expression.text).meaning })
        for check in new.checks.map(\.expression.text) {
            let text = expression(check, of: new, old)
            if let text, before.contains(SQLTokens(text).meaning), isUntouched(check, new) {
                continue
            }
            if let text, holdsForNewColumns(check, text, new) { continue }
            hazards.append(
                hazard(
                    .mayViolateCheck,
                    old,
                    "rows for which CHECK (\(check)) is false are refused by \(new.name)",
                    "Find these rows and correct them in a migration before this one.",
                    count: text.map { count(old, where: "NOT (\($0))") }
                )
            )
        }
        return hazards
    }

    /// The types that a column of a STRICT table takes. <https://www.sqlite.org/stricttables.html>
    private static let strictTypes = [
        "INT": "'null', 'integer'", "INTEGER": "'null', 'integer'",
        "REAL": "'null', 'integer', 'real'", "TEXT": "'null', 'integer', 'real', 'text'",
        "BLOB": "'null', 'blob'",
    ]

    /// Whether a check is about new columns only, and their defaults satisfy it.
    private func holdsForNewColumns(
        _ check: String,
        _ text: String,
        _ new: SchemaModel.Table
    ) -> Bool {
        let isNew = SQLTokens(check).tokens.compactMap { named($0, in: new) }.allSatisfy {
            match.oldColumn(of: $0.name, in: new) == nil && backfills[new.name, $0.name] == nil
                && $0.generated == nil && !new.isRowID($0)
        }
        guard isNew else { return false }
        let violations = try? Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM (SELECT 1) WHERE NOT (\(text))"
        )
        return violations == 0
    }

    // MARK: - Foreign Keys

    private func foreignKeys(
        of new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [SchemaHazard] {
        new.foreignKeys.compactMap { key in
            guard !hasKey(like: key, new, old) else { return nil }
            let values = key.columns.map { name in
                new.column(name).flatMap { value(of: $0, in: new, old) }
            }
            guard !values.contains("NULL") else { return nil }
            let columns = key.columns.joined(separator: ", ")
            return hazard(
                .mayViolateForeignKey,
                old,
                column: key.columns.count == 1
                    ? match.oldColumn(of: key.columns[0], in: new)?.name : nil,
                "rows of \(old.name) with (\(columns)) that \(key.table) doesn't have are refused",
                """
                Find these rows, and correct or delete them in a migration before this one, or add \
                their parents.
                """,
                count: countOfOrphans(values, key, old)
            )
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
                guard backfills[table.name, name] == nil, wasRowID || !becomesRowID else {
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
