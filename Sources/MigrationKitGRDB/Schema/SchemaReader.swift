import GRDB
import GRDBSQLite
import MigrationKit

/// Reads schemas, and reads each object only once: a migration changes few objects, but its schema
/// is read after each of its statements.
package final class SchemaReader {
    private struct Key: Hashable {
        let name: String
        let sql: String
        /// The statement of the index's table: its columns' collations are those of the index.
        var table = ""
    }

    private var tables: [Key: SchemaModel.Table] = [:]
    private var indexes: [Key: SchemaModel.Index] = [:]
    private var definitions: [String: String] = [:]

    package init() {}

    /// Reads the schema of an open database.
    ///
    /// - Throws: A `DatabaseError` if the schema can't be read.
    package func schema(of db: Database) throws -> SchemaModel {
        var schema = SchemaModel()
        var objects = try Self.objects(of: db)
        if objects.contains(where: { $0.type == "table" && $0.rootPage == 0 }) {
            let shadows = try String.fetchSet(
                db.cachedStatement(
                    sql: """
                        SELECT name FROM pragma_table_list
                        WHERE schema = 'main' AND type = 'shadow'
                        """
                )
            )
            objects.removeAll { shadows.contains($0.table) }
        }
        for object in objects where object.type == "table" {
            var table = try table(object, in: db)
            table.rootPage = object.rootPage
            schema.tables[object.name.lowercased()] = table
        }
        for object in objects {
            let key = object.name.lowercased()
            switch object.type {
            case "index":
                let table = schema.table(object.table)?.sql ?? ""
                schema.indexes[key] = try index(object, tableSQL: table, in: db)
            case "trigger":
                schema.triggers[key] = SchemaModel.Trigger(
                    name: object.name,
                    table: object.table,
                    definition: definition(object.sql),
                    sql: object.sql
                )
            case "view":
                schema.views[key] = SchemaModel.View(
                    name: object.name,
                    definition: definition(object.sql),
                    sql: object.sql
                )
            default:
                continue
            }
        }
        return schema
    }

    private struct Object {
        let type: String
        let name: String
        let table: String
        let rootPage: Int
        let sql: String
    }

    private static func objects(of db: Database) throws -> [Object] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT type, name, tbl_name, rootpage, sql FROM main.sqlite_master
                WHERE sql IS NOT NULL
                AND tbl_name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                AND tbl_name NOT LIKE 'grdb\\_%' ESCAPE '\\'
                """
        )
        let rows = try Row.fetchCursor(statement)
        var objects: [Object] = []
        while let row = try rows.next() {
            objects.append(
                Object(type: row[0], name: row[1], table: row[2], rootPage: row[3], sql: row[4])
            )
        }
        return objects
    }

    private func definition(_ sql: String) -> String {
        if let known = definitions[sql] { return known }
        let text = CanonicalSQL.text(of: sql)
        definitions[sql] = text
        return text
    }

    // MARK: - Tables

    private func table(_ object: Object, in db: Database) throws -> SchemaModel.Table {
        let key = Key(name: object.name, sql: object.sql)
        if let known = tables[key] { return known }
        let table = try Self.readTable(object, in: db)
        tables[key] = table
        return table
    }

    /// The columns of the pragmas: <https://www.sqlite.org/pragma.html>
    private static func readTable(_ object: Object, in db: Database) throws -> SchemaModel.Table {
        var table = SchemaModel.Table(name: object.name, sql: object.sql)
        if object.rootPage == 0 { table.module = SchemaText(object.sql).module ?? "" }
        let kind = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = ?
                    """
            ),
            arguments: [object.name]
        )
        table.isWithoutRowID = kind?["wr"] ?? false
        table.isStrict = kind?["strict"] ?? false
        let lines = table.isVirtual ? [] : CanonicalSQL.lines(object.sql)
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name, type, "notnull", dflt_value, pk, hidden
                    FROM pragma_table_xinfo(?, 'main') ORDER BY cid
                    """
            ),
            arguments: [object.name]
        )
        for row in rows {
            let name: String = row[0]
            let hidden: Int = row[5]
            let details = ColumnDetails(of: name, in: object.name, db)
            if details.isAutoincrement { table.isAutoincrement = true }
            table.columns.append(
                SchemaModel.Column(
                    name: name,
                    type: row[1],
                    isNotNull: row[2],
                    collation: details.collation,
                    defaultValue: (row[3] as String?).map(CanonicalSQL.text),
                    generated: hidden == 2 || hidden == 3
                        ? SchemaModel.Generated(
                            expression: Self.generation(of: name, in: lines),
                            isStored: hidden == 3
                        ) : nil,
                    isHidden: hidden == 1,
                    affinity: ColumnAffinity(of: row[1], isStrict: table.isStrict)
                )
            )
        }
        table.primaryKey = rows.map { (name: $0[0] as String, place: $0[4] as Int) }
            .filter { $0.place > 0 }.sorted { $0.place < $1.place }.map(\.name)
        guard !table.isVirtual else { return table }
        table.checks = SchemaText(object.sql).checkConstraints.map(CanonicalSQL.text)
        table.foreignKeys = try foreignKeys(of: object.name, in: db)
        let uniques = try String.fetchAll(
            db.cachedStatement(
                sql: "SELECT name FROM pragma_index_list(?, 'main') WHERE origin = 'u' ORDER BY seq"
            ),
            arguments: [object.name]
        )
        table.uniques = try uniques.map { try columns(ofIndex: $0, expressions: [], in: db) }
        return table
    }

    /// What only SQLite's C interface says about a column.
    private struct ColumnDetails {
        var collation = "BINARY"
        var isAutoincrement = false

        init(of column: String, in table: String, _ db: Database) {
            var name: UnsafePointer<CChar>?
            var autoincrement: Int32 = 0
            let code = sqlite3_table_column_metadata(
                db.sqliteConnection,
                "main",
                table,
                column,
                nil,
                &name,
                nil,
                nil,
                &autoincrement
            )
            guard code == SQLITE_OK else { return }
            if let name { collation = String(cString: name).uppercased() }
            isAutoincrement = autoincrement != 0
        }
    }

    /// The expression of a generated column: in its definition, what is in parentheses after `AS`.
    private static func generation(of column: String, in lines: [CanonicalSQL.Line]) -> String {
        for line in lines {
            let tokens = Array(line.meaning)
            guard let first = tokens.first, CanonicalSQL.name(first).isSameName(as: column),
                let start = tokens.indices.dropLast().first(where: {
                    tokens[$0] == "as" && tokens[$0 + 1] == "("
                })
            else { continue }
            var depth = 0
            let inside = tokens[(start + 1)...].prefix { token in
                if token == "(" { depth += 1 }
                if token == ")" { depth -= 1 }
                return depth > 0
            }
            return inside.dropFirst().joined(separator: " ")
        }
        return ""
    }

    private static func foreignKeys(
        of table: String,
        in db: Database
    ) throws -> [SchemaModel.ForeignKey] {
        // The key that was declared last has the number 0.
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, "table", "from", "to", on_update, on_delete
                    FROM pragma_foreign_key_list(?, 'main') ORDER BY id DESC, seq
                    """
            ),
            arguments: [table]
        )
        var keys: [SchemaModel.ForeignKey] = []
        var last: Int?
        for row in rows {
            let id: Int = row[0]
            if id != last {
                keys.append(
                    SchemaModel.ForeignKey(
                        columns: [],
                        table: row[1],
                        referencedColumns: [],
                        onUpdate: row[4],
                        onDelete: row[5]
                    )
                )
                last = id
            }
            keys[keys.endIndex - 1].columns.append(row[2])
            if let to: String = row[3] { keys[keys.endIndex - 1].referencedColumns.append(to) }
        }
        return keys
    }

    // MARK: - Indexes

    private func index(
        _ object: Object,
        tableSQL: String,
        in db: Database
    ) throws -> SchemaModel.Index {
        let key = Key(name: object.name, sql: object.sql, table: tableSQL)
        if let known = indexes[key] { return known }
        let text = SchemaText(object.sql).index
        let isUnique = try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT \"unique\" FROM pragma_index_list(?, 'main') WHERE name = ?"
            ),
            arguments: [object.table, object.name]
        )
        let index = SchemaModel.Index(
            name: object.name,
            table: object.table,
            isUnique: isUnique ?? false,
            columns: try Self.columns(
                ofIndex: object.name,
                expressions: text?.columns ?? [],
                in: db
            ),
            condition: text?.condition.map(CanonicalSQL.text),
            sql: object.sql
        )
        indexes[key] = index
        return index
    }

    private static func columns(
        ofIndex index: String,
        expressions: [String],
        in db: Database
    ) throws -> [SchemaModel.IndexedColumn] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seqno, name, coll, "desc" FROM pragma_index_xinfo(?, 'main')
                    WHERE key ORDER BY seqno
                    """
            ),
            arguments: [index]
        ).map { row in
            let place: Int = row[0]
            let name: String? = row[1]
            let expression = expressions.indices.contains(place) ? expressions[place] : ""
            return SchemaModel.IndexedColumn(
                text: name ?? CanonicalSQL.text(of: expression),
                isExpression: name == nil,
                collation: ((row[2] as String?) ?? "BINARY").uppercased(),
                isDescending: row[3]
            )
        }
    }
}
