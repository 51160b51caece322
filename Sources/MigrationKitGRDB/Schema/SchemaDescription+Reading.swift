import GRDB

extension SchemaDescription {
    /// Reads the schema of an open database.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the schema can't be read.
    public init(of db: Database) throws {
        let objects = try GRDBSchemaSnapshotProvider.objects(of: db)
        func all<Object>(_ type: String, _ make: (Row) throws -> Object) rethrows -> [Object] {
            try objects.filter { $0["type"] == type }.map(make)
        }
        tables = try all("table") { try Table($0, of: db) }
        views = all("view") { row in
            let name: String = row["name"]
            // SQLite can't list the columns of a view that reads from a missing table.
            let columns = try? Column.all(of: name, in: db)
            return View(name: name, columns: columns ?? [], sql: row["sql"])
        }
        triggers = try all("trigger") { row in
            let name: String = row["name"]
            let table = try String.fetchOne(
                db,
                sql: "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name = ?",
                arguments: [name]
            )
            return Trigger(name: name, table: table ?? "", sql: row["sql"])
        }
    }
}

// The columns of the pragmas: <https://www.sqlite.org/pragma.html>

extension SchemaDescription.Table {
    fileprivate init(_ row: Row, of db: Database) throws {
        let name: String = row["name"]
        let kind = try Row.fetchOne(
            db,
            sql: """
                SELECT type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = ?
                """,
            arguments: [name]
        )
        let indexes = try Row.fetchAll(
            db,
            sql: """
                SELECT list.name, list."unique", list.partial, list.origin, object.sql
                FROM pragma_index_list(?) AS list
                JOIN sqlite_master AS object ON object.type = 'index' AND object.name = list.name
                ORDER BY list.name
                """,
            arguments: [name]
        )
        self.name = name
        virtual = kind?["type"] == "virtual"
        withoutRowid = kind?["wr"] ?? false
        strict = kind?["strict"] ?? false
        columns = try SchemaDescription.Column.all(of: name, in: db)
        references = try SchemaDescription.Reference.all(of: name, in: db)
        unique = try indexes.filter { $0["origin"] == "u" }.map {
            try SchemaDescription.Index.columns(of: $0["name"], in: db).compactMap(\.self)
        }
        self.indexes = try indexes.filter { $0["origin"] == "c" }.map { row in
            SchemaDescription.Index(
                name: row["name"],
                unique: row["unique"],
                partial: row["partial"],
                columns: try SchemaDescription.Index.columns(of: row["name"], in: db),
                sql: row["sql"]
            )
        }
        sql = row["sql"]
    }
}

extension SchemaDescription.Index {
    fileprivate static func columns(of index: String, in db: Database) throws -> [String?] {
        try Optional<String>.fetchAll(
            db,
            sql: "SELECT name FROM pragma_index_info(?) ORDER BY seqno",
            arguments: [index]
        )
    }
}

extension SchemaDescription.Column {
    fileprivate static func all(of table: String, in db: Database) throws -> [Self] {
        try Row.fetchAll(
            db,
            sql: "SELECT * FROM pragma_table_xinfo(?) ORDER BY cid",
            arguments: [table]
        ).map { row in
            let place: Int = row["pk"]
            let hidden: Int = row["hidden"]
            return Self(
                name: row["name"],
                type: row["type"],
                notNull: row["notnull"],
                primaryKey: place > 0 ? place : nil,
                defaultValue: row["dflt_value"],
                generated: hidden == 2 ? .virtual : hidden == 3 ? .stored : nil,
                hidden: hidden == 1
            )
        }
    }
}

extension SchemaDescription.Reference {
    fileprivate static func all(of table: String, in db: Database) throws -> [Self] {
        // The key that was declared last has the number 0.
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT * FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq",
            arguments: [table]
        )
        let numbers = rows.reduce(into: [Int]()) { numbers, row in
            if numbers.last != row["id"] { numbers.append(row["id"]) }
        }
        return try numbers.compactMap { number in
            let key = rows.filter { $0["id"] == number }
            guard let first = key.first else { return nil }
            let referenced = key.compactMap { $0["to"] as String? }
            return Self(
                columns: key.map { $0["from"] },
                table: first["table"],
                referencedColumns: referenced.count == key.count
                    ? referenced : try primaryKey(of: first["table"], in: db),
                onUpdate: first["on_update"],
                onDelete: first["on_delete"]
            )
        }
    }

    private static func primaryKey(of table: String, in db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?) WHERE pk > 0 ORDER BY pk",
            arguments: [table]
        )
    }
}
