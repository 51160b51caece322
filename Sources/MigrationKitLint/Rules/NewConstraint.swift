import GRDB
import MigrationKitSchema

/// A constraint that a migration puts on rows that were there before.
struct NewConstraint {
    enum Kind {
        case unique(columns: [KeyColumn], condition: String?)
        case notNull(String)
        case check(String)
        case strict([SchemaModel.Column])
        case foreignKey(SchemaModel.ForeignKey, parentColumns: [String])
        /// The value of a generated column: the condition for rows that are refused.
        case computed(column: String, LintRule, refused: String)
    }

    /// A column or an expression of a unique index.
    struct KeyColumn {
        let text: String
        let isExpression: Bool
        let collation: String

        func mentions(_ column: String) -> Bool {
            guard isExpression else { return text.isSameName(as: column) }
            return SQLTokens(text).tokens.contains { $0.name.isSameName(as: column) }
        }
    }

    let kind: Kind
    /// The table as it was before.
    let table: SchemaModel.Table
    /// The number of the statement to report on unless another one fails.
    let statement: Int

    var rule: LintRule {
        switch kind {
        case .unique: .mayViolateUnique
        case .notNull: .mayViolateNotNull
        case .check: .mayViolateCheck
        case .strict: .mayViolateStrict
        case .foreignKey: .mayViolateForeignKey
        case .computed(_, let rule, _): rule
        }
    }

    // MARK: Finding them

    static func all(in step: StepRecord) -> [NewConstraint] {
        var all = step.rebuilds.flatMap { self.all(of: $0, in: step) }
        for (number, statement) in step.statements.enumerated() {
            switch statement.kind {
            case .createIndex(let name, let table, isUnique: true):
                all += index(name, of: table, number, statement, step)
            case .addColumn(let table, let column):
                all += added(column, to: table, number, statement, step)
            default: continue
            }
        }
        return all
    }

    private static func all(of rebuild: Rebuild, in step: StepRecord) -> [NewConstraint] {
        let (old, new) = (rebuild.before, rebuild.after)
        var kinds: [Kind] = []
        let former =
            old.uniques.map { Set($0.columns.map { $0.text.foldedName }) }
            + [Set(old.primaryKey.map { $0.foldedName })]
        let primaryKey = new.primaryKey.map { column in
            KeyColumn(
                text: column,
                isExpression: false,
                collation: new.column(column)?.collation ?? "BINARY"
            )
        }
        let keys = new.uniques.map { $0.columns.map(KeyColumn.init) } + [primaryKey]
        for key in keys where !key.isEmpty {
            let columns = Set(key.map { $0.text.foldedName })
            guard !former.contains(columns), key.allSatisfy({ old.column($0.text) != nil }) else {
                continue
            }
            kinds.append(.unique(columns: key, condition: nil))
        }
        for column in new.columns where column.isNotNull && column.generated == nil {
            guard let before = old.column(column.name), !before.isNotNull,
                old.rowIDColumn?.name != before.name
            else { continue }
            kinds.append(.notNull(before.name))
        }
        kinds += new.checks.map(\.expression)
            .filter { !old.checks.map(\.expression).contains($0) }
            .map { Kind.check($0.meaning) }
        if new.isStrict, !old.isStrict {
            let columns = new.columns.filter { column in
                ["INT", "INTEGER", "REAL", "BLOB"].contains(column.type.uppercased())
                    && old.column(column.name) != nil && column.generated == nil
            }
            if !columns.isEmpty { kinds.append(.strict(columns)) }
        }
        for column in new.columns {
            let before = old.column(column.name)
            let isAsBefore =
                before?.generated == column.generated && before?.isNotNull == column.isNotNull
                && old.isStrict == new.isStrict
            if !isAsBefore { kinds += computed(column, in: new, old) }
        }
        for key in new.foreignKeys where key.columns.allSatisfy({ old.column($0) != nil }) {
            let parent = step.after.referencedColumns(of: key)
            let isOld = old.foreignKeys.contains { other in
                other.table.isSameName(as: key.table)
                    && other.columns.areSameNames(as: key.columns)
                    && step.before.referencedColumns(of: other).areSameNames(as: parent)
            }
            guard !isOld, parent.count == key.columns.count else { continue }
            kinds.append(.foreignKey(key, parentColumns: parent))
        }
        return kinds.map { NewConstraint(kind: $0, table: old, statement: rebuild.creation.number) }
    }

    private static func index(
        _ name: String,
        of tableName: String,
        _ number: Int,
        _ statement: StatementRecord,
        _ step: StepRecord
    ) -> [NewConstraint] {
        guard statement.failure == nil, let index = statement.after.index(name),
            let table = step.before.table(tableName),
            !step.before.indexes.values.contains(where: { $0.hasSameDefinition(as: index) })
        else { return [] }
        let columns = index.columns.map(KeyColumn.init)
        let kind = Kind.unique(columns: columns, condition: index.condition)
        return [NewConstraint(kind: kind, table: table, statement: number)]
    }

    /// What comes with a new column: a foreign key that its default must satisfy, and what the value of a
    /// generated one must.
    private static func added(
        _ column: String,
        to tableName: String,
        _ number: Int,
        _ statement: StatementRecord,
        _ step: StepRecord
    ) -> [NewConstraint] {
        guard statement.failure == nil, statement.failureWithRows == nil,
            let table = step.before.table(tableName),
            let now = statement.after.table(tableName), let new = now.column(column)
        else { return [] }
        let keys =
            new.defaultValue == nil
            ? [] : now.foreignKeys.filter { $0.columns.areSameNames(as: [column]) }
        let kinds =
            keys.map { key in
                Kind.foreignKey(
                    key,
                    parentColumns: statement.after.referencedColumns(of: key)
                )
            } + computed(new, in: now, table)
        return kinds.map { NewConstraint(kind: $0, table: table, statement: number) }
    }

    /// What the value of a generated column must satisfy.
    private static func computed(
        _ column: SchemaModel.Column,
        in new: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) -> [Kind] {
        guard let value = column.generated.map({ "(\($0.expression.text))" }) else { return [] }
        func refused(_ rule: LintRule, _ condition: String) -> Kind {
            .computed(column: column.name, rule, refused: condition)
        }
        let checks = new.checks.map(\.expression)
            .filter { !old.checks.map(\.expression).contains($0) }
            .map { SQLTokens($0.text).tokens }
            .filter { $0.contains { $0.name.isSameName(as: column.name) } }
            .map { check in
                let texts = check.map { $0.name.isSameName(as: column.name) ? value : $0.text }
                return refused(.mayViolateCheck, "NOT (\(texts.joined(separator: " ")))")
            }
        let types =
            new.isStrict && column.type.uppercased() != "ANY"
            ? [refused(.mayViolateStrict, "typeof(\(value)) NOT IN \(column.storageClasses)")] : []
        return (column.isNotNull ? [refused(.mayViolateNotNull, "\(value) IS NULL")] : [])
            + checks + types
    }

    // MARK: Trying it

    /// The statement that fails on rows that the former schema allows; `nil` if none does, because
    /// there can be no such rows or because the migration corrects them.
    func failingStatement(in step: StepRecord) -> Int? {
        if case .unique = kind,
            step.statements[statement].failureWithRows?.isViolation(of: kind) == true
        {
            return statement
        }
        guard let trials = step.trials else { return nil }
        for setup in setups(trials) {
            guard let database = trials.database(after: setup) else { continue }
            guard let pass = trials.run(on: database) else { continue }
            if case .foreignKey(let key, _) = kind {
                if Self.hasViolations(of: key, in: table.name, database) { return statement }
                continue
            }
            for (number, run) in pass.statements.enumerated() {
                guard let failure = run.failure, failure.isViolation(of: kind),
                    case let code = failure.code,
                    !isUnique || step.statements[number].failureWithRows?.code != code
                else { continue }
                return number
            }
        }
        return nil
    }

    /// Generated rows may have the keys of rows that the migration inserts.
    private var isUnique: Bool {
        if case .unique = kind { true } else { false }
    }

    /// The SQL that makes the generated rows violate it, in several ways.
    private func setups(_ trials: Trials) -> [[String]] {
        switch kind {
        case .unique(let columns, let condition):
            let names = table.columns.filter { column in
                column.generated == nil && columns.contains { $0.mentions(column.name) }
            }
            guard !names.isEmpty else { return [] }
            let name = GRDBMigrationSQLHelpers.quoted(table.name)
            let same = names.map { column in
                let column = GRDBMigrationSQLHelpers.quoted(column.name)
                return "\(column) = (SELECT \(column) FROM main.\(name) LIMIT 1)"
            }
            let update = "UPDATE main.\(name) SET \(same.joined(separator: ", "))"
            guard let condition else { return [[update]] }
            return trials.updates(of: table, toSatisfy: condition).map { [update] + $0 }
                + [[update]]
        case .notNull(let column):
            return [[table.update(column, to: "NULL")]]
        case .check(let expression):
            return trials.update(of: table, toViolate: expression).map { [[$0]] } ?? []
        case .strict(let columns):
            return columns.map { [table.update($0.name, to: "'a text'")] }
        case .foreignKey(let key, _):
            let parent = GRDBMigrationSQLHelpers.quoted(key.table)
            guard key.columns.allSatisfy({ table.column($0) != nil }) else {
                return [["DELETE FROM main.\(parent)"]]
            }
            return [key.columns.map { table.update($0, to: "987654321") }]
        case .computed(_, _, let condition):
            return trials.updates(of: table, toSatisfy: condition)
        }
    }

    private static func hasViolations(
        of key: SchemaModel.ForeignKey,
        in table: String,
        _ database: ScratchDatabase
    ) -> Bool {
        database.read { db in
            let parents = try? String.fetchAll(
                db,
                sql: "SELECT DISTINCT parent FROM pragma_foreign_key_check(?)",
                arguments: [table]
            )
            return parents?.contains { $0.isSameName(as: key.table) } ?? false
        }
    }

    // MARK: Counting real rows

    /// How many rows of the real database violate it; `nil` if that isn't known.
    func violations(_ data: RealRows) -> Int? {
        let name = GRDBMigrationSQLHelpers.quoted(table.name)
        switch kind {
        case .unique(let columns, let condition):
            guard data.tables.contains(table.name.foldedName) else { return nil }
            let terms = columns.map { column in
                (column.isExpression ? column.text : GRDBMigrationSQLHelpers.quoted(column.text))
                    + " COLLATE \(column.collation)"
            }
            let conditions =
                terms.map { "(\($0)) IS NOT NULL" } + (condition.map { ["(\($0))"] } ?? [])
            return data.count(
                """
                SELECT coalesce(sum(n), 0) FROM (
                    SELECT count(*) - 1 AS n FROM main.\(name)
                    WHERE \(conditions.joined(separator: " AND "))
                    GROUP BY \(terms.joined(separator: ", "))
                )
                """
            )
        case .notNull(let column):
            return data.rows(
                in: table.name,
                where: "\(GRDBMigrationSQLHelpers.quoted(column)) IS NULL"
            )
        case .check(let expression):
            return data.rows(in: table.name, where: "NOT (\(expression))")
        case .strict(let columns):
            let conditions = columns.map { column in
                "typeof(\(GRDBMigrationSQLHelpers.quoted(column.name))) NOT IN "
                    + column.storageClasses
            }
            return data.rows(in: table.name, where: conditions.joined(separator: " OR "))
        // SQLite may convert what the condition finds.
        case .computed(_, .mayViolateStrict, _): return nil
        case .computed(_, _, let condition): return data.rows(in: table.name, where: condition)
        case .foreignKey(let key, let parentColumns):
            guard key.columns.allSatisfy({ table.column($0) != nil }) else { return nil }
            let parent = GRDBMigrationSQLHelpers.quoted(key.table)
            let columns = key.columns.map(GRDBMigrationSQLHelpers.quoted)
            let matches = zip(columns, parentColumns.map(GRDBMigrationSQLHelpers.quoted))
                .map { "parent.\($1) = \(name).\($0)" }
            return data.rows(
                in: table.name,
                where: (columns.map { "\($0) IS NOT NULL" }
                    + [
                        "NOT EXISTS (SELECT 1 FROM main.\(parent) AS parent WHERE "
                            + matches.joined(separator: " AND ") + ")"
                    ]).joined(separator: " AND ")
            )
        }
    }

    // MARK: Messages

    var message: String {
        switch kind {
        case .unique(let columns, _):
            let names = columns.filter { !$0.isExpression }.map(\.text)
            let what = names.count == columns.count ? listed(names) : "an expression"
            return "\(what) of table '\(table.name)' must be unique from now on, and its rows may "
                + "violate that"
        case .notNull(let column):
            return "column '\(column)' of table '\(table.name)' becomes NOT NULL, and its rows "
                + "may violate that"
        case .check:
            return "table '\(table.name)' gets a CHECK, and its rows may violate that"
        case .strict:
            return "table '\(table.name)' becomes STRICT, and its rows may violate that"
        case .foreignKey(let key, _):
            return "\(key.columns.count == 1 ? "column" : "columns") \(listed(key.columns)) of "
                + "table '\(table.name)' must refer to rows of table '\(key.table)' from now on, "
                + "and rows may violate that"
        case .computed(let column, _, _):
            return
                "the expression of column '\(column)' gives rows of table '\(table.name)' a value "
                + "that the column refuses"
        }
    }

    var advice: String {
        switch kind {
        case .unique:
            "Resolve the duplicates first, with a statement that says which row stays."
        case .notNull(let column):
            "Copy coalesce(\(column), …) instead, and give the column a default."
        case .check:
            "Correct the rows first, or in the copy with CASE."
        case .strict:
            "Look at the values that CAST would change, say what becomes of them, and cast the rest "
                + "in the copy."
        case .foreignKey:
            "Delete or correct the rows without a parent first."
        case .computed:
            "Use an expression that suits every row, such as coalesce(EXPRESSION, …), or correct the rows "
                + "in a migration before this one."
        }
    }
}

extension Trials {
    /// The update that makes rows violate a `CHECK` although the former schema allows them.
    func update(of table: SchemaModel.Table, toViolate expression: String) -> String? {
        if let known = results.updates[[table.name, expression]] { return known }
        let condition = "NOT (\(expression))"
        let update = changes(of: table, for: expression).first { leads([$0], to: condition, table) }
        results.updates[[table.name, expression]] = update
        return update
    }

    /// Updates, or pairs of them, that make rows satisfy a condition.
    func updates(of table: SchemaModel.Table, toSatisfy condition: String) -> [[String]] {
        guard start.compile("SELECT \(Self.question(condition, table))") == nil else { return [] }
        let changes = changes(of: table, for: condition)
        let pairs = changes.lazy.flatMap { first in changes.lazy.map { [first, $0] } }
        func leading(_ updates: some Sequence<[String]>) -> [[String]] {
            Array(updates.lazy.filter { leads($0, to: condition, table) }.prefix(4))
        }
        let single = leading(changes.lazy.map { [$0] })
        return single.isEmpty ? leading(pairs) : single
    }

    /// Gives each column that an expression names each value that may matter.
    private func changes(of table: SchemaModel.Table, for expression: String) -> [String] {
        let words = SQLTokens(expression).tokens
        let literals = words.filter(\.isLiteral).flatMap { word in
            Int(word.text).map { ["\($0)", "\($0 + 1)", "\($0 - 1)"] } ?? [word.text]
        }
        let columns = table.columns.filter { column in
            column.generated == nil && words.contains { $0.name.isSameName(as: column.name) }
        }
        let values = literals + ["-1", "0", "1", "987654321", "''", "'a text'", "0.5", "NULL"]
        return columns.flatMap { column in values.map { table.update(column.name, to: $0) } }
    }

    private func leads(_ updates: [String], to condition: String, _ table: SchemaModel.Table)
        -> Bool
    {
        guard let database = results.tried ?? database() else { return false }
        results.tried = database
        defer { database.execute("ROLLBACK") }
        guard database.execute("BEGIN"), updates.allSatisfy({ database.execute($0) }) else {
            return false
        }
        return database.read { db in
            (try? Bool.fetchOne(db, sql: "SELECT \(Self.question(condition, table))")) ?? false
        }
    }

    /// Whether there is a row that satisfies a condition.
    private static func question(_ condition: String, _ table: SchemaModel.Table) -> String {
        let name = GRDBMigrationSQLHelpers.quoted(table.name)
        return "EXISTS (SELECT 1 FROM main.\(name) WHERE \(condition))"
    }
}

extension SchemaModel.Table {
    /// The statement that gives a column a value in all rows.
    func update(_ column: String, to value: String) -> String {
        "UPDATE main.\(GRDBMigrationSQLHelpers.quoted(name)) "
            + "SET \(GRDBMigrationSQLHelpers.quoted(column)) = \(value)"
    }
}

extension SchemaModel.Column {
    /// What a STRICT table accepts in the column, apart from values that it converts without loss.
    fileprivate var storageClasses: String {
        switch type.uppercased() {
        case "REAL": "('real', 'integer', 'null')"
        case "BLOB": "('blob', 'null')"
        case "TEXT": "('text', 'integer', 'real', 'null')"
        default: "('integer', 'null')"
        }
    }
}

extension NewConstraint.KeyColumn {
    fileprivate init(_ column: SchemaModel.IndexedColumn) {
        self.init(
            text: column.text,
            isExpression: column.isExpression,
            collation: column.collation
        )
    }
}

extension [String] {
    fileprivate func areSameNames(as other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.isSameName(as: $1) }
    }
}

extension StatementFailure {
    fileprivate func isViolation(of kind: NewConstraint.Kind) -> Bool {
        switch kind {
        case .unique:
            [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_ROWID]
                .contains(code)
        case .notNull: code == .SQLITE_CONSTRAINT_NOTNULL
        case .check: code == .SQLITE_CONSTRAINT_CHECK
        // SQLITE_CONSTRAINT_DATATYPE, and a rowid that is no integer.
        case .strict: code.rawValue == 3091 || code == .SQLITE_MISMATCH
        case .foreignKey: code == .SQLITE_CONSTRAINT_FOREIGNKEY
        // ALTER TABLE says it in words. <https://www.sqlite.org/lang_altertable.html#altertabaddcol>
        case .computed:
            code.primaryResultCode == .SQLITE_CONSTRAINT || code == .SQLITE_MISMATCH
                || message.hasSuffix("constraint failed") || message.hasPrefix("type mismatch")
        }
    }
}
