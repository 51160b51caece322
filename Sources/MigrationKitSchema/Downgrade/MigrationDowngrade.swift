import GRDB
import MigrationKit
import MigrationKitGRDB

/// What a downgrade takes back, and what goes with it.
public struct MigrationDowngrade: Equatable, Sendable {
    /// Content that a downgrade deletes.
    public struct Loss: Hashable, Encodable, Sendable {
        /// What goes.
        public enum Kind: String, Encodable, Sendable {
            /// The whole table.
            case table

            /// A column.
            case column

            /// Rows of a table that stays.
            case rows
        }

        /// What goes.
        public let kind: Kind

        /// The table.
        public let table: String

        /// The column that goes; `nil` if none does.
        public let column: String?

        /// How many rows go, or how many have a value in the column.
        public let rows: Int
    }

    /// The identifiers of the steps, newest first.
    public let steps: [String]

    /// The tables and columns that go, and those that lose rows.
    public let losses: [Loss]
}

extension MigrationDowngrade.Loss: CustomStringConvertible {
    /// The loss, in one line.
    public var description: String {
        let count = rows == 1 ? "1 row" : "\(rows) rows"
        return switch kind {
        case .table: "table \(table), with \(count)"
        case .column: "column \(table).\(column ?? ""), with a value in \(count)"
        case .rows: "\(count) of table \(table)"
        }
    }
}

extension MigrationDowngrade: Encodable {
    private enum CodingKeys: String, CodingKey {
        case steps = "wouldTakeBack"
        case losses
    }
}

/// How many rows each table has, and what is known of its columns' values.
struct TableContents {
    private struct Column: Equatable {
        let name: String
        /// How many values there are, and their length.
        let values: Int
        let length: Int
    }

    private var tables: [String: (rows: Int, columns: [Column])] = [:]

    init(of db: Database) throws {
        for table in try SchemaObject.own(of: db)
        where table.kind == .table && !table.isVirtualTable {
            let name = table.name
            let columns = try String.fetchAll(
                db,
                sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1",
                arguments: [name]
            )
            let counts = columns.map { column in
                let column = column.quotedName
                return "count(\(column)), total(length(CAST(\(column) AS BLOB)))"
            }
            let sql = (["count(*)"] + counts).joined(separator: ", ")
            let row = try Row.fetchOne(db, sql: "SELECT \(sql) FROM main.\(name.quotedName)")
            guard let row else { continue }
            tables[name] = (
                row[0],
                columns.enumerated().map { index, column in
                    let length: Double = row[2 * index + 2]
                    return Column(name: column, values: row[2 * index + 1], length: Int(length))
                }
            )
        }
    }

    /// What is here and not in the contents after a change.
    func losses(to after: TableContents) -> [MigrationDowngrade.Loss] {
        tables.sorted { $0.key < $1.key }.flatMap { name, old -> [MigrationDowngrade.Loss] in
            guard let new = after.tables.first(where: { $0.key.isSameName(as: name) })?.value else {
                return [.init(kind: .table, table: name, column: nil, rows: old.rows)]
            }
            func has(_ columns: [Column], _ name: String) -> Bool {
                columns.contains { $0.name.isSameName(as: name) }
            }
            let lost = old.columns.enumerated().filter { index, column in
                guard !has(new.columns, column.name) else { return false }
                // A column with another name at the same place, and with as much in it, was renamed.
                guard index < new.columns.count, !has(old.columns, new.columns[index].name) else {
                    return true
                }
                let same = new.columns[index]
                return (same.values, same.length) != (column.values, column.length)
            }
            let losses = lost.map { _, column in
                MigrationDowngrade.Loss(
                    kind: .column,
                    table: name,
                    column: column.name,
                    rows: column.values
                )
            }
            guard new.rows < old.rows else { return losses }
            return losses
                + [.init(kind: .rows, table: name, column: nil, rows: old.rows - new.rows)]
        }
    }
}
