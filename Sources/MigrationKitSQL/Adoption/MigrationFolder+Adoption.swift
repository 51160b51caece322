import GRDB

extension MigrationFolder {
    /// The steps that another tool has applied to a database, according to its version table.
    ///
    /// ```swift
    /// let applied = try database.read { try folder.identifiersApplied(by: .dbmate, in: $0) }
    /// ```
    ///
    /// - Parameters:
    ///   - tool: The tool that has migrated the database.
    ///   - table: The name of the tool's table; `nil` is its default name.
    ///   - db: The database, in a transaction or not.
    /// - Returns: The identifiers in the folder's order; empty if the tool has applied nothing.
    /// - Throws: What ``adoption(from:table:in:)`` throws.
    public func identifiersApplied(
        by tool: MigrationTool,
        table: String? = nil,
        in db: Database
    ) throws -> [String] {
        try adoption(from: tool, table: table, in: db).identifiers
    }

    /// The steps that another tool has applied to a database, according to its version table, and
    /// notes for continuing the database here.
    ///
    /// Versions are compared as numbers, so `0001_a` is what the tool calls `1`. Versions of
    /// diesel's folders are compared as text. The table is read, and never changed. The checksums
    /// of sqlx and Flyway are compared with the files; if only line ends differ, there is a note. The other tools' checksums are not, so the
    /// caller must know that the files are those that the tool has run.
    ///
    /// For `PRAGMA user_version`, the folder must have a file of that number. A database without
    /// tables has none applied.
    ///
    /// - Parameters:
    ///   - tool: The tool that has migrated the database.
    ///   - name: The name of the tool's table; `nil` is its default name. `PRAGMA user_version` has
    ///     none.
    ///   - db: The database, in a transaction or not.
    /// - Returns: The identifiers in the folder's order, empty if the tool has applied nothing; and
    ///   the notes.
    /// - Throws: ``MigrationAdoptionError`` if there is no such table, or if it doesn't match the
    ///   folder; GRDB's `DatabaseError` if the database can't be read.
    public func adoption(
        from tool: MigrationTool,
        table name: String? = nil,
        in db: Database
    ) throws -> MigrationAdoption {
        let table =
            try tool.table.map { try Self.read($0, of: tool, name ?? $0.name, in: db) }
            ?? VersionTable(userVersionOf: db)
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
        let lineEnds = try otherLineEnds(in: table, from: tool)
        return MigrationAdoption(
            tool: tool,
            identifiers: identifiers,
            notes: [orderNote(for: tool), repeatableNote(of: table)].compactMap { $0 } + lineEnds
        )
    }

    private static func read(
        _ table: ToolTable,
        of tool: MigrationTool,
        _ name: String,
        in db: Database
    ) throws -> VersionTable {
        guard let columns = try ToolTable.columns(of: name, in: db) else {
            throw MigrationAdoptionError.noVersionTable(tool, table: name)
        }
        let definitions = columns.map(\.definition)
        guard table.shapes.contains(definitions) else {
            throw MigrationAdoptionError.unexpectedColumns(tool, table: name, columns: definitions)
        }
        return try table.read(name, in: db)
    }

    /// Compares the recorded checksums with the files.
    ///
    /// - Returns: A note for the files whose text is that of the checksum but for its line ends: git
    ///   writes them as the system has them, which `core.autocrlf` says.
    /// - Throws: ``MigrationAdoptionError/changedMigrations(_:identifiers:)``.
    private func otherLineEnds(
        in table: VersionTable,
        from tool: MigrationTool
    ) throws -> [String] {
        guard !table.checksums.isEmpty, let known = tool.table else { return [] }
        let recorded = table.checksums.reduce(into: [MigrationVersion: DatabaseValue]()) {
            if let version = version($1.key) { $0[version] = $1.value }
        }
        var changed: [String] = []
        var others: [LineEnd: [String]] = [:]
        for (step, version) in zip(steps, versions) {
            guard let checksum = recorded[version],
                let file = scripts[step.identifier]?.scripts.up.file,
                !known.matches(checksum, file.contents)
            else { continue }
            let applied = LineEnd.allCases.first {
                known.matches(checksum, $0.given(to: file.contents))
            }
            if let applied {
                others[applied, default: []].append(step.identifier)
            } else {
                changed.append(step.identifier)
            }
        }
        guard changed.isEmpty else {
            throw MigrationAdoptionError.changedMigrations(tool, identifiers: changed)
        }
        return LineEnd.allCases.compactMap { end in
            others[end].map { identifiers in
                """
                \(tool.rawValue) applied \(identifiers.joined(separator: ", ")) with \(end.name) as line \
                ends, and here the lines end otherwise; git's core.autocrlf does so. Nothing else \
                differs. In new databases, a literal of several lines has the line ends of the file.
                """
            }
        }
    }

    /// A note if the tool runs the files in another order.
    private func orderNote(for tool: MigrationTool) -> String? {
        guard tool.table?.sortsFilesByText == true else { return nil }
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
            These scripts have no version. They are not run again, and what they made stays: \
            \(table.repeatable.sorted().joined(separator: ", ")). 'verify' finds it as drift until a \
            migration makes it.
            """
    }

    // MARK: - Versions

    /// Parses a version of a table like those of this folder's files.
    private func version(_ recorded: String) -> MigrationVersion? {
        format.implementation.version(of: recorded)
    }

    /// Sorted by number. Anything else comes last.
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

// MARK: - Line End

/// What ends the lines of a file.
private enum LineEnd: CaseIterable {
    case lineFeed, carriageReturnAndLineFeed

    var name: String {
        switch self {
        case .lineFeed: "LF"
        case .carriageReturnAndLineFeed: "CRLF"
        }
    }

    /// The text with this line end after each line.
    func given(to bytes: [UInt8]) -> [UInt8] {
        let (feed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for byte in bytes {
            if byte == feed {
                if result.last == carriageReturn { result.removeLast() }
                if self == .carriageReturnAndLineFeed { result.append(carriageReturn) }
            }
            result.append(byte)
        }
        return result
    }
}
