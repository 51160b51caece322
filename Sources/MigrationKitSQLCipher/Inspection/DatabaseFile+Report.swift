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
    ///
    /// - Throws: ``EncryptedDatabaseError`` if one is there that belongs to the content, and can't
    ///   be read.
    var journals: [JournalFile] {
        get throws {
            try Self.journalSuffixes.compactMap { suffix in
                let path = resolvedPath + suffix
                let size: Int
                switch Found(path) {
                case .absent: return nil
                case .empty: size = 0
                case .content(let status): size = Int(status.st_size)
                case .unreadable(let error): throw error
                }
                let (log, isUnknown) =
                    suffix == "-wal" ? try WriteAheadLog.settled(path: path) : (nil, false)
                return JournalFile(suffix: suffix, size: size, log: log, isUnknownLog: isUnknown)
            }
        }
    }

    /// Throws if the write-ahead log holds commits that SQLite doesn't see, for a frame that is not
    /// as it was written: who opens the database for writing loses them. No key is needed, and
    /// nothing is opened but the log.
    ///
    /// - Throws: ``EncryptedDatabaseError/damagedLog(path:frame:)``; other
    ///   ``EncryptedDatabaseError`` if the log can't be read.
    func checkLog() throws {
        var stamp = stamp
        for attempt in 1... {
            guard let frame = try journals.lazy.compactMap(\.lostFrame).first else { return }
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
