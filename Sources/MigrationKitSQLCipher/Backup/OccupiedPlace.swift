import CSQLCipher
import Foundation

/// The file that a backup takes the place of, whatever is in it. It is locked, and not read.
final class OccupiedPlace: HeldDatabase {
    let file: DatabaseFile
    let identity: FileIdentity
    let monitor: ConversionMonitor

    private var held: UnreadFile?
    /// Whether the log hides commits, which are lost once SQLite moves what it does see in it.
    private let hidesCommits: Bool

    /// Locks a file, and moves what its journals hold into it; but for a damaged log, which is left
    /// as it is until the file is replaced.
    ///
    /// - Parameters:
    ///   - file: The file, with its links resolved.
    ///   - isKept: Whether a copy of the file is to be kept, which must have all that is in a log.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``.
    init(_ file: DatabaseFile, isKept: Bool, monitor: ConversionMonitor) throws {
        self.file = file
        self.monitor = monitor
        let identity = try file.identityNotOpenHere()
        self.identity = identity
        do {
            try file.checkLog()
            hidesCommits = false
        } catch EncryptedDatabaseError.damagedLog where !isKept {
            hidesCommits = true
        }
        try hold(settlesJournals: !hidesCommits)
    }

    func withConnection<Value>(_ body: (OpaquePointer?) throws -> Value) throws -> Value {
        try body(held?.connection)
    }

    func emptyJournals() throws {
        // They were emptied when the file was locked, and since then nobody could write.
        guard hidesCommits else { return }
        close()
        try hold(settlesJournals: true)
        guard FileIdentity(file.absolutePath).map(identity.isSameFile) == true else {
            throw DatabaseConversionError.replacedMeanwhile(path: file.path)
        }
    }

    func close() {
        held = nil
    }

    // MARK: -

    /// Waits for others, and locks the file.
    private func hold(settlesJournals: Bool) throws {
        held = try monitor.waiting(for: identity.otherProcesses) {
            try Self.lock(file, settlesJournals: settlesJournals)
        }
        guard held != nil else {
            throw DatabaseConversionError.inUse(path: file.path, by: identity.otherProcesses())
        }
        try waitUntilUnused()
    }

    /// - Returns: `nil` if others are in the way.
    private static func lock(_ file: DatabaseFile, settlesJournals: Bool) throws -> UnreadFile? {
        if settlesJournals, file.hasJournalContent { try settle(file) }
        let stamp = file.stamp
        let held = try UnreadFile(file.absolutePath, isReadOnly: false)
        guard try held.lockForWriting(), file.stamp == stamp else { return nil }
        guard !settlesJournals || !file.holdsCommits else {
            throw EncryptedDatabaseError.needsRecovery(path: file.path)
        }
        return held
    }

    /// Has SQLite finish what a program began that was killed, without a key: an unfinished change
    /// is undone, and a write-ahead log moved into the file, page by page as they stand there,
    /// before anybody asks what the first page says. That it is no database is what a connection
    /// without a key finds then.
    ///
    /// Without this there would be an instant at which the old file stands there without its
    /// journals, or the new one with those of the old.
    private static func settle(_ file: DatabaseFile) throws {
        let pageSize = WriteAheadLog(path: file.absolutePath + "-wal")?.pageSize
        let file = try UnreadFile(file.absolutePath, isReadOnly: false)
        for sql in [
            "PRAGMA locking_mode = EXCLUSIVE",
            // A log is moved by a connection that expects pages of its size.
            pageSize.map { "PRAGMA page_size = \($0)" },
            "SELECT count(*) FROM sqlite_schema",
        ] {
            sqlite3_exec(file.connection, sql, nil, nil, nil)
        }
    }
}

extension DatabaseFile {
    /// Whether a journal beside the file holds something that belongs to it: a finished change in a
    /// log, or what undoes an unfinished one.
    var holdsCommits: Bool {
        hasHotJournal || (WriteAheadLog(path: resolvedPath + "-wal")?.committedFrameCount ?? 0) > 0
    }

    /// Whether a change of the file was begun and never finished.
    ///
    /// The journal of a finished change is removed, cut, or has its beginning overwritten.
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    var hasHotJournal: Bool {
        guard let journal = FileHandle(forReadingAtPath: resolvedPath + "-journal") else {
            return false
        }
        defer { try? journal.close() }
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        return (try? journal.read(upToCount: magic.count)).map { Array($0) } == magic
    }
}
