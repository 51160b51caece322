import MigrationKitPages
import Foundation
import MigrationKitSQLCipher

extension DatabaseFile {
    /// The path that this leads to, if it contains a link.
    var linkTarget: String? {
        let resolved = resolvedPath
        let plain = URL(fileURLWithPath: absolutePath).standardized.path
        return resolved == plain ? nil : resolved
    }

    /// The files that SQLite keeps beside it.
    ///
    /// - Throws: `EncryptedDatabaseError` if one of them belongs to the content and can't be read.
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
}
