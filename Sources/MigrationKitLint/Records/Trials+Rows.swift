import GRDB
import MigrationKitGRDB
import MigrationKitSchema

// Changes of generated rows after which they are as a rule wants them.

extension Trials {
    /// Whether a table has generated rows.
    func hasRows(in table: SchemaModel.Table) -> Bool {
        tried?.rowCounts(of: [table.name])[table.name] ?? 0 > 0
    }

    /// Changes, each by itself, after which some rows don't satisfy a demand although the old schema
    /// allows them.
    func setups(against demand: RowDemand, _ table: SchemaModel.Table) -> [[String]] {
        if let known = results.setups[demand] { return known }
        // Any row may violate it.
        let candidates = [AnySequence([[]]), candidates(against: demand, table)].joined()
        let found = firstOf(candidates) { database in
            // Rows without a parent from before prove nothing.
            if makesOrphans(in: table.name, database) { return false }
            guard let query = demand.countQuery else { return true }
            return database.read { (try? Int.fetchOne($0, sql: query)) ?? 0 } > 0
        }
        results.setups[demand] = found
        return found
    }

    private func candidates(
        against demand: RowDemand,
        _ table: SchemaModel.Table
    ) -> AnySequence<[String]> {
        let columns = demand.columns.compactMap(table.column).filter { $0.generated == nil }
        // What a former CHECK names is allowed.
        let texts = [demand.countQuery ?? ""] + table.checks.map(\.expression.text)
        let text = texts.joined(separator: " ")
        let changes = changes(of: columns, table, literalsIn: text)
        let others = changes.lazy.map { [$0] }
        let pairs = changes.lazy.flatMap { first in changes.lazy.map { [first, $0] } }
            .prefix(Self.maximumPairs)
        switch demand.requirement {
        case .unique:
            // A foreign key of several columns needs all of the parent's.
            let names = Set(columns.map(\.name))
            let others = Set(
                table.foreignKeys.map { Set($0.columns) }.filter { key in
                    key.count > 1 && !key.isDisjoint(with: names)
                }.flatMap { $0 }
            ).subtracting(names)
            let all = columns + table.columns.filter { others.contains($0.name) }
            let equal =
                equalRows(columns, table) + (others.isEmpty ? [] : equalRows(all, table))
            // The rows must also satisfy the condition of a partial index.
            let both = equal.lazy.flatMap { equal in changes.lazy.map { equal + [$0] } }
            return AnySequence([AnySequence(equal), AnySequence(both)].joined())
        case .parent:
            let parents = demand.parent.map {
                [["DELETE FROM main.\(GRDBMigrationSQLHelpers.quoted($0))"]]
            }
            let variants = columns.flatMap { column in
                Self.variants(of: GRDBMigrationSQLHelpers.quoted(column.name))
                    .map { [table.update(column.name, to: $0)] }
            }
            let missing = [columns.map { table.update($0.name, to: "987654321") }]
            return AnySequence(
                [
                    AnySequence(missing), AnySequence(variants), AnySequence(others),
                    AnySequence(parents ?? []),
                ].joined()
            )
        case .fits, .notNull, .check, .types:
            let together = columns.flatMap { changesWithParents(of: $0, table, literalsIn: text) }
            return AnySequence(
                [AnySequence(others), AnySequence(together), AnySequence(pairs)].joined()
            )
        }
    }

    /// Gives a column of a foreign key values together with the row that it refers to.
    func changesWithParents(
        of column: SchemaModel.Column,
        _ table: SchemaModel.Table,
        literalsIn expression: String
    ) -> [[String]] {
        table.foreignKeys.filter { $0.columns == [column.name] }.flatMap { key in
            guard let parent = schema.table(key.table),
                let referenced = schema.referencedColumns(of: key).first.flatMap(parent.column)
            else { return [[String]]() }
            return zip(
                changes(of: [column], table, literalsIn: expression),
                changes(of: [referenced], parent, literalsIn: expression)
            ).map { [$0, $1] }
        }
    }

    private static let maximumPairs = 2000

    // MARK: - Equal Keys

    /// Ways to give rows values that are equal, or equal but for what another collation or type ignores.
    ///
    /// - Parameter fitting: Whether only values of the columns' own types are tried.
    func equalRows(
        _ columns: [SchemaModel.Column],
        _ table: SchemaModel.Table,
        fitting: Bool = false
    ) -> [[String]] {
        guard !columns.isEmpty else { return [] }
        let name = "main." + GRDBMigrationSQLHelpers.quoted(table.name)
        func same(_ column: SchemaModel.Column) -> String {
            let column = GRDBMigrationSQLHelpers.quoted(column.name)
            return "\(column) = (SELECT \(column) FROM \(name) LIMIT 1)"
        }
        let all = "UPDATE \(name) SET \(columns.map(same).joined(separator: ", "))"
        let key =
            table.isWithoutRowID
            ? table.primaryKey.map(GRDBMigrationSQLHelpers.quoted)
            : [rowidName(besides: table.columns.map(\.name)) ?? ""]
        let list = key.joined(separator: ", ")
        let last = key.map { "\($0) DESC" }.joined(separator: ", ")
        let isFirst = "(\(list)) = (SELECT \(list) FROM \(name) ORDER BY \(list) LIMIT 1)"
        let isLast = "(\(list)) = (SELECT \(list) FROM \(name) ORDER BY \(last) LIMIT 1)"
        let two = "DELETE FROM \(name) WHERE NOT (\(isFirst)) AND NOT (\(isLast))"
        guard list != "" else { return [[all]] }
        // What an expression may join to the same text.
        let parts = zip(columns, [("'ab'", "'a'"), ("'c'", "'bc'")]).map { column, values in
            let column = GRDBMigrationSQLHelpers.quoted(column.name)
            return "\(column) = CASE WHEN \(isFirst) THEN \(values.0) ELSE \(values.1) END"
        }
        return [[all], [two, "UPDATE \(name) SET \(parts.joined(separator: ", "))"]]
            + columns.flatMap { column in
                Self.nearlyEqual.filter { one, other in
                    !fitting || column.takes(one) && column.takes(other)
                }.map { one, other in
                    let quoted = GRDBMigrationSQLHelpers.quoted(column.name)
                    let nearly = "\(quoted) = CASE WHEN \(isFirst) THEN \(one) ELSE \(other) END"
                    let rest = columns.filter { $0.name != column.name }.map(same)
                    return [two, "UPDATE \(name) SET \(([nearly] + rest).joined(separator: ", "))"]
                }
            }
    }

    private static let nearlyEqual = [
        ("'ab'", "'AB'"), ("'ab'", "'ab '"), ("1", "'1'"), ("1", "1.0"), ("'1'", "'1.0'"),
        ("'1'", "' 1'"), ("0.5", "'0.5'"), ("0", "NULL"), ("''", "NULL"), ("0", "''"),
        ("1", "-1"), ("0.25", "0.5"), ("'the same 1'", "'the same 2'"),
        ("'2024-01-01 10:00'", "'2024-01-01 11:00'"),
        ("'a-b'", "'ab'"), ("'a b'", "'ab'"), ("'a'", "'a/'"),
    ]

    private static func variants(of column: String) -> [String] {
        [
            "upper(\(column))", "lower(\(column))", "\(column) || ' '", "CAST(\(column) AS TEXT)",
            "CAST(\(column) AS BLOB)", "\(column) || '.0'",
        ]
    }

    // MARK: - Conditions

    /// Updates, or pairs of them, that make rows satisfy a condition.
    func updates(of table: SchemaModel.Table, toSatisfy condition: String) -> [[String]] {
        let question = table.hasRows(where: condition)
        guard start.compile(question) == nil else { return [] }
        let named = SQLTokens(condition).allNames
        let columns = table.columns.filter { column in
            column.generated == nil && named.contains(column.name.foldedName)
        }
        let changes = changes(of: columns, table, literalsIn: condition)
        let pairs = changes.lazy.flatMap { first in changes.lazy.map { [first, $0] } }
        func leading(_ updates: some Sequence<[String]>) -> [[String]] {
            firstOf(updates) { database in
                database.read { (try? Bool.fetchOne($0, sql: question)) ?? false }
            }
        }
        let single = leading(changes.lazy.map { [$0] })
        return single.isEmpty ? leading(pairs) : single
    }

    /// Whether a condition holds for all rows that have values, whatever they are, as far as the values
    /// show that may matter to it.
    func isAlwaysTrue(_ condition: String, in table: SchemaModel.Table) -> Bool {
        func rows(where condition: String) -> Bool? {
            tried?.read { try? Bool.fetchOne($0, sql: table.hasRows(where: condition)) }
        }
        // What a query gives depends on other rows.
        guard !SQLTokens(condition).tokens.contains(where: { $0.keyword == "SELECT" }) else {
            return false
        }
        return rows(where: condition) == true && rows(where: "NOT (\(condition))") == false
            && updates(of: table, toSatisfy: "NOT (\(condition))").isEmpty
    }

    /// Gives each column each value that may matter to an expression.
    ///
    /// - Parameter fitting: Whether only values of the column's own type are given.
    func changes(
        of columns: [SchemaModel.Column],
        _ table: SchemaModel.Table,
        literalsIn expression: String,
        fitting: Bool = false
    ) -> [String] {
        let words = SQLTokens(expression).tokens
        let measures = words.contains { $0.name == "length" }
        let literals = words.filter(\.isLiteral).flatMap { word -> [String] in
            if word.text.hasPrefix("'$.") { return ["json_set('{}', \(word.text), 1)", word.text] }
            guard let number = Int(word.text) else { return [word.text] }
            let numbers = [number, number + 1, number - 1]
            let lengths = measures ? numbers.filter { (0...10_000).contains($0) } : []
            return numbers.map { "\($0)" } + lengths.map { "printf('%.*c', \($0), 'x')" }
        }
        let usual = [
            "-1", "0", "1", "987654321", "\(Int64.max)", "''", "'a text'", "0.5", "x'00'", "NULL",
        ]
        return columns.flatMap { column in
            (literals + usual).filter { !fitting || column.takes($0) }
                .map { table.update(column.name, to: $0) }
        }
    }

    // MARK: - Trying Them

    /// Where updates are tried, and undone; `nil` if there can be no rows.
    var tried: ScratchDatabase? {
        if results.tried == nil {
            results.tried = database()
            // Other tables may have no rows that refer to these.
            results.tried?.execute("PRAGMA foreign_keys = OFF")
            results.orphans = results.tried?.orphanCounts() ?? [:]
        }
        return results.tried
    }

    /// Whether more rows of a table lack their parent than of the generated ones.
    func makesOrphans(in table: String, _ database: ScratchDatabase) -> Bool {
        database.orphanCount(in: table) > results.orphans[table, default: 0]
    }

    /// A few of the changes after which a condition holds.
    private func firstOf(
        _ changes: some Sequence<[String]>,
        where holds: (ScratchDatabase) -> Bool
    ) -> [[String]] {
        var found: [[String]] = []
        for change in changes where trying(change, holds) == true {
            found.append(change)
            if found.count == 4 { break }
        }
        return found
    }

    /// - Returns: What the body returns; `nil` if SQLite refuses an update: there can be no such rows.
    func trying<Value>(_ updates: [String], _ body: (ScratchDatabase) -> Value?) -> Value? {
        guard let database = tried, database.execute("BEGIN") else { return nil }
        defer { database.execute("ROLLBACK") }
        return updates.allSatisfy { database.execute($0) } ? body(database) : nil
    }
}

extension SchemaModel.Table {
    /// The query whether rows satisfy a condition.
    fileprivate func hasRows(where condition: String) -> String {
        let name = GRDBMigrationSQLHelpers.quoted(name)
        return "SELECT EXISTS (SELECT 1 FROM main.\(name) WHERE \(condition))"
    }

    /// The statement that gives a column a value in all rows, or in those that may have it.
    func update(_ column: String, to value: String) -> String {
        "UPDATE OR IGNORE main.\(GRDBMigrationSQLHelpers.quoted(name)) "
            + "SET \(GRDBMigrationSQLHelpers.quoted(column)) = \(value)"
    }
}

extension SchemaModel.Column {
    /// Whether programs give it such a value, as its type says, though SQLite takes others, too.
    fileprivate func takes(_ value: String) -> Bool {
        guard value != "NULL" else { return true }
        let isText = value.hasPrefix("'") || value.hasPrefix("printf") || value.hasPrefix("json")
        switch affinity {
        case .integer: return Int(value).map { abs($0) < 1 << 53 } ?? false
        case .real, .numeric: return Double(value).map { abs($0) < 1e15 } ?? false
        case .text: return isText
        case .blob: return true
        }
    }
}
