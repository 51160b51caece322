import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon

/// A folder of SQL files, as the steps of a migration.
///
/// ```swift
/// let folder = try MigrationFolder(path: "migrations")
/// let runner = try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false)
/// try runner.migrate(in: writer)
/// ```
///
/// The folder may have the format of dbmate, goose, golang-migrate, sqlx, diesel, refinery or
/// Flyway, which is recognized from its files. <doc:MigrationKitSQL> describes the formats, and how
/// unusual content is handled.
///
/// The name without its endings, such as `0001_name`, is the step's identifier: it is recorded in
/// the ledger of every migrated database, and files that are added later don't change it. The steps
/// are sorted by number. That differs from text order if the numbers differ in length. Steps of
/// diesel's folders are in diesel's order, which is text order. The folder has checked that each
/// version is unique, so the registry needn't check the order.
///
/// All files are read and checked when the folder is created. Running a step reads no file. Invalid
/// content throws a ``MigrationFolderError`` before any database is opened.
public struct MigrationFolder: Sendable {
    /// The folder's path, as it was given.
    public let path: String

    /// The format of the folder.
    public let format: MigrationFormat

    /// The steps, sorted by version. A step without a down part can't be rolled back, unless it has
    /// no statement at all.
    ///
    /// A step throws ``SQLStatementError`` if SQLite refuses a statement. Drafts are included, and
    /// throw ``MigrationFolderError/emptyUpPart(at:)``.
    public let steps: [MigrationStep<Database>]

    /// The SQL of the steps, by their identifiers.
    public let scripts: [String: MigrationSQL]

    /// Notes about statements that work, but perhaps not as their author expects.
    public let notes: [MigrationNote]

    /// The SQL files that are no migrations by their names, and that golang-migrate ignores, too.
    /// Empty in the other formats, where such a file is an error.
    public let ignoredFiles: [String]

    /// The identifiers of the steps whose files are unchanged since
    /// ``create(_:in:format:numbering:names:sql:now:)``, in order. ``checkForDrafts(in:)`` refuses them.
    public var drafts: [String] {
        draftPlaces.map(\.identifier)
    }

    private let draftPlaces: [(identifier: String, place: SQLPlace)]

    /// The version of each step.
    let versions: [MigrationVersion]

    /// Reads and checks all migrations of a folder.
    ///
    /// Hidden files, folders without SQL and files that don't end in `.sql` are ignored. Several
    /// histories, each in a subfolder, are refused.
    ///
    /// - Parameters:
    ///   - path: The folder's path.
    ///   - names: The names of its files, if they are no known tool's.
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    public init(path: String, names: MigrationNamePattern? = nil) throws {
        try self.init(reading: SQLFolder(path: path, pattern: names))
    }

    init(reading folder: SQLFolder) throws {
        let path = folder.path
        let names = try folder.names()
        let sources = try MigrationFiles.group(names.migrations)
            .concurrentMap { try MigrationSource($0, in: folder) }
        guard let first = sources.first else {
            let folders = folder.foldersOfMigrations()
            throw folders.isEmpty
                ? MigrationFolderError.empty(path: path)
                : .severalHistories(path: path, folders: folders)
        }
        if let other = sources.first(where: { $0.format != first.format }) {
            throw MigrationFolderError.mixedFormats(
                first.format,
                file: first.files.up.path,
                other.format,
                otherFile: other.files.up.path
            )
        }
        let format = first.format
        let migrations = try sources.concurrentMap { source in
            let file = source.files.up
            let scripts = try MigrationScripts(source.parts(), of: file.identifier, format: format)
            return (file: file, scripts: scripts, step: Self.step(file, scripts))
        }
        self.path = path
        self.format = format
        self.ignoredFiles = names.ignored
        self.steps = migrations.map(\.step)
        self.scripts = Dictionary(
            uniqueKeysWithValues: migrations.map {
                ($0.file.identifier, MigrationSQL($0.scripts))
            }
        )
        self.notes = migrations.flatMap(\.scripts.notes)
        self.versions = migrations.map(\.file.version)
        self.draftPlaces = migrations.compactMap { file, scripts, _ in
            guard scripts.isDraft, let place = scripts.emptyUp else { return nil }
            return (file.identifier, place)
        }
    }

    /// Throws if there are drafts. Call it before a run, which would fail at the first draft.
    ///
    /// - Parameter identifiers: The steps that will run.
    /// - Throws: ``MigrationFolderError/emptyUpPart(at:)`` for the first draft among them.
    public func checkForDrafts(in identifiers: some Sequence<String>) throws {
        guard !draftPlaces.isEmpty else { return }
        let identifiers = Set(identifiers)
        if let draft = draftPlaces.first(where: { identifiers.contains($0.identifier) }) {
            throw MigrationFolderError.emptyUpPart(at: draft.place)
        }
    }

    private static func step(
        _ file: MigrationFileName,
        _ scripts: MigrationScripts
    ) -> MigrationStep<Database> {
        let up = scripts.up
        var rollback: (@Sendable (Database) throws -> Void)?
        if let down = scripts.down {
            rollback = { try down.run(in: $0) }
        } else if scripts.emptyUp != nil {
            // Nothing was done, so there is nothing to undo.
            rollback = { _ in }
        }
        let draft = scripts.isDraft ? scripts.emptyUp : nil
        return MigrationStep(
            identifier: file.identifier,
            sourceFile: file.path,
            usesTransaction: scripts.usesTransaction,
            checksum: scripts.checksum,
            older: scripts.older,
            // It is run in a transaction, if it is.
            rollbackSQL: scripts.usesTransaction && rollback != nil
                ? scripts.down?.text ?? "" : nil,
            requirements: scripts.requirements,
            checks: scripts.checks,
            batches: scripts.batches,
            apply: { db in
                if let draft { throw MigrationFolderError.emptyUpPart(at: draft) }
                try up.run(in: db)
            },
            rollback: rollback
        )
    }
}

// MARK: - Migration Files

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
            guard !ups.isEmpty else { throw MigrationFolderError.downWithoutUp(file: down.path) }
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
            .flatMap { try folder.has($0) ? folder.read($0) : nil }
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

    /// What must hold before the step.
    let requirements: [CheckQuery]

    /// What must hold after it.
    let checks: [CheckQuery]

    /// The statements that apply the step, if they run in batches.
    let batches: [MigrationBatch]

    /// That of the statements that apply the step, its checks included.
    let checksum: String?

    /// The start of the up part, if it has no statement.
    let emptyUp: SQLPlace?

    /// Whether the file still has only its template.
    let isDraft: Bool

    /// Whether both run in a transaction.
    let usesTransaction: Bool

    /// What the author says that the step means for versions that don't know it.
    let older: OlderVersions?

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
        let checkParts = try Self.checkParts(of: parts)
        requirements = try checkParts.filter { $0.marker == .require }
            .flatMap { try $0.checks(in: file) }
        checks = try checkParts.filter { $0.marker == .check }.flatMap { try $0.checks(in: file) }
        let up = parts.up
        batches = try BatchComment.batches(in: up.outline, of: up.statements) { place in
            place >= up.start && !up.ranges.contains { $0.contains(place) }
        }
        let checkRanges = checkParts.map(\.range)
        let above = checkRanges.filter { $0.lowerBound < parts.up.start }
        checksum = SQLScript(file: file, ranges: above + parts.up.ranges).checksum
        let emptyUp = parts.up.statements.isEmpty ? file.place(at: parts.up.start) : nil
        self.up = SQLScript(file: file, ranges: parts.up.ranges.without(checkRanges))
        self.emptyUp = emptyUp
        self.isDraft = emptyUp != nil && format.implementation.isTemplate(file)
        self.down = parts.down.flatMap(Self.script)
        self.usesTransaction = parts.usesTransaction
        self.older = try OlderComment.read(in: parts.up.outline)
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

    /// The parts with checks, which belong to what applies the step.
    private static func checkParts(of parts: MigrationParts) throws -> [CheckPart] {
        let outline = parts.up.outline
        func isAllowed(_ marker: (text: String, place: Int)) -> Bool {
            marker.text != CheckPart.Marker.end.text
                && (marker.place < parts.up.start
                    || parts.up.ranges.contains { $0.contains(marker.place) })
        }
        func refuse(_ marker: (text: String, place: Int)?, in file: SQLFile) throws {
            guard let marker else { return }
            throw MigrationFolderError.misplacedCheck(
                marker.text,
                at: file.place(at: marker.place)
            )
        }
        try refuse(outline.checkMarkers.first { !isAllowed($0) }, in: outline.file)
        // A file of its own.
        if let down = parts.down?.outline, down.file.name != outline.file.name {
            try refuse(down.checkMarkers.first, in: down.file)
        }
        return outline.checkParts
    }

    private static func check(
        _ part: MigrationParts.Part,
        usesTransaction: Bool,
        format: MigrationFormat
    ) throws {
        guard let (kind, statement) = part.refused(usesTransaction: usesTransaction).first else {
            return
        }
        throw MigrationFolderError.refusedStatement(
            kind,
            in: format,
            at: part.outline.file.place(at: statement.range.lowerBound)
        )
    }

    /// - Returns: `nil` if the part has no statement.
    private static func script(_ part: MigrationParts.Part) -> SQLScript? {
        guard !part.statements.isEmpty else { return nil }
        return SQLScript(file: part.outline.file, ranges: part.ranges)
    }
}
