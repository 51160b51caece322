import GRDB
import MigrationKit
import MigrationKitSchema

/// The tables and columns that two schemas both have, and whose rows must be the same.
struct ProofTables {
    enum Side {
        /// The present schema.
        case before
        /// The wanted schema.
        case after
    }

    /// The content of the tables, by their new names; those that can't be read are left out.
    typealias Content = [String: TableContent]

    /// What is compared of a table's rows. The order of rows doesn't count.
    struct TableContent: Equatable {
        var count = 0
        /// The sum of the hashes of a column's values, each together with the row's id.
        var columns: [String: Int] = [:]
        /// The sum of the hashes of the rows.
        var rows = 0
    }

    private struct Column {
        let before: String
        let after: String
        /// Whether a conversion to the new type keeps the value.
        let isConverted: Bool
    }

    private struct Table {
        let before: String
        let after: String
        let columns: [Column]
        /// Whether a row keeps its id.
        let keepsRowIDs: Bool
    }

    private let tables: [Table]

    init(_ migration: SchemaMigration, _ difference: SchemaDifference, _ backfilled: [String]) {
        let (from, to) = (difference.from.model, difference.to.model)
        let lossy = migration.hazards.filter(\.kind.losesValues)
        func losesValues(_ table: String, _ column: String? = nil) -> Bool {
            lossy.contains { hazard in
                guard hazard.table.isSameName(as: table) else { return false }
                guard let column else { return hazard.kind == .dropTable }
                return hazard.column?.isSameName(as: column) ?? true
            }
        }
        tables = from.tables.values.sorted { $0.name < $1.name }.compactMap { table in
            let renames = difference.renames.filter { $0.table.isSameName(as: table.name) }
            let name = renames.first { $0.column == nil }?.newName ?? table.name
            guard let new = to.table(name), !losesValues(table.name),
                !Self.readsOtherContent(table, becoming: new)
            else { return nil }
            func newName(_ column: String) -> String {
                renames.first { $0.column?.isSameName(as: column) ?? false }?.newName ?? column
            }
            let columns = table.columns.compactMap { column -> Column? in
                guard !column.isHidden, column.generated == nil,
                    let other = new.column(newName(column.name)), other.generated == nil,
                    !losesValues(table.name, column.name),
                    !backfilled.contains(where: { $0.isSameName(as: "\(new.name).\(other.name)") })
                else { return nil }
                return Column(
                    before: column.name,
                    after: other.name,
                    isConverted: column.affinity != other.affinity
                )
            }
            let keys = (table.rowIDColumn.map { newName($0.name) }, new.rowIDColumn?.name)
            let keepsRowIDs =
                !table.isVirtual && !new.isVirtual && !table.isWithoutRowID && !new.isWithoutRowID
                && (keys.0 ?? "").isSameName(as: keys.1 ?? "")
            return Table(
                before: table.name,
                after: new.name,
                columns: columns,
                keepsRowIDs: keepsRowIDs
            )
        }
    }

    /// Whether the rows of a full text search were never its own, and come from elsewhere now.
    /// <https://www.sqlite.org/fts5.html#external_content_tables>
    private static func readsOtherContent(
        _ table: SchemaModel.Table,
        becoming new: SchemaModel.Table
    ) -> Bool {
        table.module?.hasPrefix("fts") == true && table.sql.lowercased().contains("content")
            && !table.hasSameDefinition(as: new)
    }

    /// - Throws: A `CancellationError`.
    func content(
        _ side: Side,
        in db: Database,
        _ cancellation: Cancellation?
    ) throws -> Content {
        var contents: Content = [:]
        for table in tables {
            do {
                contents[table.after] = try content(of: table, side, in: db, cancellation)
            } catch is DatabaseError {
                // A virtual table may depend on something that isn't there.
            }
        }
        return contents
    }

    private func content(
        of table: Table,
        _ side: Side,
        in db: Database,
        _ cancellation: Cancellation?
    ) throws -> TableContent {
        let name = side == .before ? table.before : table.after
        let names = table.columns.map { side == .before ? $0.before : $0.after }
        let rowID =
            table.keepsRowIDs ? rowidName(besides: try db.columns(in: name).map(\.name)) : nil
        let list = [rowID ?? "NULL"] + names.map(GRDBMigrationSQLHelpers.quoted)
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT \(list.joined(separator: ", ")) "
                + "FROM main.\(GRDBMigrationSQLHelpers.quoted(name))"
        )
        var content = TableContent()
        while let row = try rows.next() {
            content.count += 1
            if content.count.isMultiple(of: 256) { try cancellation?.check() }
            let id: Int64? = row[0]
            var whole = Hasher()
            whole.combine(id)
            for (place, column) in table.columns.enumerated() {
                var hasher = Hasher()
                hasher.combine(id)
                let value = row.databaseValue(atIndex: place + 1, isConverted: column.isConverted)
                hasher.combine(value)
                whole.combine(value)
                content.columns[column.after, default: 0] &+= hasher.finalize()
            }
            content.rows &+= whole.finalize()
        }
        return content
    }

    /// What is lost, as the end of a sentence.
    func finding(from before: Content, to after: Content) -> String? {
        for table in tables {
            guard let old = before[table.after] else { continue }
            guard let new = after[table.after] else { return "\(table.after) can't be read" }
            guard old.count == new.count else {
                return "\(table.after) has \(new.count) rows instead of \(old.count)"
            }
            for column in table.columns where old.columns[column.after] != new.columns[column.after]
            {
                return "values of \(table.after).\(column.after) have changed"
            }
            guard old.rows == new.rows else { return "values of \(table.after) are in other rows" }
        }
        return nil
    }

    func counts(_ before: Content, _ after: Content) -> [SchemaMigrationProof.RowCount] {
        tables.compactMap { table in
            guard let old = before[table.after], let new = after[table.after] else { return nil }
            return .init(table: table.after, before: old.count, after: new.count)
        }
    }
}

extension Row {
    /// A value; one that is converted to another type is the same if it reads the same.
    fileprivate func databaseValue(atIndex index: Int, isConverted: Bool) -> DatabaseValue {
        let value: DatabaseValue = self[index]
        guard isConverted else { return value }
        switch value.storage {
        case .int64(let number): return Double(number).databaseValue
        case .string(let text): return Double(text)?.databaseValue ?? value
        case .null, .double, .blob: return value
        }
    }
}
