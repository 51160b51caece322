import GRDB
import GRDBSQLite
import MigrationKitGRDB

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
    private var definitions: [String: Definition] = [:]

    /// What is known of a trigger's or a view's statement.
    fileprivate struct Definition {
        let text: DefinitionText
        let doubtfulNames: Set<String>
        let certainNames: Set<String>
        /// The meaning if every name in double quotes is a name.
        let meaning: String
    }

    package init() {}

    /// Reads the schema of an open database.
    ///
    /// - Throws: A `DatabaseError` if the schema can't be read.
    package func schema(of db: Database) throws -> SchemaModel {
        var schema = SchemaModel()
        let objects = try SchemaObject.ownInAnyOrder(of: db)
        schema.tables.reserveCapacity(objects.count { $0.kind == .table })
        for object in objects where object.kind == .table {
            var table = try table(object, in: db)
            table.rootPage = object.rootPage
            schema.tables[object.name.foldedName] = table
        }
        let names = names(in: schema, objects)
        for object in objects {
            let key = object.name.foldedName
            switch object.kind {
            case .index:
                let table = schema.table(object.table)
                schema.indexes[key] = try index(object, of: table, in: db)
            case .trigger:
                schema.triggers[key] = SchemaModel.Trigger(
                    name: object.name,
                    table: object.table,
                    definition: definition(object).meaning(known: names),
                    sql: object.sql
                )
            case .view:
                schema.views[key] = SchemaModel.View(
                    name: object.name,
                    definition: definition(object).meaning(known: names),
                    sql: object.sql
                )
            case .table:
                continue
            }
        }
        return schema
    }

    /// Reads a table.
    ///
    /// - Parameter name: The name as the table was created with.
    /// - Returns: `nil` if there is no such table.
    /// - Throws: A `DatabaseError` if the schema can't be read.
    package func table(_ name: String, in db: Database) throws -> SchemaModel.Table? {
        try SchemaObject.table(name, in: db).map { try table($0, in: db) }
    }

    // MARK: - Triggers and Views

    private func definition(_ object: SchemaObject) -> Definition {
        if let known = definitions[object.sql] { return known }
        let text = DefinitionText(object.sql, isTrigger: object.kind == .trigger)
        let doubtful = text.doubtfulNames
        let definition = Definition(
            text: text,
            doubtfulNames: doubtful,
            certainNames: object.kind == .view ? text.certainNames : [],
            meaning: text.meaning(known: doubtful)
        )
        definitions[object.sql] = definition
        return definition
    }

    /// The names of tables, columns and views, and the names in views: what isn't among them and
    /// stands in double quotes in a trigger or a view is a string.
    private func names(in schema: SchemaModel, _ objects: [SchemaObject]) -> Set<String> {
        let definitions = objects.filter { [.trigger, .view].contains($0.kind) }.map(definition)
        guard definitions.contains(where: { !$0.doubtfulNames.isEmpty }) else { return [] }
        var names = Set(schema.tables.keys)
        for table in schema.tables.values { names.formUnion(table.columns.map(\.name.foldedName)) }
        for object in objects { names.insert(object.name.foldedName) }
        for definition in definitions { names.formUnion(definition.certainNames) }
        return names.union(rowidNames + ["new", "old", "excluded", "main", "temp"])
    }

    // MARK: - Tables

    private func table(_ object: SchemaObject, in db: Database) throws -> SchemaModel.Table {
        let key = Key(name: object.name, sql: object.sql)
        if let known = tables[key] { return known }
        let table = try Self.readTable(object, in: db)
        tables[key] = table
        return table
    }

    /// The columns of the pragmas: <https://www.sqlite.org/pragma.html>
    private static func readTable(_ object: SchemaObject, in db: Database) throws
        -> SchemaModel.Table
    {
        var table = SchemaModel.Table(name: object.name, sql: object.sql)
        let kind = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT wr, strict FROM pragma_table_list(?) WHERE schema = 'main'"
            ),
            arguments: [object.name]
        )
        table.isWithoutRowID = kind?["wr"] ?? false
        table.isStrict = kind?["strict"] ?? false
        if object.isVirtualTable {
            let text = VirtualTableText(object.sql)
            table.module = text?.module ?? ""
            table.moduleArguments = text?.arguments ?? ""
            // SQLite doesn't know the columns of a module that only the app has.
            let rows = (try? columnRows(of: object.name, in: db)) ?? []
            table.columns = rows.map { column($0, of: table, nil, in: db).column }
            return table
        }
        // SQLite has accepted the text, unless somebody wrote into its schema table.
        let text = try? TableText(object.sql)
        let rows = try columnRows(of: object.name, in: db)
        let names = Set(rows.map { ($0[0] as String).foldedName })
            .union(rowidNames + [object.name.foldedName])
        let known = KnownText(text: text, names: names)
        for row in rows {
            let (column, isAutoincrement) = column(row, of: table, known, in: db)
            table.columns.append(column)
            if isAutoincrement { table.isAutoincrement = true }
        }
        for constraint in text?.constraints ?? [] where constraint.kind == .check {
            table.checks.append(
                SchemaModel.Check(
                    name: constraint.name,
                    expression: known.expression(constraint.expression)
                )
            )
        }
        table.foreignKeys = try foreignKeys(of: object.name, text, in: db)
        try readKeys(of: &table, rows, text, in: db)
        return table
    }

    /// The text of a table, and the names that its expressions can use.
    private struct KnownText {
        let text: TableText?
        let names: Set<String>

        func expression(_ range: Range<Int>) -> SchemaModel.Expression {
            SchemaModel.Expression(text?.sql ?? SQLTokens(""), range, known: names)
        }

        func constraint(
            _ kind: TableText.Constraint.Kind,
            of column: String
        ) -> TableText.Constraint? {
            text?.constraints.last { $0.kind == kind && $0.column == column.foldedName }
        }
    }

    private static func columnRows(of table: String, in db: Database) throws -> [Row] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name, type, "notnull", dflt_value, pk, hidden
                    FROM pragma_table_xinfo(?, 'main') ORDER BY cid
                    """
            ),
            arguments: [table]
        )
    }

    private static func column(
        _ row: Row,
        of table: SchemaModel.Table,
        _ known: KnownText?,
        in db: Database
    ) -> (column: SchemaModel.Column, isAutoincrement: Bool) {
        let name: String = row[0]
        let isNotNull: Bool = row[2]
        let hidden: Int = row[5]
        let details = ColumnDetails(of: name, in: table.name, db)
        let generation = known?.constraint(.generated, of: name)
        let column = SchemaModel.Column(
            name: name,
            type: row[1],
            isNotNull: isNotNull,
            conflict: isNotNull ? known?.constraint(.notNull, of: name)?.declaredConflict : nil,
            collation: details.collation,
            defaultValue: (row[3] as String?).flatMap(SchemaModel.Expression.init(defaultValue:)),
            generated: hidden == 2 || hidden == 3
                ? SchemaModel.Generated(
                    expression: known?.expression(generation?.expression ?? 0..<0)
                        ?? SchemaModel.Expression(text: "", meaning: ""),
                    isStored: hidden == 3
                ) : nil,
            isHidden: hidden == 1,
            affinity: ColumnAffinity(of: row[1], isStrict: table.isStrict)
        )
        return (column, details.isAutoincrement)
    }

    /// Reads the keys that SQLite has made: of several ones with the same columns, only one.
    private static func readKeys(
        of table: inout SchemaModel.Table,
        _ rows: [Row],
        _ text: TableText?,
        in db: Database
    ) throws {
        let indexes = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT name, origin FROM pragma_index_list(?, 'main')
                    WHERE origin IN ('u', 'pk') ORDER BY seq
                    """
            ),
            arguments: [table.name]
        )
        let declared = (text?.constraints ?? []).filter {
            $0.kind == .primaryKey || $0.kind == .unique
        }
        for row in indexes {
            var key = SchemaModel.Key(columns: try columns(ofIndex: row[0], nil, [], in: db))
            key.conflict =
                declared.lazy.filter { [table] in $0.declares(key, in: table) }
                .compactMap(\.declaredConflict).first
            if row[1] == "pk" { table.key = key } else { table.uniques.append(key) }
        }
        let primaryKey = rows.map { (name: $0[0] as String, place: $0[4] as Int) }
            .filter { $0.place > 0 }
        guard table.key == nil, let column = primaryKey.first, primaryKey.count == 1 else { return }
        // Any other primary key has an index. <https://www.sqlite.org/lang_createtable.html#rowid>
        table.hasRowIDColumn = true
        table.key = SchemaModel.Key(
            columns: [
                SchemaModel.IndexedColumn(
                    text: column.name,
                    isExpression: false,
                    collation: table.column(column.name)?.collation ?? "BINARY",
                    isDescending: false
                )
            ],
            conflict: declared.first { $0.kind == .primaryKey }?.declaredConflict
        )
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

    private static func foreignKeys(
        of table: String,
        _ text: TableText?,
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
        let declared = (text?.constraints ?? []).filter { $0.kind == .foreignKey }
        guard declared.count == keys.count else { return keys }
        for (place, key) in declared.enumerated() { keys[place].isDeferred = key.isDeferred }
        return keys
    }

    // MARK: - Indexes

    private func index(
        _ object: SchemaObject,
        of table: SchemaModel.Table?,
        in db: Database
    ) throws -> SchemaModel.Index {
        let key = Key(name: object.name, sql: object.sql, table: table?.sql ?? "")
        if let known = indexes[key] { return known }
        let text = IndexText(object.sql)
        let columns = Set(table?.columns.map(\.name.foldedName) ?? [])
            .union(rowidNames + [object.table.foldedName])
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
                text,
                columns,
                in: db
            ),
            condition: text?.condition.map {
                SchemaModel.Expression(text?.sql ?? SQLTokens(""), $0, known: columns).meaning
            },
            sql: object.sql
        )
        indexes[key] = index
        return index
    }

    private static func columns(
        ofIndex index: String,
        _ text: IndexText?,
        _ known: Set<String>,
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
            let range = text.flatMap {
                $0.columns.indices.contains(place) ? $0.columns[place] : nil
            }
            let expression = range.flatMap { range in
                text.map { SchemaModel.Expression($0.sql, range, known: known).meaning }
            }
            return SchemaModel.IndexedColumn(
                text: name ?? expression ?? "",
                isExpression: name == nil,
                collation: ((row[2] as String?) ?? "BINARY").uppercased(),
                isDescending: row[3]
            )
        }
    }
}

extension SchemaReader.Definition {
    /// The meaning if only the known names in double quotes are names.
    fileprivate func meaning(known: Set<String>) -> String {
        doubtfulNames.isSubset(of: known) ? meaning : text.meaning(known: known)
    }
}

extension TableText.Constraint {
    /// The `ON CONFLICT`; `nil` for the default.
    fileprivate var declaredConflict: String? { conflict == "ABORT" ? nil : conflict }

    /// Whether SQLite takes the constraint for a key: it compares columns and collations.
    fileprivate func declares(_ key: SchemaModel.Key, in table: SchemaModel.Table) -> Bool {
        columns.count == key.columns.count
            && zip(columns, key.columns).allSatisfy { column, indexed in
                let collation = column.collation ?? table.column(column.name)?.collation
                return column.name == indexed.text.foldedName && collation == indexed.collation
            }
    }
}
