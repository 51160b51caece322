import Foundation

extension DatabaseFile {
    /// What the system says of the file; all zero if there is none.
    var status: stat { Self.status(absolutePath) }

    private static func status(_ path: String) -> stat {
        var status = stat()
        return stat(path, &status) == 0 ? status : stat()
    }

    /// Where the path leads, if it isn't there itself.
    var linkTarget: String? {
        let resolved = resolvedPath
        let plain = URL(fileURLWithPath: absolutePath).standardized.path
        return resolved == plain ? nil : resolved
    }

    /// The files that SQLite keeps beside it.
    var journals: [JournalFile] {
        Self.journalSuffixes.compactMap { suffix in
            let path = resolvedPath + suffix
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            return JournalFile(
                suffix: suffix,
                size: Int(status.st_size),
                log: suffix == "-wal" ? WriteAheadLog.settled(path: path) : nil,
                isReadable: access(path, R_OK) == 0
            )
        }
    }

    /// Throws if the write-ahead log holds commits that SQLite doesn't see, for a frame that is not
    /// as it was written: who opens the database for writing loses them. No key is needed, and
    /// nothing is opened but the log.
    ///
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``.
    func checkLog() throws {
        var stamp = stamp
        for attempt in 1... {
            guard let frame = journals.lazy.compactMap(\.lostFrame).first else { return }
            let current = self.stamp
            // What looks damaged may be in the middle of another program's change.
            guard attempt < 3, current != stamp else {
                throw EncryptedDatabaseError.damagedLog(path: path, frame: frame)
            }
            stamp = current
        }
    }

    /// Changes when another program writes the file or its log.
    var stamp: [Int] {
        [absolutePath, resolvedPath + "-wal"].flatMap { path in
            let status = Self.status(path)
            return [
                Int(status.st_ino), Int(status.st_size),
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
            ]
        }
    }
}
