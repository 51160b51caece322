import Foundation
import GRDB
import MigrationKit

/// A folder of SQL files, as the steps of a migration.
///
/// ```swift
/// let folder = try MigrationFolder(path: "migrations")
/// let runner = try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false)
/// try runner.migrate(in: writer)
/// ```
///
/// The folder may be one of dbmate, goose, golang-migrate, sqlx, diesel, refinery or Flyway; which,
/// the files themselves tell. <doc:MigrationKitSQL> has the forms, and what happens to what is odd
/// in a file.
///
/// The name without its endings, such as `0001_name`, is the step's identifier: it is in the ledger
/// of every migrated database, and no file that is added later changes it. The steps are in the
/// order of their numbers, which is not the order of the text where the numbers differ in length.
/// The folder has checked that no number is there twice, so the registry needn't look at the order.
///
/// Everything is read and checked when the folder is: a step of it reads no file. What a file
/// must not contain is told by ``MigrationFolderError``, before any database is opened.
public struct MigrationFolder: Sendable {
    /// The folder's path, as it was given.
    public let path: String

    /// The form that the folder has.
    public let format: MigrationFormat

    /// The steps, in the order of their numbers. One without anything that takes it back can't be
    /// rolled back.
    ///
    /// A step throws ``SQLStatementError`` if SQLite refuses a statement.
    public let steps: [MigrationStep<Database>]

    /// The SQL of the steps, by their identifiers.
    public let scripts: [String: MigrationSQL]

    /// What is worth knowing about statements that work, but perhaps not as their author thinks.
    public let notes: [MigrationNote]

    /// The version of each step.
    let versions: [MigrationVersion]

    /// Reads and checks all migrations of a folder.
    ///
    /// Hidden files, folders without SQL and files that don't end in `.sql` are left alone.
    ///
    /// - Parameter path: The folder's path.
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    public init(path: String) throws {
        let folder = SQLFolder(path: path)
        let sources = try MigrationFiles.group(folder.migrationFiles())
            .concurrentMap { try MigrationSource($0, in: folder) }
        guard let first = sources.first else {
            throw MigrationFolderError.empty(path: path)
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
        self.steps = migrations.map(\.step)
        self.scripts = Dictionary(
            uniqueKeysWithValues: migrations.map {
                ($0.file.identifier, MigrationSQL($0.scripts))
            }
        )
        self.notes = migrations.flatMap(\.scripts.notes)
        self.versions = migrations.map(\.file.version)
    }

    private static func step(
        _ file: MigrationFileName,
        _ scripts: MigrationScripts
    ) -> MigrationStep<Database> {
        let up = scripts.up
        var rollback: (@Sendable (Database) throws -> Void)?
        if let down = scripts.down {
            rollback = { try down.run(in: $0) }
        }
        return MigrationStep(
            identifier: file.identifier,
            sourceFile: file.path,
            usesTransaction: scripts.usesTransaction,
            checksum: up.checksum,
            apply: { try up.run(in: $0) },
            rollback: rollback
        )
    }
}

/// The SQL of a step, as it stands in its files.
public struct MigrationSQL: Equatable, Sendable {
    private let scripts: MigrationScripts

    init(_ scripts: MigrationScripts) {
        self.scripts = scripts
    }

    /// What applies the step.
    public var up: String { scripts.up.text }

    /// What takes it back; `nil` if nothing does.
    public var down: String? { scripts.down?.text }

    /// Whether both have the same SQL.
    public static func == (left: MigrationSQL, right: MigrationSQL) -> Bool {
        left.up == right.up && left.down == right.down
    }
}
