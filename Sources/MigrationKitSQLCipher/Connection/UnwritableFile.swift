import CSQLCipher
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
        let reader = Reader(self)
        reader.methods = try FileMethods(of: "main", connection, owner: reader) {
            usesLog ? Self.replaceForLog(&$0) : Self.replace(&$0)
        }
    }

    // MARK: - The Methods

    /// What one connection reads by.
    private final class Reader {
        let file: UnwritableFile
        var methods: FileMethods?

        init(_ file: UnwritableFile) {
            self.file = file
        }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
            guard let methods else { return SQLITE_MISUSE }
            let code = methods.read(buffer, at: offset)
            return file.isUnchanged ? code : SQLITE_BUSY
        }
    }

    /// Of a plaintext file without a log.
    private static func replace(_ methods: inout sqlite3_io_methods) {
        methods.xRead = { file, bytes, count, offset in
            let code = UnwritableFile.read(file, bytes, count, offset)
            // > The file format write and read versions (bytes 18 and 19): 1 for rollback
            // > journalling modes and 2 for WAL. With a 2, SQLite would make a log.
            // <https://www.sqlite.org/fileformat.html#file_format_version_numbers>
            let end = offset + sqlite3_int64(count)
            for place in sqlite3_int64(18)...19 where offset <= place && place < end {
                bytes?.storeBytes(of: 1, toByteOffset: Int(place - offset), as: UInt8.self)
            }
            return code
        }
        methods.xLock = { _, level in level > SQLITE_LOCK_SHARED ? SQLITE_READONLY : SQLITE_OK }
        methods.xUnlock = { _, _ in SQLITE_OK }
        // A journal is there because somebody is about to write, not because he was killed.
        methods.xCheckReservedLock = { _, isReserved in
            isReserved?.pointee = 1
            return SQLITE_OK
        }
    }

    /// Of a file with a log, encrypted or not. SQLite keeps the log's index in its own memory if it
    /// has the database for itself, so the lock for that always appears to be granted.
    /// <https://www.sqlite.org/wal.html#use_of_wal_without_shared_memory>
    private static func replaceForLog(_ methods: inout sqlite3_io_methods) {
        methods.xRead = { UnwritableFile.read($0, $1, $2, $3) }
        methods.xLock = { _, _ in SQLITE_OK }
        methods.xUnlock = { _, _ in SQLITE_OK }
        methods.xCheckReservedLock = { _, isReserved in
            isReserved?.pointee = 0
            return SQLITE_OK
        }
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ bytes: UnsafeMutableRawPointer?,
        _ count: Int32,
        _ offset: sqlite3_int64
    ) -> Int32 {
        guard let bytes, let reader = FileMethods.owner(of: file, Reader.self) else {
            return SQLITE_MISUSE
        }
        let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
        return reader.read(into: buffer, at: Int(offset))
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
