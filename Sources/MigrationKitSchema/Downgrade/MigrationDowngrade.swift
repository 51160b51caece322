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

            /// Values of a column that stays.
            case values

            /// Rows of a table that stays.
            case rows
        }

        /// What goes.
        public let kind: Kind

        /// The table.
        public let table: String

        /// The column that goes; `nil` if none does.
        public let column: String?

        /// How many rows go, or have a value in the column; of the values that stay, how many there are
        /// less.
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
        case .values: "values of column \(table).\(column ?? "")"
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

/// How many rows each table has, and how many values of which length its columns.
struct TableContents: Sendable {
    private struct Column: Equatable {
        let name: String
        let values: Int
        let length: Double
    }

    private struct Table {
        let name: String
        let rows: Int
        let columns: [Column]

        func column(_ name: String) -> Column? { columns.first { $0.name.isSameName(as: name) } }
    }

    private var tables: [Table] = []

    init(of db: Database) throws {
        for table in try SchemaObject.own(of: db) where table.kind == .table {
            let name = table.name.quotedName
            // A module may need what only the app has.
            guard !table.isVirtualTable else {
                let rows = try? Int.fetchOne(db, sql: "SELECT count(*) FROM main.\(name)")
                tables.append(Table(name: table.name, rows: rows ?? 0, columns: []))
                continue
            }
            let columns = try String.fetchAll(
                db,
                sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1",
                arguments: [table.name]
            )
            let counts = columns.map { column in
                let column = column.quotedName
                return "count(\(column)), total(length(CAST(\(column) AS BLOB)))"
            }
            let sql = (["count(*)"] + counts).joined(separator: ", ")
            guard let row = try Row.fetchOne(db, sql: "SELECT \(sql) FROM main.\(name)") else {
                continue
            }
            let read = columns.enumerated().map { index, column in
                Column(name: column, values: row[2 * index + 1], length: row[2 * index + 2])
            }
            tables.append(Table(name: table.name, rows: row[0], columns: read))
        }
    }

    private func table(_ name: String) -> Table? { tables.first { $0.name.isSameName(as: name) } }

    /// What is here and not in the contents after a change, as far as numbers and lengths of values
    /// show it.
    func losses(to after: TableContents) -> [MigrationDowngrade.Loss] {
        tables.sorted { $0.name < $1.name }.flatMap { old -> [MigrationDowngrade.Loss] in
            let name = old.name
            guard let new = after.table(name) else {
                // One with another name and the same content was renamed.
                let isRenamed = after.tables.contains { new in
                    table(new.name) == nil && new.rows == old.rows && !old.columns.isEmpty
                        && new.columns == old.columns
                }
                return isRenamed
                    ? [] : [.init(kind: .table, table: name, column: nil, rows: old.rows)]
            }
            let losses = old.columns.enumerated().compactMap {
                index,
                column -> MigrationDowngrade.Loss? in
                if let same = new.column(column.name) {
                    // Those of rows that go are counted with the rows.
                    guard new.rows >= old.rows, same != column else { return nil }
                    return .init(
                        kind: .values,
                        table: name,
                        column: column.name,
                        rows: max(0, column.values - same.values)
                    )
                }
                // A column with another name at the same place, and with as much in it, was renamed.
                if index < new.columns.count, old.column(new.columns[index].name) == nil,
                    new.columns[index].values == column.values,
                    new.columns[index].length == column.length
                {
                    return nil
                }
                return .init(kind: .column, table: name, column: column.name, rows: column.values)
            }
            guard new.rows < old.rows else { return losses }
            return losses
                + [.init(kind: .rows, table: name, column: nil, rows: old.rows - new.rows)]
        }
    }
}
