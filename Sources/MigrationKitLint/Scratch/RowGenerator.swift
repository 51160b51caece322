import GRDB
import MigrationKit
import MigrationKitGRDB

/// Puts a few rows into empty tables, so that a migration that loses rows is seen to lose them.
///
/// A table whose constraints it can't satisfy stays empty.
struct RowGenerator {
    private let database: ScratchDatabase
    private let schema: SchemaModel
    static let rowCount = 3
    private static let attempts = 200

    /// - Parameters:
    ///   - database: The database, outside of a transaction.
    ///   - schema: Its schema.
    init(for database: ScratchDatabase, schema: SchemaModel) {
        self.database = database
        self.schema = schema
    }

    /// Fills those of the tables that are empty, parents first.
    ///
    /// - Parameter tables: Their names in lower case.
    func fill(_ tables: Set<String>) {
        database.execute("PRAGMA foreign_keys = OFF; BEGIN")
        for table in parentsFirst(tables) where !table.isVirtual { fill(table) }
        database.execute("COMMIT")
    }

    private func parentsFirst(_ names: Set<String>) -> [SchemaModel.Table] {
        var ordered: [SchemaModel.Table] = []
        var seen: Set<String> = []
        func visit(_ name: String) {
            guard names.contains(name), let table = schema.table(name), seen.insert(name).inserted
            else { return }
            for key in table.foreignKeys { visit(key.table.lowercased()) }
            ordered.append(table)
        }
        names.sorted().forEach(visit)
        return ordered
    }

    private func fill(_ table: SchemaModel.Table) {
        let name = GRDBMigrationSQLHelpers.quoted(table.name)
        guard database.rowCounts(of: [table.name])[table.name] == 0 else { return }
        let columns = table.columns.filter { $0.generated == nil && !$0.isHidden }
        let names = columns.map { GRDBMigrationSQLHelpers.quoted($0.name) }.joined(separator: ", ")
        for row in 0..<Self.rowCount {
            var attempt = 0
            for values in Candidates(of: columns, in: table, schema, row: row) {
                attempt += 1
                guard attempt <= Self.attempts else { return }
                let list = values.joined(separator: ", ")
                if database.execute("INSERT INTO main.\(name) (\(names)) VALUES (\(list))") {
                    break
                }
            }
        }
    }
}

/// Rows to try, as SQL expressions: first values of the declared types, then values that the CHECK
/// constraints name, one column after the other and then all at once.
private struct Candidates: Sequence {
    private let choices: [[String]]

    init(
        of columns: [SchemaModel.Column],
        in table: SchemaModel.Table,
        _ schema: SchemaModel,
        row: Int
    ) {
        let literals = table.checks.flatMap(Self.literals)
        choices = columns.enumerated().map { place, column in
            let references = Self.references(of: column, in: table, schema, row: row)
            return references
                + Self.choices(for: column, at: place, row: row, literals: literals)
        }
    }

    func makeIterator() -> AnyIterator<[String]> {
        let longest = choices.map(\.count).max() ?? 0
        let first = choices.compactMap(\.first)
        let single = choices.indices.lazy.flatMap { place in
            choices[place].dropFirst().lazy.map { choice in
                var row = first
                row[place] = choice
                return row
            }
        }
        let together = (1..<Swift.max(longest, 1)).lazy.map { number in
            choices.map { $0[number % $0.count] }
        }
        return AnyIterator(([first] + Array(together) + Array(single)).makeIterator())
    }

    private static func choices(
        for column: SchemaModel.Column,
        at place: Int,
        row: Int,
        literals: [String]
    ) -> [String] {
        var choices: [String] = []
        let value = place * 100 + row + 1
        switch column.affinity {
        case .integer: choices += ["\(value)", "\(row % 2)"]
        case .real: choices += ["\(value).5", "\(row).5", "0.5"]
        case .text: choices += ["'c\(place)r\(row)'", "'2024-01-0\(row + 1)'", "'\(value)'"]
        case .blob: choices += ["x'0\(place % 10)0\(row)'", "'c\(place)r\(row)'", "\(value)"]
        case .numeric: choices += ["\(value)", "\(row % 2)", "'2024-01-0\(row + 1)'"]
        }
        choices += literals
        choices += ["'{\"k\":\(row)}'", "'[\(row)]'"]
        if !column.isNotNull { choices.append("NULL") }
        return choices
    }

    /// The keys of existing rows of the parent.
    private static func references(
        of column: SchemaModel.Column,
        in table: SchemaModel.Table,
        _ schema: SchemaModel,
        row: Int
    ) -> [String] {
        for key in table.foreignKeys {
            guard let number = key.columns.firstIndex(where: { $0.isSameName(as: column.name) })
            else { continue }
            guard !key.table.isSameName(as: table.name) else { return ["NULL"] }
            let referenced = schema.referencedColumns(of: key)
            guard schema.table(key.table) != nil, number < referenced.count else { return [] }
            let parent = GRDBMigrationSQLHelpers.quoted(key.table)
            let name = GRDBMigrationSQLHelpers.quoted(referenced[number])
            return ["(SELECT \(name) FROM main.\(parent) LIMIT 1 OFFSET \(row))"]
                + ["(SELECT \(name) FROM main.\(parent) LIMIT 1)"]
        }
        return []
    }

    /// The strings of an expression, and its numbers with those beside them.
    private static func literals(_ expression: String) -> [String] {
        let bytes = Array(expression.utf8)
        return SQLTokenizer(bytes).flatMap { token -> [String] in
            let text = String(decoding: bytes[token.range], as: UTF8.self)
            if text.hasPrefix("'") { return [text] }
            guard token.kind == .word, let number = Int(text) else { return [] }
            return ["\(number)", "\(number + 1)", "\(number - 1)"]
        }
    }
}
