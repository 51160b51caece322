import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages
import MigrationKitSQLCipher

/// What is known about a file that is, or should be, a database.
public struct FileReport: Equatable, Sendable {
    /// What a file is.
    public enum Kind: String, Encodable, Sendable {
        /// A plaintext SQLite database.
        case plaintext
        /// Looks like an encrypted database: random bytes of a possible size, or the key proved it.
        case encrypted
        /// An empty file, which SQLite takes for a new database.
        case empty
        /// Not a database, or a truncated one: its size fits no page size.
        case notADatabase
    }

    /// Whether the given key opens the file.
    public enum KeyCheck: Equatable, Sendable {
        case notGiven
        /// The file is not encrypted, or is empty.
        case unneeded
        /// The key opens the file with these settings.
        case opens(CipherSettings)
        /// The key opens no page with any of the tried settings. The file may not be a database, or
        /// its salt may be damaged.
        case wrong
        /// The file has a plaintext header, and neither the settings nor the key contain its salt.
        case saltNeeded
    }

    /// The path as it was given.
    public let path: String

    /// Where the path leads, if it or one of its folders is a link.
    public let linkTarget: String?

    /// The size in bytes.
    public let size: Int

    /// The permissions, such as 0o600.
    public let mode: UInt32

    /// The owner's number.
    public let ownerID: UInt32

    /// The owner's name, if the system knows one.
    public let owner: String?

    /// What the file is.
    public let kind: Kind

    /// The page size in bytes, if the file is plaintext, or if the key or the write-ahead log shows
    /// it.
    public let pageSize: Int?

    /// SQLCipher's page sizes that fit the file's size, if the page size isn't known.
    public let possiblePageSizes: [Int]

    /// The first 16 bytes of an encrypted file, which are not encrypted. With a plaintext header, the
    /// salt that was given; `nil` if the key doesn't open the file with it.
    public let salt: [UInt8]?

    /// Whether the file is encrypted after a plaintext header. Its salt is elsewhere then.
    public let hasPlaintextHeader: Bool

    /// Which ciphers a file of SQLite3 Multiple Ciphers, another library, may have, in words; `nil` if it isn't
    /// one.
    public let multipleCiphers: String?

    /// The files that SQLite keeps beside it.
    public let journals: [JournalFile]

    /// Whether the rollback journal beside it belongs to an unfinished change.
    ///
    /// Either a program is writing now, or one was killed. In that case, the next program that
    /// opens the file for writing undoes the change. Until then, pages may differ or be missing at
    /// the end, so ``damage`` reports none.
    public let hasUnfinishedChange: Bool

    /// The files that a conversion or restore left beside it when it was killed; empty while one is
    /// running.
    public let leftovers: [LeftoverFile]

    /// Whether the key opens the file.
    public let key: KeyCheck

    /// The content of the database, as far as it could be read.
    public let content: DatabaseContent?

    /// The damage; `nil` if none was found. Without a key, little can be found.
    public let damage: FileDamage?

    /// The salt in hexadecimal digits.
    public var saltText: String? { salt?.hexadecimalDigits }
}

extension FileReport {
    /// What was found of one of the files beside the database.
    ///
    /// - Parameter suffix: `-wal`, `-shm` or `-journal`.
    func journal(_ suffix: String) -> JournalFile? { journals.first { $0.suffix == suffix } }

    /// Throws if a file beside the database isn't its own.
    ///
    /// - Throws: `EncryptedDatabaseError.otherJournal`.
    package func checkJournals() throws {
        for journal in journals {
            guard let mismatch = journal.mismatch else { continue }
            throw JournalOwnership.Finding(suffix: journal.suffix, mismatch: mismatch)
                .error(path: path, isSound: nil)
        }
    }
}

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

extension DatabaseHeader {
    /// The content according to the header.
    ///
    /// - Parameter pageCount: The number of pages in the file, used if the header doesn't contain
    ///   it.
    func content(pageCount: Int) -> DatabaseContent {
        DatabaseContent(
            pageSize: pageSize,
            pageCount: self.pageCount ?? pageCount,
            freePageCount: Int(word(36)),
            userVersion: Int(Int32(bitPattern: word(60))),
            applicationID: Int(Int32(bitPattern: word(68))),
            journalMode: usesLog ? .wal : .rollback,
            autoVacuum: word(52) == 0 ? .none : word(64) == 0 ? .full : .incremental,
            encoding: word(56) == 2 ? "UTF-16le" : word(56) == 3 ? "UTF-16be" : "UTF-8"
        )
    }
}

extension EncryptedDatabase {
    /// Reports what a file is and, with a key, what it contains.
    ///
    /// This changes nothing and takes no lock: the folder may be read-only, and another program may
    /// write meanwhile. A write-ahead log is read, too. A rollback journal is not applied: pages of
    /// an unfinished change are shown as they are, and not reported as damage
    /// (``FileReport/hasUnfinishedChange``).
    ///
    /// With a key, every page's HMAC is checked, which takes some seconds for a gigabyte. Tables
    /// and indexes are only checked by a verification.
    ///
    /// - Parameters:
    ///   - path: The file. Links are followed.
    ///   - key: The key that may be the file's. A plaintext file needs none.
    ///   - cipher: How the file may be encrypted. The settings of SQLCipher 4, 3, 2 and 1 are also
    ///     tried, the page size that a write-ahead log, a journal or a plaintext header names, and
    ///     every size of a plaintext header. With a raw key, files of version 2 look like those of
    ///     version 3, and are reported as 3.
    ///   - countsRows: Whether the tables are listed with their numbers of rows.
    ///   - checksPages: Whether to check every page, instead of the first and some others.
    /// - Throws: `EncryptedDatabaseError` if there is no file or it can't be read. A wrong key and
    ///   damage are not errors: the report contains them.
    public static func inspect(
        _ path: String,
        key: DatabaseKey? = nil,
        cipher: CipherSettings = .current,
        countsRows: Bool = false,
        checksPages: Bool = true
    ) throws -> FileReport {
        try inspect(
            path,
            key: key,
            cipher: cipher,
            countsRows: countsRows,
            checksPages: checksPages,
            options: InspectionOptions()
        )
    }

    /// The same, and it reports how many pages are checked.
    package static func inspect(
        _ path: String,
        key: DatabaseKey?,
        cipher: CipherSettings,
        countsRows: Bool,
        checksPages: Bool,
        options: InspectionOptions
    ) throws -> FileReport {
        let file = DatabaseFile(path)
        let operation = options.operation
        var stamp = try file.stamp
        for attempt in 1... {
            let report = try ReportWriter(
                file: file,
                key: key,
                cipher: cipher,
                countsRows: countsRows,
                checksPages: checksPages,
                operation: operation
            ).report()
            // What looks damaged may have been another program's unfinished write.
            let isSound = report.damage == nil && report.key != .wrong
            let current = try file.stamp
            if isSound || attempt == 3 || current == stamp { return report }
            stamp = current
        }
        preconditionFailure("the third attempt returns")
    }
}
