import MigrationKitPages
import MigrationKitCommon
import Foundation
import GRDB

/// A database that can't be written from here, for its mode or its medium, and is read as it lies
/// there. Nothing is left beside it.
///
/// SQLite itself can't do that with a file in WAL mode: it makes a log and shared memory, or gives
/// up where it can't. <https://www.sqlite.org/wal.html#read_only_databases> Its own way,
/// `immutable`, is part of a URI, which GRDB doesn't support.
///
/// Somebody else may be allowed to write. Those who write by a rollback journal are kept out by a
/// lock; what others do to the file is noticed, and ends the reading as a lock would (`SQLITE_BUSY`).
package final class UnwritableFile: @unchecked Sendable {
    // `@unchecked`: everything is constant, and the connection of `guardian`, which isn't Sendable, only
    // keeps its lock: nothing calls it after `init`.

    /// Whether there is a write-ahead log with commits, which are read as well.
    package let usesLog: Bool

    private let file: DatabaseFile
    private let stamp: [Int]
    private let guardian: UnreadFile?

    /// - Parameter timeout: How long to wait for somebody who writes, in seconds.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)``;
    ///   ``EncryptedDatabaseError/needsRecovery(path:)``.
    init(_ file: DatabaseFile, timeout: TimeInterval) throws {
        self.file = file
        guardian = try Self.lock(file, timeout: timeout)
        guard try !file.hasHotJournal else {
            throw EncryptedDatabaseError.needsRecovery(path: file.path)
        }
        stamp = try file.stamp
        usesLog = try file.holdsCommits
    }

    /// Where there are no locks, as on some media, nobody writes under one.
    private static func lock(_ file: DatabaseFile, timeout: TimeInterval) throws -> UnreadFile? {
        guard let guardian = try? UnreadFile(file.absolutePath, isReadOnly: true) else {
            return nil
        }
        let locked = Polling.value(within: timeout) {
            (try? guardian.lockForReading()) == false ? nil : guardian
        }
        guard let locked else { throw EncryptedDatabaseError.locked(path: file.path) }
        return locked
    }

    /// Whether nobody has written the file, or its log, since.
    var isUnchanged: Bool { (try? file.stamp) == stamp }

    /// Lets a connection read the file so, before it has read anything. This ends with the
    /// connection.
    package func prepare(_ connection: OpaquePointer?) throws {
        try UnchangedFile(hidesLog: !usesLog) { self.isUnchanged }.attach(to: connection)
    }
}

extension DatabaseFile {
    /// Whether the file can be read, and can't be written, or not beside others: for its mode, its
    /// folder's, or its medium.
    ///
    /// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)`` if that can't be told.
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

    /// Whether SQLite can read the file as it is without making anything beside it: a rollback
    /// journal says that there is no log, and with the log's shared memory it joins those who use it.
    var isReadableBesideOthers: Bool {
        let path = resolvedPath
        return access(path + "-journal", F_OK) == 0
            || access(path + "-wal", F_OK) == 0 && access(path + "-shm", F_OK) == 0
    }
}
