import GRDB

/// Everything about a tool's version table: how it is recognized and read, and what its checksums
/// are. ``MigrationTool`` describes the tables.
struct ToolTable: Sendable {
    /// The table's default name.
    let name: String

    /// The table's columns, as releases of the tool make them: in order, each with its type and its
    /// constraints, in small letters. See ``columns(of:in:)``.
    let shapes: [[String]]

    /// Whether nobody else makes such a table, so that it is this tool's under any name.
    var isUnmistakable = false

    /// Returns SQL that is true for a row that the tool doesn't write.
    let misfits: @Sendable (_ table: String) -> String

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
    ///
    /// - Parameters:
    ///   - table: Its name. An app's own table may have a column `version`, too: unless the columns
    ///     leave no doubt, the name is the tool's or speaks of migrations.
    ///   - columns: Its columns.
    func hasMade(_ table: String, columns: [TableColumn]) -> Bool {
        shapes.contains(columns.map(\.definition))
            && (isUnmistakable || table.lowercased() == name || table.speaksOfMigrations)
    }

    /// Whether the tool writes such rows as the table has.
    ///
    /// One row of a table that only its name connects with a tool may be the number to which an app
    /// counts. The tool would have a row for each migration.
    func hasWritten(_ table: String, in db: Database) throws -> Bool {
        let source = Self.source(table)
        guard
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM \(source) WHERE \(misfits(source)))"
            ) == false
        else { return false }
        guard !isUnmistakable, table.lowercased() != name else { return true }
        return try Bool.fetchOne(db, sql: "SELECT count(*) > 1 FROM \(source)") ?? false
    }

    /// Reads the table of the name, which is there.
    func read(_ table: String, in db: Database) throws -> VersionTable {
        try read(Self.source(table), db)
    }

    /// A table's name in SQL.
    static func source(_ table: String) -> String {
        "main.\"\(table.escaping("\"", as: "\"\""))\""
    }

    /// - Returns: `nil` if there is no such table. Attached and temporary databases are not
    ///   searched.
    static func columns(of table: String, in db: Database) throws -> [TableColumn]? {
        guard try db.tableExists(table, in: "main") else { return nil }
        return try TableColumn.fetchAll(
            db,
            sql: "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?, 'main')",
            arguments: [table]
        )
    }

    /// SQL that is true for a boolean that isn't false. Some drivers write booleans as text.
    private static func isTrue(_ column: String) -> String {
        "lower(\(column)) NOT IN ('0', '0.0', 'f', 'false')"
    }

    /// SQL that is true for what is no boolean.
    private static func isNoBoolean(_ column: String) -> String {
        "coalesce(lower(\(column)) NOT IN ('0', '0.0', 'f', 'false', '1', '1.0', 't', 'true'), 1)"
    }

    /// SQL that is true for what isn't text of digits alone.
    private static func isNoNumber(_ column: String) -> String {
        "typeof(\(column)) <> 'text' OR \(column) = '' OR \(column) GLOB '*[^0-9]*'"
    }
}

extension String {
    /// Whether it is the name of a table that is about migrations or versions of the schema.
    var speaksOfMigrations: Bool {
        let name = lowercased()
        return [
            "migrat", "schema_version", "schemaversion", "schema_history", "db_version",
            "dbversion",
        ].contains { name.contains($0) }
    }
}

/// A column of a table that may be a tool's.
struct TableColumn: FetchableRecord {
    let name: String

    /// The name, the type and the constraints, in small letters, such as `version int not null`.
    let definition: String

    init(row: Row) {
        name = row["name"]
        let type: String = row["type"]
        let parts = [
            name, type, row["notnull"] == 0 ? "" : "not null", row["pk"] == 0 ? "" : "primary key",
        ]
        definition = parts.filter { !$0.isEmpty }.joined(separator: " ").lowercased()
    }
}

// MARK: - Tools without checksums that can be compared

extension ToolTable {
    /// <https://github.com/amacneil/dbmate/blob/main/pkg/driver/sqlite/sqlite.go>
    static let dbmate = ToolTable(
        name: "schema_migrations",
        // The second is that of its first releases. That of Rails is NOT NULL, Ecto's an INTEGER.
        shapes: [["version varchar(128) primary key"], ["version varchar(255) primary key"]],
        misfits: { _ in isNoNumber("version") },
        sortsFilesByText: true,
        read: versions
    )

    /// <https://github.com/pressly/goose/blob/main/database/dialect/sqlite3.go>
    static let goose = ToolTable(
        name: "goose_db_version",
        shapes: [
            [
                "id integer primary key", "version_id integer not null",
                "is_applied integer not null", "tstamp timestamp",
            ],
            [
                "id integer primary key", "version_id bigint not null",
                "is_applied boolean not null", "tstamp timestamp",
            ],
        ],
        isUnmistakable: true,
        misfits: { table in
            """
            typeof(version_id) <> 'integer' OR version_id < 0 OR \(isNoBoolean("is_applied"))
            OR NOT EXISTS (SELECT 1 FROM \(table) WHERE version_id = 0)
            """
        },
        read: { table, db in
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
    )

    /// <https://github.com/golang-migrate/migrate/blob/master/database/sqlite3/sqlite3.go>
    static let golangMigrate = ToolTable(
        name: "schema_migrations",
        shapes: [["version uint64", "dirty bool"]],
        isUnmistakable: true,
        misfits: { table in
            """
            typeof(version) <> 'integer' OR \(isNoBoolean("dirty"))
            OR (SELECT count(*) FROM \(table)) > 1
            """
        },
        read: { table, db in
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
    )

    /// <https://github.com/diesel-rs/diesel/blob/master/diesel/src/migration/setup_migration_table.sql>
    static let diesel = ToolTable(
        name: "__diesel_schema_migrations",
        shapes: ["varchar(50)", "varchar"].map {
            ["version \($0) not null primary key", "run_on timestamp not null"]
        },
        misfits: { _ in
            "typeof(version) <> 'text' OR version = '' OR version GLOB '*-*' OR run_on IS NULL"
        },
        read: versions
    )

    /// <https://github.com/rust-db/refinery/blob/main/refinery_core/src/traits/mod.rs>
    static let refinery = ToolTable(
        name: "refinery_schema_history",
        // The second is that of its larger versions.
        shapes: ["int4", "int8"].map {
            [
                "version \($0) primary key", "name varchar(255)", "applied_on varchar(255)",
                "checksum varchar(255)",
            ]
        },
        misfits: { _ in
            """
            typeof(version) <> 'integer' OR typeof(name) <> 'text'
            OR coalesce(applied_on NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*', 1)
            OR \(isNoNumber("checksum"))
            """
        },
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
        shapes: [
            [
                "version bigint primary key", "description text not null",
                "installed_on timestamp not null", "success boolean not null",
                "checksum blob not null", "execution_time bigint not null",
            ]
        ],
        isUnmistakable: true,
        misfits: { _ in
            """
            typeof(version) <> 'integer' OR typeof(checksum) <> 'blob' OR \(isNoBoolean("success"))
            """
        },
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
        // The second is that of releases before 4.
        shapes: [
            [
                "installed_rank int not null primary key", "version varchar(50)",
            ] + flywayColumns,
            [
                "version_rank int not null", "installed_rank int not null",
                "version varchar(50) not null primary key",
            ] + flywayColumns,
        ],
        isUnmistakable: true,
        misfits: { _ in
            """
            typeof(installed_rank) <> 'integer' OR type NOT GLOB '[A-Z]*' OR \(isNoBoolean("success"))
            """
        },
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

    private static let flywayColumns = [
        "description varchar(200) not null", "type varchar(20) not null",
        "script varchar(1000) not null", "checksum int", "installed_by varchar(100) not null",
        "installed_on text not null", "execution_time int not null", "success boolean not null",
    ]

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
