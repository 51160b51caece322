import GRDB

/// Everything about a tool's version table: how it is recognized and read, and what its checksums
/// are. ``MigrationTool`` describes the tables.
struct ToolTable: Sendable {
    /// The table's default name.
    let name: String

    /// The columns that distinguish the table from another tool's with the same name. The table may
    /// have more.
    let columns: Set<String>

    /// The columns that only another tool's table of the same name has.
    var otherColumns: Set<String> = []

    /// Columns with their types, such as `version uint64`. A table that has them all is this tool's
    /// under any name.
    var signature: Set<String> = []

    /// Whether the tool runs files in the order of their names as text. Diesel does so, too, and
    /// its folders have that order here. The others compare numbers.
    var sortsFilesByText = false

    /// Reads the table of the name.
    let read: @Sendable (_ table: String, Database) throws -> VersionTable

    /// Whether a recorded checksum is that of a file's bytes.
    var matches: @Sendable (_ checksum: DatabaseValue, _ contents: [UInt8]) -> Bool = { _, _ in
        true
    }

    /// Whether a table with these columns belongs to this tool.
    func hasMade(columns: Set<String>) -> Bool {
        self.columns.isSubset(of: columns) && otherColumns.isDisjoint(with: columns)
    }

    /// Whether a table that doesn't have this tool's default name belongs to it all the same.
    ///
    /// An app's own table may have a column `version`, too. So either the columns leave no doubt, or
    /// the name has to speak of migrations.
    ///
    /// - Parameter columns: Its columns with their types, in small letters.
    func hasMade(_ table: String, columns: [(name: String, type: String)]) -> Bool {
        let names = Set(columns.map(\.name))
        guard hasMade(columns: names) else { return false }
        let typed = Set(columns.map { "\($0.name) \($0.type)" })
        if !signature.isEmpty, signature.isSubset(of: typed) { return true }
        let table = table.lowercased()
        let speaksOfMigrations = [
            "migrat", "schema_version", "schemaversion", "schema_history", "db_version",
        ].contains { table.contains($0) }
        return speaksOfMigrations && (self.columns.count > 1 || names == self.columns)
    }

    /// Reads the table of the name, which is there.
    func read(_ table: String, in db: Database) throws -> VersionTable {
        try read("main.\"\(table.escaping("\"", as: "\"\""))\"", db)
    }

    /// - Returns: `nil` if there is no such table. Attached and temporary databases are not
    ///   searched.
    static func columns(of table: String, in db: Database) throws -> [String]? {
        guard try db.tableExists(table, in: "main") else { return nil }
        let sql = "SELECT lower(name) FROM pragma_table_info(?, 'main')"
        return try String.fetchAll(db, sql: sql, arguments: [table])
    }

    /// SQL that is true for a boolean that isn't false. Some drivers write booleans as text.
    private static func isTrue(_ column: String) -> String {
        "lower(\(column)) NOT IN ('0', '0.0', 'f', 'false')"
    }
}

// MARK: - Tools without checksums that can be compared

extension ToolTable {
    /// <https://github.com/amacneil/dbmate/blob/main/pkg/dbmate/db.go>
    static let dbmate = ToolTable(
        name: "schema_migrations",
        columns: ["version"],
        // golang-migrate's table has dbmate's one column too.
        otherColumns: ["dirty"],
        sortsFilesByText: true,
        read: versions
    )

    static let goose = ToolTable(
        name: "goose_db_version",
        columns: ["id", "version_id", "is_applied"],
        signature: ["version_id integer", "is_applied integer", "tstamp timestamp"]
    ) { table, db in
        // The last row of a version counts. The row 0 isn't a migration: goose adds it when it
        // makes the table.
        let query = """
            SELECT version_id FROM \(table) AS version
            WHERE version_id <> 0 AND \(isTrue("is_applied")) AND NOT EXISTS (
                SELECT 1 FROM \(table) AS later
                WHERE later.version_id = version.version_id AND later.id > version.id
            )
            """
        return VersionTable(versions: try texts(query, in: db))
    }

    static let golangMigrate = ToolTable(
        name: "schema_migrations",
        columns: ["version", "dirty"],
        signature: ["version uint64", "dirty bool"]
    ) { table, db in
        let version = try texts("SELECT version FROM \(table)", in: db)
        return VersionTable(
            versions: version,
            through: version,
            unfinished: try texts(
                "SELECT version FROM \(table) WHERE \(isTrue("dirty"))",
                in: db
            )
        )
    }

    static let diesel = ToolTable(
        name: "__diesel_schema_migrations",
        columns: ["version", "run_on"],
        read: versions
    )

    static let refinery = ToolTable(
        name: "refinery_schema_history",
        columns: ["version", "name", "checksum"],
        read: versions
    )

    private static let versions: @Sendable (String, Database) throws -> VersionTable = {
        table,
        db in
        VersionTable(versions: try texts("SELECT version FROM \(table)", in: db))
    }

    /// The values of a query with one column.
    static func texts(_ query: String, in db: Database) throws -> [String] {
        try DatabaseValue.fetchAll(db, sql: query).map(\.text)
    }
}

extension DatabaseValue {
    /// The value as the table's own text.
    var text: String { storage.value.map { "\($0)" } ?? "NULL" }
}

// MARK: - Version Table

/// The content of a tool's version table.
struct VersionTable {
    /// The applied versions, as recorded in the table.
    var versions: [String] = []

    /// The versions up to which everything is applied, without a row for each. They need not be
    /// versions of files.
    var through: [String] = []

    /// The versions that were started and not finished.
    var unfinished: [String] = []

    /// The checksums of applied versions, if the tool records them.
    var checksums: [String: DatabaseValue] = [:]

    /// The scripts that have no version.
    var repeatable: Set<String> = []

    /// Whether the tool has done anything.
    var isEmpty: Bool {
        versions.isEmpty && through.isEmpty && unfinished.isEmpty && repeatable.isEmpty
    }

    mutating func add(_ version: String, checksum: DatabaseValue?) {
        versions.append(version)
        checksums[version] = checksum
    }

    mutating func remove(_ version: String) {
        versions.removeAll { $0 == version }
        unfinished.removeAll { $0 == version }
        checksums[version] = nil
    }
}

// MARK: - User Version

extension VersionTable {
    /// What code has applied that counts in `PRAGMA user_version`.
    ///
    /// - Throws: ``MigrationAdoptionError/noUserVersion(_:)`` if nothing was counted, and there are
    ///   tables.
    init(userVersionOf db: Database) throws {
        let number = try Int.fetchOne(db, sql: "PRAGMA main.user_version") ?? 0
        guard number == 0 else {
            versions = ["\(number)"]
            through = versions
            return
        }
        // A run that was ended may have left GRDB's tables.
        let tables = """
            SELECT 1 FROM main.sqlite_master
            WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'grdb\\_%' ESCAPE '\\'
            """
        guard try Row.fetchOne(db, sql: tables) == nil else {
            throw MigrationAdoptionError.noUserVersion(0)
        }
    }
}

// MARK: - Sqlx Table

extension ToolTable {
    static let sqlx = ToolTable(
        name: "_sqlx_migrations",
        columns: ["version", "success", "checksum"],
        signature: ["version bigint", "success boolean", "checksum blob", "execution_time bigint"],
        read: { table, db in
            var result = VersionTable()
            result.unfinished = try texts("SELECT version FROM \(table) WHERE success <> 1", in: db)
            for row in try Row.fetchAll(db, sql: "SELECT version, checksum FROM \(table)") {
                result.add((row[0] as DatabaseValue).text, checksum: row[1] as DatabaseValue)
            }
            return result
        },
        // sqlx records the SHA-384 of the bytes.
        // <https://github.com/launchbadge/sqlx/blob/main/sqlx-core/src/migrate/migration.rs>
        matches: { checksum, contents in
            guard case .blob(let data) = checksum.storage else { return false }
            return Digest.sha384(contents).map { $0.elementsEqual(data) } ?? true
        }
    )
}

// MARK: - Flyway Table

extension ToolTable {
    static let flyway = ToolTable(
        name: "flyway_schema_history",
        columns: ["installed_rank", "version", "type", "script", "checksum", "success"],
        signature: ["installed_rank int", "success boolean"],
        read: { table, db in
            let query = "SELECT version, type, checksum, success, script FROM \(table)"
            var result = VersionTable()
            for row in try Row.fetchAll(db, sql: query + " ORDER BY installed_rank") {
                result.take(
                    version: row[0],
                    type: (row[1] as DatabaseValue).text,
                    checksum: row[2],
                    succeeded: row[3] != 0,
                    script: (row[4] as DatabaseValue).text
                )
            }
            return result
        },
        matches: { checksum, contents in
            guard case .int64(let number) = checksum.storage else { return true }
            return number == Int64(Int32(bitPattern: crc32(contents)))
        }
    )

    /// Flyway records the CRC-32 of the lines without their line ends, and without a byte order
    /// mark.
    /// <https://github.com/flyway/flyway/blob/main/flyway-core/src/main/java/org/flywaydb/core/internal/resolver/ChecksumCalculator.java>
    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var sum = UInt32.max
        for byte in bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0)
        where byte != UInt8(ascii: "\n") && byte != UInt8(ascii: "\r") {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }
}

extension VersionTable {
    /// Follows Flyway's history, in which later rows may undo earlier ones.
    /// <https://documentation.red-gate.com/fd/flyway-schema-history-table-273973417.html>
    fileprivate mutating func take(
        version: DatabaseValue,
        type: String,
        checksum: DatabaseValue,
        succeeded: Bool,
        script: String
    ) {
        let name = version.isNull ? script : version.text
        switch type {
        case "SCHEMA":
            return
        case _ where !succeeded:
            unfinished.append(name)
        case _ where version.isNull:
            if type == "DELETE" { repeatable.remove(script) } else { repeatable.insert(script) }
        case "DELETE":
            remove(name)
        case _ where type.hasPrefix("UNDO"):
            remove(name)
        case _ where type.hasSuffix("BASELINE"):
            through.append(name)
        default:
            remove(name)
            add(name, checksum: type == "SQL" && !checksum.isNull ? checksum : nil)
        }
    }
}
