import Foundation
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitSchema

/// Puts a few rows into empty tables, so that a migration that loses rows is seen to lose them.
///
/// A table whose constraints it can't satisfy stays empty. How much is tried is counted in attempts, so that
/// the rows are the same on any machine, however busy it is.
struct RowFill {
    private let database: ScratchDatabase
    private let schema: SchemaModel
    private static let rowCount = 3
    /// For each row.
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
    /// - Throws: ``RowsIncomplete``.
    func fill(_ tables: Set<String>) throws {
        database.execute("PRAGMA foreign_keys = OFF; BEGIN")
        defer { database.execute("COMMIT") }
        let end = ThreadTime.now + UInt64(StepBudget().hardStop / .nanoseconds(1))
        for table in parentsFirst(tables) where !table.isVirtual {
            try fill(table, until: end)
        }
        // No trigger may have done it, if the app does.
        for index in schema.tables.values {
            guard let content = index.contentTable?.foldedName,
                tables.contains(content) || schema.views[content] != nil
            else { continue }
            database.execute(index.rebuildCommand)
        }
    }

    private func parentsFirst(_ names: Set<String>) -> [SchemaModel.Table] {
        var ordered: [SchemaModel.Table] = []
        var seen: Set<String> = []
        func visit(_ name: String) {
            guard names.contains(name), let table = schema.table(name), seen.insert(name).inserted
            else { return }
            for key in table.foreignKeys { visit(key.table.foldedName) }
            ordered.append(table)
        }
        names.sorted().forEach(visit)
        return ordered
    }

    private func fill(_ table: SchemaModel.Table, until end: UInt64) throws {
        let name = "main." + GRDBMigrationSQLHelpers.quoted(table.name)
        let columns = table.columns.filter { $0.generated == nil && !$0.isHidden }
        let names = columns.map { GRDBMigrationSQLHelpers.quoted($0.name) }.joined(separator: ", ")
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        try database.read { db in
            // Compiled only once: that takes long if there are triggers.
            guard (try? Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(name))")) == false,
                let statement = try? db.makeStatement(
                    sql: "INSERT INTO \(name) (\(names)) VALUES (\(marks))"
                )
            else { return }
            let keys = columns.map { references(of: $0, in: table, db) }
            let checks = table.checks.map(\.expression.meaning)
            for row in 0..<Self.rowCount {
                var attempt = 0
                let candidates = Candidates(
                    choices: columns.indices.map { place in
                        keys[place].map { $0.rotated(by: row) }
                            ?? Self.choices(for: columns[place], at: place, row, checks)
                    }
                )
                for values in candidates {
                    attempt += 1
                    guard attempt <= Self.attempts else { return }
                    guard ThreadTime.now < end else { throw RowsIncomplete() }
                    if (try? statement.execute(arguments: StatementArguments(values))) != nil {
                        break
                    }
                    // It reports the failure once more, which GRDB takes for one of the next execution.
                    sqlite3_reset(statement.sqliteStatement)
                }
            }
        }
    }

    // MARK: - Values

    /// The keys of the parent's rows, or NULL if it has none; `nil` if the column is in no foreign key
    /// of a table that is there.
    private func references(
        of column: SchemaModel.Column,
        in table: SchemaModel.Table,
        _ db: Database
    ) -> [DatabaseValue]? {
        for key in table.foreignKeys {
            guard let number = key.columns.firstIndex(where: { $0.isSameName(as: column.name) })
            else { continue }
            guard !key.table.isSameName(as: table.name) else { return [.null] }
            let referenced = schema.referencedColumns(of: key)
            guard schema.table(key.table) != nil, number < referenced.count else { return nil }
            let parent = GRDBMigrationSQLHelpers.quoted(key.table)
            let name = GRDBMigrationSQLHelpers.quoted(referenced[number])
            let keys = try? DatabaseValue.fetchAll(
                db,
                sql: "SELECT \(name) FROM main.\(parent) LIMIT \(Self.rowCount)"
            )
            // A row without its parent would be a violation that no step has made.
            return keys.flatMap { $0.isEmpty ? [.null] : $0 }
        }
        return nil
    }

    private static func choices(
        for column: SchemaModel.Column,
        at place: Int,
        _ row: Int,
        _ checks: [String]
    ) -> [DatabaseValue] {
        let number = place * 100 + row + 1
        let date = "2024-01-0\(row + 1)"
        let bytes = Data([UInt8(truncatingIfNeeded: place), UInt8(row)])
        let typical: [any DatabaseValueConvertible] =
            switch column.affinity {
            case .integer: [number, row % 2, row]
            case .real: [Double(number) + 0.5, Double(row) + 0.5, 0.5]
            case .text: ["c\(place)r\(row)", date, "\(number)"]
            case .blob: [bytes, "c\(place)r\(row)", number]
            case .numeric: [number, row % 2, date]
            }
        // They are at the same place in all columns, which are tried together.
        let literals = checks.filter { check in
            SQLTokens(check).tokens.contains { $0.name.isSameName(as: column.name) }
        }.flatMap { Self.literals($0, column.affinity, row) }
        let isNumber = [.integer, .real].contains(column.affinity)
        let json: [any DatabaseValueConvertible] =
            isNumber ? [] : ["{\"k\":\(row)}", "[\(row)]"]
        return typical.map(\.databaseValue) + literals + json.map(\.databaseValue)
            + (column.isNotNull ? [] : [.null])
    }

    /// The strings of an expression, its numbers with those beside them, and values of these lengths.
    private static func literals(
        _ expression: String,
        _ affinity: ColumnAffinity,
        _ row: Int
    ) -> [DatabaseValue] {
        let tokens = SQLTokens(expression).tokens
        let measures = tokens.contains { ["length", "octet_length"].contains($0.name) }
        return tokens.flatMap { token -> [DatabaseValue] in
            if token.kind == .string { return [token.unquoted.databaseValue] }
            guard token.kind == .number, let number = Int(token.text) else { return [] }
            let numbers = [number, number + 1, number - 1]
            let lengths = measures ? numbers.filter { (1...10_000).contains($0) } : []
            return lengths.map { Self.value(ofLength: $0, affinity, row) }
                + numbers.map(\.databaseValue)
        }
    }

    private static func value(
        ofLength length: Int,
        _ affinity: ColumnAffinity,
        _ row: Int
    ) -> DatabaseValue {
        let last = UInt8(ascii: "a") + UInt8(truncatingIfNeeded: row)
        let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: length - 1) + [last]
        return affinity == .blob
            ? Data(bytes).databaseValue : String(decoding: bytes, as: UTF8.self).databaseValue
    }
}

/// The generation of rows takes too long, so that nothing is known of them.
package struct RowsIncomplete: Error {}

/// Rows to try: first values of the declared types, then those that the columns' CHECK constraints name, in
/// all columns at once and in one column after the other.
private struct Candidates: Sequence {
    let choices: [[DatabaseValue]]

    func makeIterator() -> AnyIterator<[DatabaseValue]> {
        let longest = choices.map(\.count).max() ?? 0
        let first = choices.compactMap(\.first)
        func together(_ choices: [[DatabaseValue]]) -> AnyIterator<[DatabaseValue]> {
            let rows = (1..<Swift.max(longest, 1)).lazy.map { number in
                choices.map { $0[number % $0.count] }
            }
            return AnyIterator(rows.makeIterator())
        }
        // A row of NULLs shows little of what becomes of values.
        let values = choices.map { choices in
            let values = choices.filter { !$0.isNull }
            return values.isEmpty ? choices : values
        }
        let single = choices.indices.lazy.flatMap { place in
            choices[place].dropFirst().lazy.map { choice in
                var row = first
                row[place] = choice
                return row
            }
        }
        var stages = [
            AnyIterator([first].makeIterator()), together(values),
            values == choices ? AnyIterator { nil } : together(choices),
            AnyIterator(single.makeIterator()),
        ][...]
        return AnyIterator {
            while let stage = stages.first {
                if let row = stage.next() { return row }
                stages.removeFirst()
            }
            return nil
        }
    }
}

extension [DatabaseValue] {
    /// The same values, beginning with another one.
    fileprivate func rotated(by count: Int) -> [DatabaseValue] {
        indices.map { self[($0 + count) % self.count] }
    }
}

extension SchemaModel.Table {
    /// The command that fills a full-text table from its content.
    /// <https://www.sqlite.org/fts5.html#the_rebuild_command>
    var rebuildCommand: String {
        let name = GRDBMigrationSQLHelpers.quoted(name)
        return "INSERT INTO main.\(name) (\(name)) VALUES ('rebuild')"
    }
}
