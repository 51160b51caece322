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

    /// Reads the table, which is there.
    func read(in db: Database) throws -> VersionTable {
        try read("main.\(name)", db)
    }

    /// - Returns: `nil` if there is no such table. Attached and temporary databases are not
    ///   searched.
    func columns(in db: Database) throws -> [String]? {
        guard try db.tableExists(name, in: "main") else { return nil }
        return try db.columns(in: name, in: "main").map { $0.name.lowercased() }
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
        columns: ["id", "version_id", "is_applied"]
    ) { table, db in
        // The last row of a version counts. The row 0 is no migration: goose adds it when it
        // makes the table.
        let query = """
            SELECT version_id FROM \(table) AS version
            WHERE version_id <> 0 AND is_applied <> 0 AND NOT EXISTS (
                SELECT 1 FROM \(table) AS later
                WHERE later.version_id = version.version_id AND later.id > version.id
            )
            """
        return VersionTable(versions: try texts(query, in: db))
    }

    static let golangMigrate = ToolTable(
        name: "schema_migrations",
        columns: ["version", "dirty"]
    ) { table, db in
        let version = try texts("SELECT version FROM \(table)", in: db)
        return VersionTable(
            versions: version,
            through: version,
            unfinished: try texts("SELECT version FROM \(table) WHERE dirty <> 0", in: db)
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
