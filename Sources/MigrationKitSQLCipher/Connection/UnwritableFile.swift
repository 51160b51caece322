import MigrationKitPages
import MigrationKitCommon
import Foundation
import GRDB

/// A database that this process can't write, because of its mode or its medium. It is read in
/// place, and nothing is left beside it.
///
/// SQLite itself can't do that with a file in WAL mode: it creates a log and shared memory, or
/// gives up if it can't. <https://www.sqlite.org/wal.html#read_only_databases> SQLite's option
/// `immutable` is part of a URI, which GRDB doesn't support.
///
/// Other processes may be allowed to write. A lock keeps out those that use a rollback journal. Any
/// other write is noticed, and ends the reading with `SQLITE_BUSY`.
package final class UnwritableFile: @unchecked Sendable {
    // `@unchecked`: everything is constant. The connection of `guardian`, which isn't Sendable,
    // only keeps its lock: nothing calls it after `init`.

    /// Whether there is a write-ahead log with commits. They are read, too.
    package let usesLog: Bool

    private let file: DatabaseFile
    private let stamp: [Int]
    private let guardian: UnreadFile?

    /// - Parameter timeout: How long to wait for another process that writes, in seconds.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)``;
    ///   ``EncryptedDatabaseError/needsRecovery(path:)``.
    init(_ file: DatabaseFile, timeout: TimeInterval) throws {
        self.file = file
        guardian = try UnreadFile.guarding(file) { Polling.value(within: timeout, $0) }
        stamp = try file.stamp
        usesLog = try file.holdsCommits
    }

    /// Whether nobody has written the file or its log since.
    var isUnchanged: Bool { (try? file.stamp) == stamp }

    /// Makes a connection read the file in place. Call it before the connection's first read. It
    /// applies until the connection is closed.
    package func prepare(_ connection: OpaquePointer?) throws {
        try UnchangedFile(hidesLog: !usesLog) { self.isUnchanged }.attach(to: connection)
    }
}

extension DatabaseFile {
    /// Whether the file can be read but not written, or its folder can't be written: because of the
    /// modes or the medium.
    ///
    /// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)`` if this can't be checked.
    var isUnwritable: Bool {
        get throws {
            do {
                try checkAccess(forWriting: true)
                return false
            } catch EncryptedDatabaseError.permissionDenied {
                return false
            } catch EncryptedDatabaseError.readOnly, EncryptedDatabaseError.readOnlyFolder {
                return true
            }
        }
    }

    /// Whether SQLite can read the file without creating anything beside it. With a rollback
    /// journal there is no log, and with the log's shared memory SQLite joins the processes that
    /// use it.
    var isReadableBesideOthers: Bool {
        let path = resolvedPath
        return access(path + "-journal", F_OK) == 0
            || access(path + "-wal", F_OK) == 0 && access(path + "-shm", F_OK) == 0
    }
}
