import Foundation
import GRDB
import MigrationKit

/// A folder of SQL files, as the steps of a migration.
///
/// ```swift
/// let folder = try MigrationFolder(path: "migrations")
/// let runner = try GRDBMigrationRunner(steps: folder.steps)
/// try runner.migrate(in: writer)
/// ```
///
/// The files are laid out in one of two ways:
///
/// - `0001_name.sql` holds both parts, each behind a line of its own: `-- migrate:up` for what
///   applies the step, and `-- migrate:down` for what takes it back.
/// - `0001_name.up.sql` holds what applies the step, `0001_name.down.sql` what takes it back.
///
/// Behind a marker, `transaction:false` says that the step runs outside of a transaction, for the
/// few statements that can't be in one, such as `VACUUM`.
///
/// The name without its endings, `0001_name`, is the step's identifier. A step without anything
/// that takes it back can't be rolled back.
///
/// Everything is read and checked when the folder is: a step of it reads no file. What a file
/// must not contain is told by ``MigrationFolderError``, before any database is opened.
public struct MigrationFolder: Sendable {
    /// The folder's path, as it was given.
    public let path: String

    /// The steps, sorted by identifier.
    ///
    /// A step throws ``SQLStatementError`` if SQLite refuses a statement.
    public let steps: [MigrationStep<Database>]

    /// Reads and checks all migrations of a folder.
    ///
    /// Hidden files, subfolders and files that don't end in `.sql` are left alone.
    ///
    /// - Parameter path: The folder's path.
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    public init(path: String) throws {
        let folder = SQLFolder(path: path)
        let migrations = try MigrationFiles.group(folder.fileNames())
        guard !migrations.isEmpty else {
            throw MigrationFolderError.empty(path: path)
        }
        self.path = path
        self.steps = try migrations.map { identifier, files in
            try Self.step(identifier, files: files, in: folder)
        }
    }

    private static func step(
        _ identifier: String,
        files: MigrationFiles,
        in folder: SQLFolder
    ) throws -> MigrationStep<Database> {
        let scripts = try MigrationScripts(files: files, in: folder)
        let up = scripts.up
        var rollback: (@Sendable (Database) throws -> Void)?
        if let down = scripts.down {
            rollback = { try down.run(in: $0) }
        }
        return MigrationStep(
            identifier: identifier,
            sourceFile: files.main,
            usesTransaction: scripts.usesTransaction,
            apply: { try up.run(in: $0) },
            rollback: rollback
        )
    }
}
