import MigrationKitPages
import Foundation
import GRDB
import MigrationKitGRDB

extension DatabaseFile {
    /// What the system says of the file; all zero if there is none.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if it says nothing, and so for the next two.
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

    /// Throws if the write-ahead log holds commits that SQLite doesn't see, because a frame is not
    /// as it was written: opening the database for writing loses them. No key is needed, and nothing
    /// is opened but the log.
    ///
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    package func checkLog() throws {
        var stamp = try stamp
        for attempt in 1... {
            guard let frame = try lostCommits()?.frame else { return }
            let current = try self.stamp
            // What looks damaged may be in the middle of another program's change.
            guard attempt < 3, current != stamp else {
                throw EncryptedDatabaseError.damagedLog(path: path, frame: frame)
            }
            stamp = current
        }
    }

    /// The first frame of the log from which on SQLite doesn't see what was committed, and how many
    /// commits those are; `nil` for a log that nothing can be read from.
    fileprivate func lostCommits() throws -> (frame: Int, commitCount: Int?)? {
        let (log, isUnknown) = try WriteAheadLog.settled(path: resolvedPath + "-wal")
        guard let frame = log?.damagedFrame ?? (isUnknown ? 1 : nil) else { return nil }
        return (frame, log?.lostCommitCount)
    }
}

extension EncryptedDatabase {
    /// Throws if the write-ahead log of a database holds commits that SQLite doesn't see, because a
    /// frame before them was changed since it was written. Opening such a database loses nothing;
    /// the first change that is made in it overwrites them.
    ///
    /// A transaction that a loss of power has stopped is not taken for one. No key is needed, nothing
    /// but the log is read, and nothing is changed. Without a file or a log there is nothing to lose.
    ///
    /// - Parameter path: The database. Links are followed.
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    public static func checkLog(_ path: String) throws {
        let file = DatabaseFile(path)
        // With an empty file SQLite removes a log, which is another database's.
        guard let size = try file.size(), size > 0 else { return }
        try file.checkLog()
    }

    /// Ends a damaged write-ahead log at the place up to which SQLite reads it: what was committed
    /// before is moved into the database, and what was committed from there on is lost.
    ///
    /// This is what the next program does that writes the database. A loss of power leaves such a log
    /// if a program writes with `PRAGMA synchronous = NORMAL`, and those commits are lost then in any
    /// case. <https://www.sqlite.org/pragma.html#pragma_synchronous>
    ///
    /// - Parameter writer: The database. That it is open proves the key.
    /// - Returns: The first lost frame of the log, counted from 1, and how many commits are lost,
    ///   `nil` where the log doesn't say; `nil` if the log isn't damaged. Nothing is changed then.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)`` if another program uses the database; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
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
            // It was kept as it was until here.
            db.setCheckpointOnClose(true)
        }
        guard try file.lostCommits() == nil else {
            throw EncryptedDatabaseError.locked(path: path)
        }
        return lost
    }
}

extension DatabaseFile {
    /// Whether a journal beside the file holds something that belongs to it: a finished change in a
    /// log, or what undoes an unfinished one.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if one is there that can't be read.
    var holdsCommits: Bool {
        get throws {
            let log = try UntouchedFile.find(resolvedPath + "-wal").get().flatMap(
                WriteAheadLog.init
            )
            return try hasHotJournal || (log?.committedFrameCount ?? 0) > 0
        }
    }

    /// Whether a change of the file was begun and never finished.
    ///
    /// The journal of a finished change is removed, cut, or has its beginning overwritten.
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    ///
    /// - Throws: ``EncryptedDatabaseError`` if there is a journal that can't be read.
    package var hasHotJournal: Bool {
        get throws {
            let journal = try UntouchedFile.find(resolvedPath + "-journal").get()
            return try journal?.read(at: 0, count: 8) == Recovery.journalMagic
        }
    }
}
