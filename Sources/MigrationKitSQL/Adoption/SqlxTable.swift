import GRDB

extension ToolTable {
    static let sqlx = ToolTable(
        name: "_sqlx_migrations",
        columns: ["version", "success", "checksum"],
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
