import CipherPages
import Foundation

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
            guard let (frame, _) = try lostCommits() else { return }
            let current = try self.stamp
            // What looks damaged may be in the middle of another program's change.
            guard attempt < 3, current != stamp else {
                throw EncryptedDatabaseError.damagedLog(path: path, frame: frame)
            }
            stamp = current
        }
    }

    /// The first frame of the log from which on SQLite doesn't see what was committed, and how many
    /// commits those are, as far as the log says.
    fileprivate func lostCommits() throws -> (frame: Int, count: Int)? {
        let (log, isUnknown) = try WriteAheadLog.settled(path: resolvedPath + "-wal")
        guard let frame = log?.damagedFrame ?? (isUnknown ? 1 : nil) else { return nil }
        return (frame, log?.lostCommitCount ?? 0)
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
    /// before is moved into the database, what was committed from there on is lost, and the log is
    /// removed. No key is needed.
    ///
    /// This is what the next program does that opens the database to write. A loss of power leaves
    /// such a log if a program writes with `PRAGMA synchronous = NORMAL`, and those commits are lost
    /// then in any case. <https://www.sqlite.org/pragma.html#pragma_synchronous>
    ///
    /// - Parameter path: The database. Links are followed.
    /// - Returns: The first lost frame of the log, counted from 1, and how many commits are lost as
    ///   far as the log says; `nil` if the log isn't damaged. Nothing is changed then.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)`` if another program has the database open;
    ///   other ``EncryptedDatabaseError`` if the log can't be read or the database can't be written.
    public static func dropLostCommits(
        _ path: String
    ) throws -> (frame: Int, commitCount: Int)? {
        let file = DatabaseFile(path)
        guard let size = try file.size(), size > 0 else { return nil }
        do {
            try file.checkLog()
            return nil
        } catch EncryptedDatabaseError.damagedLog(_, let frame) {
            try file.checkAccess(forWriting: true)
            let count = try file.lostCommits()?.count ?? 0
            do {
                try file.settleJournals()
            } catch let code as CipherCode {
                throw EncryptedDatabaseError(code, path: path)
            }
            guard try file.lostCommits() == nil else {
                throw EncryptedDatabaseError.locked(path: path)
            }
            return (frame, count)
        }
    }
}
