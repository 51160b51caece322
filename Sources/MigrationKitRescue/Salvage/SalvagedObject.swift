import MigrationKitGRDB

/// A row of `sqlite_schema`, read from a page that may be the only one of it. <https://www.sqlite.org/schematab.html>
struct SalvagedObject: Equatable {
    enum Kind: String {
        case table, index, view, trigger
    }

    let kind: Kind
    let name: String
    let table: String
    /// 0 if it has no pages of its own.
    let root: Int
    /// `nil` for an index that belongs to a constraint.
    let sql: String?

    /// - Returns: `nil` if the row can't be in that table.
    init?(_ row: SalvagedRow, encoding: TextEncoding) {
        func text(_ index: Int) -> String? {
            guard case .text(let range) = row.values[index] else { return nil }
            return encoding.string(row.bytes(range))
        }
        guard row.values.count == 5, let kind = text(0).flatMap(Kind.init), let name = text(1),
            let table = text(2)
        else { return nil }
        self.kind = kind
        self.name = name
        self.table = table
        switch row.values[3] {
        case .integer(let page) where (0...Int64(UInt32.max)).contains(page): root = Int(page)
        case .null: root = 0
        default: return nil
        }
        sql = text(4)
        guard row.values[4] == .null || sql != nil else { return nil }
    }

    init(kind: Kind, name: String, table: String, root: Int, sql: String?) {
        self.kind = kind
        self.name = name
        self.table = table
        self.root = root
        self.sql = sql
    }

    /// The schema table itself.
    static let schema = SalvagedObject(
        kind: .table,
        name: "sqlite_schema",
        table: "sqlite_schema",
        root: 1,
        sql: nil
    )

    /// The module's name, if this is a virtual table.
    var module: String? {
        guard kind == .table, root == 0, let sql else { return nil }
        return VirtualTableText(sql)?.module
    }

    /// Whether the table's rows are in an index b-tree. <https://www.sqlite.org/withoutrowid.html>
    var isWithoutRowID: Bool {
        guard kind == .table, let sql else { return false }
        return sql.contains(/(?i)\)[^)]*\bWITHOUT\s+ROWID\b[^)]*$/)
    }
}

/// A database's text encoding.
enum TextEncoding: Int, CaseIterable {
    case utf8 = 1
    case utf16LittleEndian = 2
    case utf16BigEndian = 3

    /// Its name in `PRAGMA encoding`.
    var name: String {
        switch self {
        case .utf8: "UTF-8"
        case .utf16LittleEndian: "UTF-16le"
        case .utf16BigEndian: "UTF-16be"
        }
    }

    func string(_ bytes: ArraySlice<UInt8>) -> String? {
        guard self != .utf8 else { return String(validating: bytes, as: UTF8.self) }
        guard bytes.count % 2 == 0 else { return nil }
        let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index in
            let (one, two) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return self == .utf16LittleEndian ? two << 8 | one : one << 8 | two
        }
        return String(validating: units, as: UTF16.self)
    }
}
