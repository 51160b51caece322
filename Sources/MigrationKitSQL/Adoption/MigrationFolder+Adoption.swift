import GRDB

extension MigrationFolder {
    /// The steps that another tool has applied to a database, as its own version table says.
    ///
    /// ```swift
    /// let applied = try database.read { try folder.identifiersApplied(by: .dbmate, in: $0) }
    /// ```
    ///
    /// Versions are compared as numbers, so that `0001_a` is what the tool calls `1`. The table is
    /// read, and never changed. That the files are those that the tool has run is for the caller to
    /// know: of the tools, some keep a checksum, but each has its own.
    ///
    /// - Parameters:
    ///   - tool: The tool that has migrated the database.
    ///   - db: The database, in a transaction or not.
    /// - Returns: The identifiers in the folder's order; none if the tool has applied nothing.
    /// - Throws: ``MigrationAdoptionError`` if there is no such table, or if what it says doesn't fit
    ///   the folder; GRDB's `DatabaseError` if the database can't be read.
    public func identifiersApplied(by tool: MigrationTool, in db: Database) throws -> [String] {
        // A table of that name in an attached or in the temporary database is none of the tool's.
        guard try db.tableExists(tool.versionTable, in: "main") else {
            throw MigrationAdoptionError.noVersionTable(tool)
        }
        let columns = try db.columns(in: tool.versionTable, in: "main").map { $0.name.lowercased() }
        guard tool.hasMade(columns: Set(columns)) else {
            throw MigrationAdoptionError.unexpectedColumns(tool, columns: columns)
        }
        let unfinished = try tool.unfinishedVersions(in: db)
        if let version = unfinished.first {
            throw MigrationAdoptionError.unfinishedMigration(tool, version: version)
        }

        let recorded = try tool.appliedVersions(in: db)
        let known = Set(versions)
        let unknown = recorded.filter { version in
            MigrationVersion(recorded: version).map { !known.contains($0) } ?? true
        }
        guard unknown.isEmpty else {
            throw MigrationAdoptionError.unknownVersions(tool, versions: unknown)
        }
        let applied = recorded.compactMap(MigrationVersion.init(recorded:))
        let isApplied: (MigrationVersion) -> Bool
        switch tool {
        case .golangMigrate:
            isApplied = { version in applied.contains { version <= $0 } }
        case .dbmate, .goose, .sqlx, .diesel, .refinery:
            isApplied = Set(applied).contains
        }
        return zip(steps, versions).filter { isApplied($0.1) }.map(\.0.identifier)
    }
}

extension MigrationTool {
    /// The versions that the table says are applied, as the table has them. Of golang-migrate, the
    /// last one.
    fileprivate func appliedVersions(in db: Database) throws -> [String] {
        switch self {
        case .dbmate, .golangMigrate, .sqlx, .diesel, .refinery:
            try versions("SELECT version FROM main.\(versionTable)", in: db)
        case .goose:
            // The last row of a version counts. The row 0 is no migration: goose adds it when it
            // makes the table.
            try versions(
                """
                SELECT version_id FROM main.\(versionTable) AS version
                WHERE version_id <> 0 AND is_applied <> 0 AND NOT EXISTS (
                    SELECT 1 FROM main.\(versionTable) AS later
                    WHERE later.version_id = version.version_id AND later.id > version.id
                )
                """,
                in: db
            )
        }
    }

    /// The versions of which the table says that they were begun and not ended.
    fileprivate func unfinishedVersions(in db: Database) throws -> [String] {
        switch self {
        case .golangMigrate:
            try versions("SELECT version FROM main.\(versionTable) WHERE dirty <> 0", in: db)
        case .sqlx:
            try versions("SELECT version FROM main.\(versionTable) WHERE success <> 1", in: db)
        case .dbmate, .goose, .diesel, .refinery:
            []
        }
    }

    /// What a query gives, in the order of the numbers, and what is none at the end.
    private func versions(_ query: String, in db: Database) throws -> [String] {
        try Row.fetchAll(db, sql: query)
            .map { row in (row[0] as DatabaseValue).storage.value.map { "\($0)" } ?? "NULL" }
            .sorted { left, right in
                switch (MigrationVersion(recorded: left), MigrationVersion(recorded: right)) {
                case (let left?, let right?): left < right
                case (_?, nil): true
                case (nil, _?): false
                case (nil, nil): left < right
                }
            }
    }
}

extension MigrationVersion {
    /// Reads what a version table has: digits, and nothing else.
    fileprivate init?(recorded text: String) {
        guard text.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
        self.init(of: text, separators: "")
    }
}
