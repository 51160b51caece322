/// The files of one migration.
struct MigrationFiles {
    /// The file that applies the step, or has both parts. It represents the migration.
    let up: MigrationFileName
    /// The file that rolls the step back.
    let down: MigrationFileName?

    /// Groups the files of a folder.
    ///
    /// - Parameter names: The files of migrations in the folder.
    /// - Returns: The migrations, sorted by version.
    /// - Throws: ``MigrationFolderError`` if the names don't form a list of migrations.
    static func group(_ names: [MigrationFileName]) throws -> [MigrationFiles] {
        struct Key: Hashable {
            let format: MigrationFormat?
            let version: MigrationVersion
        }
        // Names that are already sorted need only one pass.
        let names = names.sorted { ($0.version, $0.path) < ($1.version, $1.path) }
        let groups = Dictionary(grouping: names) { Key(format: $0.format, version: $0.version) }
        return try names.compactMap { name in
            let key = Key(format: name.format, version: name.version)
            guard let group = groups[key], group[0].path == name.path else { return nil }
            return try files(group, of: name.version)
        }
    }

    private static func files(
        _ names: [MigrationFileName],
        of version: MigrationVersion
    ) throws -> MigrationFiles {
        let ups = names.filter { $0.role == .up }
        let downs = names.filter { $0.role == .down }
        for sameRole in [ups, downs] where sameRole.count > 1 {
            throw MigrationFolderError.duplicateVersion(
                version.description,
                files: sameRole.map(\.path).sorted()
            )
        }
        if let down = downs.first {
            let shareName = down.format?.implementation.filesShareName ?? true
            guard let up = ups.first, !shareName || up.identifier == down.identifier else {
                throw MigrationFolderError.downWithoutUp(file: down.path)
            }
        }
        return MigrationFiles(up: ups[0], down: downs.first)
    }
}

/// The files of one migration, read, with their format.
struct MigrationSource {
    let files: MigrationFiles
    let format: MigrationFormat
    private let up: SQLOutline
    private let down: SQLOutline?
    private let metadata: SQLFile?

    /// Reads the files.
    ///
    /// - Throws: ``MigrationFolderError`` for text that no format allows.
    init(_ files: MigrationFiles, in folder: SQLFolder) throws {
        self.files = files
        up = try SQLOutline(of: folder.read(files.up.path))
        down = try files.down.map { try SQLOutline(of: folder.read($0.path)) }
        format = files.up.format ?? up.markers.first?.marker.format ?? .upOnly
        metadata = try format.implementation.metadataPath(of: files.up.identifier)
            .flatMap { folder.has($0) ? try folder.read($0) : nil }
    }

    /// Separates the parts according to the format.
    ///
    /// - Throws: ``MigrationFolderError`` for text that this format doesn't allow.
    func parts() throws -> MigrationParts {
        try format.implementation.parts(up: up, down: down, metadata: metadata)
    }
}

/// Both parts of a migration, checked.
struct MigrationScripts: Sendable {
    /// The script that applies the step. It may have no statement: the step is applied anyway.
    let up: SQLScript

    /// What takes it back; `nil` if nothing does.
    let down: SQLScript?

    /// The start of the up part, if it has no statement.
    let emptyUp: SQLPlace?

    /// Whether the file still has only its template.
    let isDraft: Bool

    /// Whether both run in a transaction.
    let usesTransaction: Bool

    /// Notes about statements that are allowed.
    let notes: [MigrationNote]

    /// Checks the parts of a migration.
    ///
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    init(_ parts: MigrationParts, of identifier: String, format: MigrationFormat) throws {
        for part in [parts.up, parts.down].compactMap({ $0 }) {
            try Self.check(part, usesTransaction: parts.usesTransaction, format: format)
        }
        let file = parts.up.outline.file
        let emptyUp = parts.up.statements.isEmpty ? file.place(at: parts.up.start) : nil
        self.up = SQLScript(file: file, ranges: parts.up.ranges)
        self.emptyUp = emptyUp
        self.isDraft = emptyUp != nil && format.implementation.isTemplate(file)
        self.down = parts.down.flatMap(Self.script)
        self.usesTransaction = parts.usesTransaction
        let noStatement =
            isDraft ? nil : emptyUp.map { MigrationNote(noStatementIn: identifier, at: $0) }
        let pragmas = [parts.up, parts.down].compactMap { $0 }.flatMap { part in
            part.statements.compactMap { statement in
                MigrationNote(
                    words: statement.words,
                    in: identifier,
                    usesTransaction: parts.usesTransaction,
                    at: part.outline.file.place(at: statement.range.lowerBound)
                )
            }
        }
        self.notes = [noStatement].compactMap { $0 } + pragmas
    }

    private static func check(
        _ part: MigrationParts.Part,
        usesTransaction: Bool,
        format: MigrationFormat
    ) throws {
        for statement in part.statements {
            guard let refused = RefusedStatement(words: statement.words),
                usesTransaction || refused != .vacuum
            else { continue }
            throw MigrationFolderError.refusedStatement(
                refused,
                in: format,
                at: part.outline.file.place(at: statement.range.lowerBound)
            )
        }
    }

    /// - Returns: `nil` if the part has no statement.
    private static func script(_ part: MigrationParts.Part) -> SQLScript? {
        guard !part.statements.isEmpty else { return nil }
        return SQLScript(file: part.outline.file, ranges: part.ranges)
    }
}
