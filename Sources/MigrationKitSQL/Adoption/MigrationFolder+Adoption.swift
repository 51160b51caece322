import GRDB

extension MigrationFolder {
    /// The steps that another tool has applied to a database, as its own version table says.
    ///
    /// ```swift
    /// let applied = try database.read { try folder.identifiersApplied(by: .dbmate, in: $0) }
    /// ```
    ///
    /// - Parameters:
    ///   - tool: The tool that has migrated the database.
    ///   - db: The database, in a transaction or not.
    /// - Returns: The identifiers in the folder's order; none if the tool has applied nothing.
    /// - Throws: What ``adoption(from:in:)`` throws.
    public func identifiersApplied(by tool: MigrationTool, in db: Database) throws -> [String] {
        try adoption(from: tool, in: db).identifiers
    }

    /// The steps that another tool has applied to a database, as its own version table says, and
    /// what is worth knowing before the database is continued here.
    ///
    /// Versions are compared as numbers, so that `0001_a` is what the tool calls `1`; those of
    /// diesel's folders as texts. The table is read, and never changed. The checksums of sqlx and
    /// Flyway are compared with the files. The other tools keep none, so the caller must know that
    /// the files are those that the tool has run.
    ///
    /// - Parameters:
    ///   - tool: The tool that has migrated the database.
    ///   - db: The database, in a transaction or not.
    /// - Returns: The identifiers in the folder's order, none if the tool has applied nothing; and
    ///   notes.
    /// - Throws: ``MigrationAdoptionError`` if there is no such table, or if what it says doesn't fit
    ///   the folder; GRDB's `DatabaseError` if the database can't be read.
    public func adoption(
        from tool: MigrationTool,
        in db: Database
    ) throws -> MigrationAdoption {
        guard let columns = try tool.table.columns(in: db) else {
            throw MigrationAdoptionError.noVersionTable(tool)
        }
        guard tool.table.hasMade(columns: Set(columns)) else {
            throw MigrationAdoptionError.unexpectedColumns(tool, columns: columns)
        }
        let table = try tool.table.read(in: db)
        if let version = sorted(table.unfinished).first {
            throw MigrationAdoptionError.unfinishedMigration(tool, version: version)
        }

        let known = Set(versions)
        let unknown = table.versions.filter { recorded in
            version(recorded).map { !known.contains($0) } ?? true
        }
        guard unknown.isEmpty else {
            throw MigrationAdoptionError.unknownVersions(tool, versions: sorted(unknown))
        }
        let applied = Set(table.versions.compactMap(version))
        let through = table.through.compactMap(version).max()
        let identifiers = zip(steps, versions)
            .filter { _, version in
                applied.contains(version) || through.map { version <= $0 } ?? false
            }
            .map(\.0.identifier)
        try checkChecksums(of: table, from: tool)
        return MigrationAdoption(
            tool: tool,
            identifiers: identifiers,
            notes: [orderNote(for: tool), repeatableNote(of: table)].compactMap { $0 }
        )
    }

    private func checkChecksums(of table: VersionTable, from tool: MigrationTool) throws {
        guard !table.checksums.isEmpty else { return }
        let recorded = table.checksums.reduce(into: [MigrationVersion: DatabaseValue]()) {
            if let version = version($1.key) { $0[version] = $1.value }
        }
        let changed = zip(steps, versions).compactMap { step, version -> String? in
            guard let checksum = recorded[version],
                let file = scripts[step.identifier]?.scripts.up.file,
                !tool.table.matches(checksum, file.contents)
            else { return nil }
            return step.identifier
        }
        guard changed.isEmpty else {
            throw MigrationAdoptionError.changedMigrations(tool, identifiers: changed)
        }
    }

    /// What to know where the tool runs the files in another order.
    private func orderNote(for tool: MigrationTool) -> String? {
        guard tool.table.sortsFilesByText else { return nil }
        let files = steps.map(\.sourceFile)
        let theirs = files.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard let (ours, other) = zip(files, theirs).first(where: { $0 != $1 }) else { return nil }
        return """
            \(tool.rawValue) runs files in the order of their names as text, \(other) before \
            \(ours). Here they run in the order of their numbers, \(ours) before \(other).
            """
    }

    private func repeatableNote(of table: VersionTable) -> String? {
        guard !table.repeatable.isEmpty else { return nil }
        return """
            What these scripts without a version have made stays, and nothing here runs them again: \
            \(table.repeatable.sorted().joined(separator: ", ")).
            """
    }

    // MARK: - Versions

    /// Reads a version of a table as the names of this folder's files are read.
    private func version(_ recorded: String) -> MigrationVersion? {
        format.implementation.version(of: recorded)
    }

    /// In the order of the numbers, and what is none at the end.
    private func sorted(_ recorded: [String]) -> [String] {
        recorded.sorted { left, right in
            switch (version(left), version(right)) {
            case (let left?, let right?): left < right
            case (_?, nil): true
            case (nil, _?): false
            case (nil, nil): left < right
            }
        }
    }
}

extension MigrationTool {
    /// The tools whose version tables in a database say that they have applied something.
    ///
    /// A runner knows nothing of these tables, and would apply everything a second time. Call this
    /// before the first run on a database that may be another tool's.
    ///
    /// - Parameter db: The database.
    /// - Returns: The tools; none where no such table has a row of a migration.
    /// - Throws: GRDB's `DatabaseError` if the database can't be read.
    public static func found(in db: Database) throws -> [MigrationTool] {
        let names = Set(allCases.map { "'\($0.versionTable)'" }).sorted().joined(separator: ", ")
        // Most databases have none of them, and then this is all there is to read.
        let isThere = try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM main.sqlite_master
                    WHERE type = 'table' AND name COLLATE NOCASE IN (\(names))
                )
                """
        )
        guard isThere == true else { return [] }
        return try allCases.filter { tool in
            guard let columns = try tool.table.columns(in: db),
                tool.table.hasMade(columns: Set(columns))
            else { return false }
            return try !tool.table.read(in: db).isEmpty
        }
    }
}
