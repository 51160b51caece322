import MigrationKitPages
import Foundation
import GRDB
import MigrationKitGRDB

extension DatabaseFile {
    /// The file's status; all zero if there is no file.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the system can't report it, as the next two do.
    package var status: stat {
        get throws { try Self.status(absolutePath) }
    }

    private static func status(_ path: String) throws -> stat {
        var status = stat()
        guard stat(path, &status) != 0 else { return status }
        _ = try Found<Void>(failing: "stat", on: path, errno).get()
        return stat()
    }

    /// Changes when another program writes the file or its log.
    package var stamp: [Int] {
        get throws { try stampOfFile + Self.stamp(resolvedPath + "-wal") }
    }

    /// Changes when another program writes the file itself.
    var stampOfFile: [Int] {
        get throws { try Self.stamp(absolutePath) }
    }

    private static func stamp(_ path: String) throws -> [Int] {
        let status = try status(path)
        return [
            Int(status.st_ino), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
        ]
    }

    /// Throws if the write-ahead log holds commits that SQLite doesn't see because a frame is
    /// damaged. Opening the database for writing would lose them. This needs no key and reads only
    /// the log.
    ///
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    package func checkLog() throws {
        var stamp = try stamp
        for attempt in 1... {
            guard let frame = try lostCommits()?.frame else { return }
            let current = try self.stamp
            // What looks damaged may be another program's unfinished write.
            guard attempt < 3, current != stamp else {
                throw EncryptedDatabaseError.damagedLog(path: path, frame: frame)
            }
            stamp = current
        }
    }

    /// The first frame from which on SQLite sees no commits, and how many commits it misses; `nil`
    /// if the log isn't damaged.
    fileprivate func lostCommits() throws -> (frame: Int, commitCount: Int?)? {
        let (log, isUnknown) = try WriteAheadLog.settled(path: resolvedPath + "-wal")
        guard let frame = log?.damagedFrame ?? (isUnknown ? 1 : nil) else { return nil }
        return (frame, log?.lostCommitCount)
    }
}

extension EncryptedDatabase {
    /// Throws if a database's write-ahead log holds commits that SQLite doesn't see because a frame
    /// before them is damaged. Opening such a database loses nothing, but the first write to it
    /// overwrites them.
    ///
    /// A transaction that was cut short by a power cut doesn't count. The check needs no key, reads
    /// only the log, and changes nothing. Without a file or a log, it does nothing.
    ///
    /// - Parameter path: The database. Links are followed.
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    public static func checkLog(_ path: String) throws {
        let file = DatabaseFile(path)
        // Beside an empty file, SQLite removes the log: it belongs to another database.
        guard let size = try file.size(), size > 0 else { return }
        try file.checkLog()
    }

    /// Cuts a damaged write-ahead log where SQLite stops reading it. Commits before that place are
    /// moved into the database, and those after it are lost.
    ///
    /// The next program that writes the database would do the same. A power cut leaves such a log
    /// if a program writes with `PRAGMA synchronous = NORMAL`, and those commits are lost in any
    /// case. <https://www.sqlite.org/pragma.html#pragma_synchronous>
    ///
    /// - Parameter writer: The database. It is open, so its key is right.
    /// - Returns: The first lost frame of the log, counted from 1, and the number of lost commits,
    ///   which is `nil` if the log doesn't say. The whole is `nil` if the log isn't damaged;
    ///   nothing is changed then.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)`` if another program uses the database;
    ///   other ``EncryptedDatabaseError`` if the log can't be read.
    public static func dropLostCommits(
        in writer: any DatabaseWriter
    ) throws -> (frame: Int, commitCount: Int?)? {
        guard let path = try writer.unsafeRead({ $0.filePath }) else { return nil }
        let file = DatabaseFile(path)
        guard let lost = try file.lostCommits() else { return nil }
        try writer.writeWithoutTransaction { db in
            // <https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>
            let row = try Row.fetchOne(db, sql: "PRAGMA main.wal_checkpoint(TRUNCATE)")
            guard row?[0] == 0 else { throw EncryptedDatabaseError.locked(path: path) }
            // Off until here, so that the log was kept.
            db.setCheckpointOnClose(true)
        }
        guard try file.lostCommits() == nil else {
            throw EncryptedDatabaseError.locked(path: path)
        }
        return lost
    }
}

extension DatabaseFile {
    /// Whether a journal beside the file has content that belongs to it: committed changes in a
    /// log, or the original pages of an unfinished change.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if a journal can't be read.
    var holdsCommits: Bool {
        get throws {
            let log = try UntouchedFile.find(resolvedPath + "-wal").get().flatMap(
                WriteAheadLog.init
            )
            return try hasHotJournal || (log?.committedFrameCount ?? 0) > 0
        }
    }

    /// Whether a change to the file was begun and not finished.
    ///
    /// When a change is finished, SQLite removes the journal, truncates it, or overwrites its
    /// beginning. <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the journal can't be read.
    package var hasHotJournal: Bool {
        get throws {
            let journal = try UntouchedFile.find(resolvedPath + "-journal").get()
            return try journal?.read(at: 0, count: 8) == Recovery.journalMagic
        }
    }
}
