import CSQLCipher
import GRDB
import MigrationKitGRDB
import MigrationKitPages

extension DatabaseCopy {
    /// Copies everything from the main database into the attached file, which is empty.
    ///
    /// `sqlcipher_export` creates each table anew, which SQLite refuses for a stored schema that it
    /// reads without complaint, such as one with a text in double quotes. It also numbers the rows
    /// anew in a table that has neither an INTEGER PRIMARY KEY nor an index. So the rows of
    /// `sqlite_schema` are copied as they are, and each gets a new root page.
    ///
    /// `INSERT … SELECT *` between tables of the same definition copies their records and the entries
    /// of their indexes byte by byte, without looking at rules, functions or collations.
    ///
    /// - Parameter header: The header of the main database.
    func export(_ db: Database, _ header: DatabaseHeader?) throws {
        let target = Self.schema
        func value(_ name: String) throws -> Int {
            try Int.fetchOne(db, sql: "PRAGMA main.\(name)") ?? 0
        }
        if case .plaintext(let pageSize) = form.content {
            let size = try pageSize ?? value("page_size")
            try db.execute(sql: "PRAGMA \(target).page_size = \(size)")
        }
        // Otherwise the new file's indexes would have another order than the source's.
        if let header, (1...3).contains(header.word(44)) {
            csqlcipher_use_old_format(db.sqliteConnection)
        }
        // A crash loses only the temporary file, and it is synchronized at the end. `secure_delete`
        // writes every page, even unused ones, as SQLCipher does: it reports a page that was never
        // written as damaged.
        try db.execute(
            sql: """
                PRAGMA \(target).journal_mode = OFF;
                PRAGMA \(target).synchronous = OFF;
                PRAGMA \(target).secure_delete = ON;
                PRAGMA \(target).auto_vacuum = \(value("auto_vacuum"));
                PRAGMA \(target).cache_size = -\(Self.cacheSize);
                PRAGMA foreign_keys = OFF;
                PRAGMA ignore_check_constraints = ON;
                BEGIN
                """
        )
        defer {
            let sql = "PRAGMA writable_schema = OFF; PRAGMA ignore_check_constraints = OFF"
            try? db.execute(sql: sql)
        }
        do {
            try db.execute(sql: "PRAGMA writable_schema = ON")
            let trees = try makeTrees(db)
            // Has the schema read, too.
            try db.execute(sql: "PRAGMA writable_schema = RESET")
            for tree in trees where tree.isTable { try copyRows(of: tree, db) }
            try replaceStandIns(among: trees, db)
            // Triggers, views and virtual tables come last: a trigger would see the new rows.
            try db.execute(
                sql: """
                    INSERT INTO \(target).sqlite_schema (rowid, type, name, tbl_name, rootpage, sql)
                    SELECT rowid, type, name, tbl_name, rootpage, sql FROM main.sqlite_schema
                    WHERE rowid NOT IN (SELECT rowid FROM \(target).sqlite_schema);
                    PRAGMA \(target).user_version = \(value("user_version"));
                    PRAGMA \(target).application_id = \(value("application_id"));
                    COMMIT
                    """
            )
        } catch {
            // It may have ended the transaction already.
            if db.isInsideTransaction { try? db.execute(sql: "ROLLBACK") }
            throw error
        }
    }

    /// Makes an empty b-tree for each table and index, and their rows of `sqlite_schema`.
    ///
    /// - Returns: The b-trees in the order in which they are copied.
    private func makeTrees(_ db: Database) throws -> [ExportedTree] {
        let target = Self.schema
        let objects = try Row.fetchAll(
            db,
            sql: """
                SELECT rowid, name, tbl_name, type = 'table' AS isTable, type = 'table' AND name NOT IN (
                    SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr
                ) AS hasRowids
                FROM main.sqlite_schema WHERE rootpage > 0
                ORDER BY isTable AND name = 'sqlite_sequence', rowid
                """
        )
        if objects.isEmpty {
            // The first table brings the encoding and the schema's format into the header.
            try db.execute(sql: "CREATE TABLE \(target).tree (x); DROP TABLE \(target).tree")
        }
        // No row stays in the schema, in which SQLite searches for each new table.
        let roots = try objects.indices.map { index in
            let columns = objects[index]["hasRowids"] ? "(x)" : "(x PRIMARY KEY) WITHOUT ROWID"
            try db.execute(sql: "CREATE TABLE \(target).tree\(index) \(columns)")
            let root = try Int.fetchOne(db, sql: "SELECT rootpage FROM \(target).sqlite_schema")
            try db.execute(sql: "DELETE FROM \(target).sqlite_schema")
            return root ?? 0
        }
        let trees = try zip(objects, roots).map { object, root in
            ExportedTree(
                id: object["rowid"],
                root: root,
                table: object["tbl_name"],
                isTable: object["isTable"],
                columns: object["isTable"]
                    ? try ExportedColumns(of: object["name"], hasRowids: object["hasRowids"], db)
                    : nil
            )
        }
        let standIns = trees.standIns
        for tree in trees where tree.isTable || !standIns.contains(tree.table) {
            try record(tree, db)
        }
        return trees
    }

    /// Writes the row of `sqlite_schema` of a b-tree.
    private func record(_ tree: ExportedTree, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO \(Self.schema).sqlite_schema (rowid, type, name, tbl_name, rootpage, sql)
                SELECT rowid, type, name, tbl_name, ?, coalesce(?, sql) FROM main.sqlite_schema
                WHERE rowid = ?
                """,
            arguments: [tree.root, tree.columns?.standIn, tree.id]
        )
    }

    /// Makes the tables what they are in the source, and fills their indexes.
    private func replaceStandIns(among trees: [ExportedTree], _ db: Database) throws {
        let standIns = trees.standIns
        try db.execute(sql: "PRAGMA writable_schema = ON")
        for tree in trees where standIns.contains(tree.table) {
            guard tree.isTable else {
                try record(tree, db)
                continue
            }
            try db.execute(
                sql: """
                    UPDATE \(Self.schema).sqlite_schema
                    SET sql = (SELECT sql FROM main.sqlite_schema WHERE rowid = ?1) WHERE rowid = ?1
                    """,
                arguments: [tree.id]
            )
        }
        let tables = standIns.intersection(trees.filter { !$0.isTable }.map(\.table))
        guard !tables.isEmpty else { return }
        try db.execute(sql: "PRAGMA writable_schema = RESET")
        for table in tables.sorted() {
            try db.execute(sql: "REINDEX \(Self.schema).\(table.quotedName)")
        }
        try db.execute(sql: "PRAGMA writable_schema = ON")
    }

    /// Copies the rows of a table, and the entries of its indexes.
    private func copyRows(of tree: ExportedTree, _ db: Database) throws {
        let name = tree.table.quotedName
        let (from, to) = ("main.\(name)", "\(Self.schema).\(name)")
        guard let columns = tree.columns?.list else {
            return try db.execute(sql: "INSERT INTO \(to) SELECT * FROM \(from)")
        }
        // Copying a table with AUTOINCREMENT has changed `sqlite_sequence`.
        try db.execute(
            sql: "DELETE FROM \(to); INSERT INTO \(to) (\(columns)) SELECT \(columns) FROM \(from)"
        )
    }
}

/// A table or an index that is copied.
private struct ExportedTree {
    /// The rowid in `sqlite_schema`.
    let id: Int64
    /// The root page in the new file.
    let root: Int
    /// The table's name, or that of the index's table.
    let table: String
    let isTable: Bool
    /// `nil` if SQLite copies the records as they are.
    let columns: ExportedColumns?
}

extension [ExportedTree] {
    /// The tables that are others until they have their rows.
    fileprivate var standIns: Set<String> {
        Set(filter { $0.columns?.standIn != nil }.map(\.table))
    }
}

/// What is copied of a table whose records SQLite doesn't copy as they are.
private struct ExportedColumns {
    /// The rowid, if a name leads to it, and the columns.
    let list: String
    /// What the table is in the new file until it has its rows, without its indexes; `nil` for what
    /// it is in the end.
    ///
    /// It has the columns that are stored, without their rules: a row is copied even if it breaks them,
    /// or if they need a function that isn't registered. And a generated value stays what it was: another
    /// version of SQLite may write another text for a number.
    let standIn: String?

    /// - Returns: `nil` if SQLite copies the records as they are, with their rowids.
    init?(of table: String, hasRowids: Bool, _ db: Database) throws {
        // 2 and 3 are generated columns. SQLite stores only those with 3.
        // <https://www.sqlite.org/pragma.html#pragma_table_xinfo>
        let columns = try Row.fetchAll(
            db,
            sql: "SELECT name, type, hidden, pk FROM pragma_table_xinfo(?, 'main')",
            arguments: [table]
        )
        let indexes = try Row.fetchAll(
            db,
            sql: """
                SELECT name, "unique" AS isUnique, origin = 'pk' AS isKey
                FROM pragma_index_list(?, 'main')
                """,
            arguments: [table]
        )
        let hasKey = columns.contains { $0["pk"] != 0 }
        if hasKey || !indexes.isEmpty {
            // SQLite prepares for rows that an index refuses, and no generated column takes a value.
            guard columns.contains(where: { $0["hidden"] != 0 }),
                !hasKey || indexes.contains(where: { $0["isUnique"] })
            else { return nil }
        }
        let rowid = hasRowids ? rowidName(besides: columns.map { $0["name"] }) : nil
        func names(_ columns: [Row]) -> [String] {
            columns.map { ($0["name"] as String).quotedName }
        }
        if hasRowids, rowid == nil {
            guard hasKey || !indexes.isEmpty else { return nil }
            standIn = nil
            list = names(columns.filter { $0["hidden"] == 0 }).joined(separator: ", ")
            return
        }
        // Otherwise SQLite would number the rows of a table without a key and an index anew.
        let stored = columns.filter { $0["hidden"] != 2 }
        let keyIndex = indexes.first { $0["isKey"] }
        var definitions = zip(names(stored), stored).map { name, column in
            // Without an index of its own, the key is the rowid, and not in the record.
            if keyIndex == nil, column["pk"] != 0 { return "\(name) INTEGER PRIMARY KEY" }
            // Only REAL changes what is stored: whole numbers take less room.
            // <https://www.sqlite.org/datatype3.html>
            return ColumnAffinity(of: column["type"]) == .real ? "\(name) REAL" : name
        }
        // The rows of a table without rowids are in the order of its key.
        if !hasRowids, let keyIndex {
            definitions.append(try Self.key(of: keyIndex["name"], db))
        }
        standIn =
            "CREATE TABLE \(table.quotedName) (\(definitions.joined(separator: ", ")))"
            + (hasRowids ? "" : " WITHOUT ROWID")
        list = ([rowid].compactMap { $0 } + names(stored)).joined(separator: ", ")
    }

    /// The key of a table without rowids as a constraint.
    private static func key(of index: String, _ db: Database) throws -> String {
        let terms = try String.fetchAll(
            db,
            sql: """
                SELECT '"' || replace(name, '"', '""') || '" COLLATE "' || replace(coll, '"', '""')
                    || iif("desc", '" DESC', '"')
                FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno
                """,
            arguments: [index]
        )
        return "PRIMARY KEY (\(terms.joined(separator: ", ")))"
    }
}
