import CipherPages
import Foundation

extension DatabaseFile {
    /// What the system says of the file; all zero if there is none.
    package var status: stat { Self.status(absolutePath) }

    private static func status(_ path: String) -> stat {
        var status = stat()
        return stat(path, &status) == 0 ? status : stat()
    }

    /// Changes when another program writes the file or its log.
    package var stamp: [Int] {
        [absolutePath, resolvedPath + "-wal"].flatMap { path in
            let status = Self.status(path)
            return [
                Int(status.st_ino), Int(status.st_size),
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
            ]
        }
    }

    /// Throws if the write-ahead log holds commits that SQLite doesn't see, because a frame is not
    /// as it was written: opening the database for writing loses them. No key is needed, and nothing
    /// is opened but the log.
    ///
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    package func checkLog() throws {
        var stamp = stamp
        for attempt in 1... {
            guard let frame = try lostFrame() else { return }
            let current = self.stamp
            // What looks damaged may be in the middle of another program's change.
            guard attempt < 3, current != stamp else {
                throw EncryptedDatabaseError.damagedLog(path: path, frame: frame)
            }
            stamp = current
        }
    }

    /// The first frame of the log from which on SQLite doesn't see what was committed.
    private func lostFrame() throws -> Int? {
        let (log, isUnknown) = try WriteAheadLog.settled(path: resolvedPath + "-wal")
        return log?.damagedFrame ?? (isUnknown ? 1 : nil)
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
}
