import Foundation
import GRDB

/// The database that is converted. As long as this is open, nobody else reads or writes it.
///
/// SQLite's exclusive locking mode takes the lock with the first transaction and keeps it after the
/// last. On a write-ahead log it is refused as long as anybody else is connected at all.
/// <https://www.sqlite.org/pragma.html#pragma_locking_mode>
final class ConversionSource {
    let file: DatabaseFile
    let queue: DatabaseQueue
    let identity: FileIdentity
    let journalMode: String
    let byteCount: Int

    private let monitor: ConversionMonitor

    /// Opens and locks a database, and empties its write-ahead log into it.
    ///
    /// - Parameter file: The database, with its links resolved.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``.
    init(
        _ file: DatabaseFile,
        form: DatabaseForm,
        options: EncryptedDatabase.Options,
        monitor: ConversionMonitor
    ) throws {
        self.file = file
        self.monitor = monitor
        guard let identity = FileIdentity(file.absolutePath) else {
            throw EncryptedDatabaseError.noSuchFile(path: file.path)
        }
        self.identity = identity
        // SQLite's locks say nothing of a connection of one's own that does nothing just now.
        guard identity.ownDescriptorCount == 0 else {
            throw DatabaseConversionError.openHere(path: file.path)
        }

        let opened = try monitor.waiting(for: identity.otherProcesses) {
            try Self.openLocked(file, form, options)
        }
        guard let opened else {
            throw DatabaseConversionError.inUse(path: file.path, by: identity.otherProcesses())
        }
        queue = opened
        (journalMode, byteCount) = try opened.inDatabase { db in
            (
                try String.fetchOne(db, sql: "PRAGMA main.journal_mode") ?? "delete",
                try MainFile(of: db.sqliteConnection).size()
            )
        }
        try waitUntilUnused()
    }

    /// Waits until no other process has the file open: one that has it so without a lock would go
    /// on writing to a file that has no name any more.
    func waitUntilUnused() throws {
        var others: [OpenProcess] = []
        let isUnused = try monitor.waiting(
            for: { others },
            {
                others = identity.otherProcesses()
                return others.isEmpty ? true : nil
            }
        )
        guard isUnused != nil else {
            throw DatabaseConversionError.inUse(path: file.path, by: others)
        }
    }

    /// Removes what SQLite keeps beside the file, all of it empty since the file was locked, and
    /// has that reach the disk: a new file of the same name must never find a journal that isn't its
    /// own.
    func removeJournals(in folder: ConversionFolder) throws {
        try queue.inDatabase { db in
            // What was written since: nothing, but a log that is not empty is not to be thrown away.
            try Self.emptyLog(db, file)
        }
        for suffix in ["-wal", "-shm", "-journal"] { unlink(file.absolutePath + suffix) }
        try folder.synchronize()
    }

    /// Copies the file as it is.
    func copyBytes(to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw ConversionFolder.cannotWrite(path, errno) }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        try queue.inDatabase { db in
            let source = try MainFile(of: db.sqliteConnection)
            var offset = 0
            while offset < byteCount {
                try monitor.checkCancellation()
                let count = min(buffer.count, byteCount - offset)
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                try source.read(into: part, at: offset)
                var written = 0
                while written < count {
                    let more = write(
                        descriptor,
                        part.baseAddress.map { $0 + written },
                        count - written
                    )
                    if more < 0, errno == EINTR { continue }
                    guard more > 0 else { throw ConversionFolder.cannotWrite(path, errno) }
                    written += more
                }
                offset += count
            }
        }
    }

    /// Makes the file unreadable, once another has its name.
    ///
    /// Whoever opened it by its name just before is waiting for the lock now. It would go on
    /// working on a file that nobody finds any more, or with a log that belongs to the new one; so
    /// it reads that this is no database. Best effort: no more than that race is lost by it.
    func retire() {
        _ = try? queue.inDatabase { db in
            try MainFile(of: db.sqliteConnection).write([UInt8](repeating: 0, count: 512), at: 0)
        }
    }

    // MARK: -

    /// - Returns: `nil` if others are in the way. No lock is held then: one that waits while it
    ///   holds a lock for reading keeps the others from ever finishing.
    private static func openLocked(
        _ file: DatabaseFile,
        _ form: DatabaseForm,
        _ options: EncryptedDatabase.Options
    ) throws -> DatabaseQueue? {
        do {
            let queue = try Opening(path: file.absolutePath, key: form.key, options: options).run {
                try DatabaseQueue(path: $0, configuration: $1)
            }
            do {
                try queue.inDatabase { db in
                    try db.execute(sql: "PRAGMA main.synchronous = FULL")
                    try db.execute(sql: "BEGIN EXCLUSIVE; COMMIT")
                    try emptyLog(db, file)
                }
            } catch {
                try? queue.close()
                throw error
            }
            return queue
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return nil
        } catch EncryptedDatabaseError.locked {
            return nil
        }
    }

    /// <https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>
    private static func emptyLog(_ db: Database, _ file: DatabaseFile) throws {
        guard
            let row = try Row.fetchOne(db, sql: "PRAGMA main.wal_checkpoint(TRUNCATE)"),
            row[0] == 0
        else { throw EncryptedDatabaseError.locked(path: file.path) }
    }
}
