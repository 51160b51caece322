import GRDB
import MigrationKitPages

/// A database that nobody writes meanwhile, such as a backup, or one that this process can't write
/// because of its mode or its medium. It is read in place, and nothing is left beside it.
///
/// SQLite itself can't do that with a file in WAL mode: it creates a log and shared memory, or
/// gives up if it can't. <https://www.sqlite.org/wal.html#read_only_databases> SQLite's option
/// `immutable` is part of a URI, which GRDB doesn't support.
///
/// Other processes may be allowed to write. A lock keeps out those that use a rollback journal. Any
/// other write is noticed.
package final class RestingFile: @unchecked Sendable {
    // `@unchecked`: everything is constant. The connection of `lock`, which isn't Sendable, only
    // keeps its lock: nothing calls it after `init`.

    /// Whether there is a write-ahead log with commits. They are read, too.
    package let usesLog: Bool

    private let file: DatabaseFile
    private let stamp: [Int]
    /// `nil` if the medium has no locks. Then nobody writes under one.
    private let lock: KeylessConnection?

    /// - Parameter waiting: Calls its argument until that returns a value, or gives up.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)``;
    ///   ``EncryptedDatabaseError/needsRecovery(path:)`` if a program was stopped in the middle of a
    ///   change; what `waiting` throws.
    init(
        _ file: DatabaseFile,
        _ waiting: (_ attempt: () -> KeylessConnection?) throws -> KeylessConnection?
    ) throws {
        self.file = file
        lock = try? KeylessConnection(file.absolutePath, isReadOnly: true)
        if let lock {
            let locked = try waiting { (try? lock.lockForReading()) == false ? nil : lock }
            guard locked != nil else { throw EncryptedDatabaseError.locked(path: file.path) }
        }
        guard try !file.hasHotJournal else {
            throw EncryptedDatabaseError.needsRecovery(path: file.path)
        }
        stamp = try file.stamp
        usesLog = try file.holdsCommits
    }

    /// Whether a connection is one to this file. A new database may be opened like it.
    func isFile(of db: Database) -> Bool { db.filePath == file.resolvedPath }

    /// Whether somebody has written the file or its log since.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the system doesn't say.
    var wasWritten: Bool { get throws { try file.stamp != stamp } }

    /// Whether it is known that nobody has.
    var isUnchanged: Bool { (try? wasWritten) == false }

    /// Makes a connection read the file in place. A write by somebody else ends its reading with
    /// `SQLITE_BUSY`. Call it before the connection's first read. It applies until the connection is
    /// closed.
    package func prepare(_ connection: OpaquePointer?) throws {
        try RestingFileReader(hidesLog: !usesLog) { self.isUnchanged }.attach(to: connection)
    }
}
