import GRDB

/// What a tool's version table says.
struct VersionTable {
    /// The versions that are applied, as the table has them.
    private(set) var versions: [String] = []

    /// The versions up to which everything is applied, without a row for each.
    private(set) var through: [String] = []

    /// The versions that were begun and not ended.
    private(set) var unfinished: [String] = []

    /// The checksums of applied versions, for the tools that keep them.
    private(set) var checksums: [String: DatabaseValue] = [:]

    /// The scripts that have no version.
    private(set) var repeatable: Set<String> = []

    /// Whether the tool has done anything.
    var isEmpty: Bool {
        versions.isEmpty && through.isEmpty && unfinished.isEmpty && repeatable.isEmpty
    }

    /// Reads the table.
    ///
    /// - Parameters:
    ///   - tool: The tool, whose table is there.
    ///   - db: The database.
    init(of tool: MigrationTool, in db: Database) throws {
        let table = "main.\(tool.versionTable)"
        func texts(_ query: String) throws -> [String] {
            try DatabaseValue.fetchAll(db, sql: query).map(\.text)
        }
        switch tool {
        case .dbmate, .diesel, .refinery:
            versions = try texts("SELECT version FROM \(table)")
        case .golangMigrate:
            through = try texts("SELECT version FROM \(table)")
            unfinished = try texts("SELECT version FROM \(table) WHERE dirty <> 0")
        case .sqlx:
            unfinished = try texts("SELECT version FROM \(table) WHERE success <> 1")
            for row in try Row.fetchAll(db, sql: "SELECT version, checksum FROM \(table)") {
                add((row[0] as DatabaseValue).text, checksum: row[1])
            }
        case .goose:
            // The last row of a version counts. The row 0 is no migration: goose adds it when it
            // makes the table.
            versions = try texts(
                """
                SELECT version_id FROM \(table) AS version
                WHERE version_id <> 0 AND is_applied <> 0 AND NOT EXISTS (
                    SELECT 1 FROM \(table) AS later
                    WHERE later.version_id = version.version_id AND later.id > version.id
                )
                """
            )
        case .flyway:
            let query = "SELECT version, type, checksum, success, script FROM \(table)"
            for row in try Row.fetchAll(db, sql: query + " ORDER BY installed_rank") {
                takeFlyway(
                    version: row[0],
                    type: (row[1] as DatabaseValue).text,
                    checksum: row[2],
                    succeeded: row[3] != 0,
                    script: (row[4] as DatabaseValue).text
                )
            }
        }
    }

    private mutating func add(_ version: String, checksum: DatabaseValue) {
        versions.append(version)
        checksums[version] = checksum
    }

    private mutating func remove(_ version: String) {
        versions.removeAll { $0 == version }
        unfinished.removeAll { $0 == version }
        checksums[version] = nil
    }

    /// Follows Flyway's history, in which later rows take back what earlier ones say.
    /// <https://documentation.red-gate.com/fd/flyway-schema-history-table-273973417.html>
    private mutating func takeFlyway(
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
            add(name, checksum: type == "SQL" ? checksum : .null)
        }
    }
}

extension DatabaseValue {
    fileprivate var text: String { storage.value.map { "\($0)" } ?? "NULL" }
}
