import KeyStore
import MigrationKitGRDB
import MigrationKitPages
import MigrationKitSQLCipher

/// What is in a database.
public struct DatabaseContent: Equatable, Sendable {
    /// When SQLite removes free pages from the file.
    public enum AutoVacuum: String, Sendable {
        case none, full, incremental
    }

    /// How SQLite keeps a change that is not yet finished.
    public enum JournalMode: String, Sendable {
        /// In a rollback journal beside the file; the connection determines its kind.
        case rollback
        /// In a write-ahead log, which the file itself says.
        case wal
    }

    /// The size of a page in bytes.
    public internal(set) var pageSize: Int

    /// The number of pages.
    public internal(set) var pageCount: Int

    /// The number of free pages.
    public internal(set) var freePageCount: Int

    /// `PRAGMA user_version`.
    public internal(set) var userVersion: Int

    /// `PRAGMA application_id`.
    public internal(set) var applicationID: Int

    /// The journal mode in the file's header.
    public internal(set) var journalMode: JournalMode

    /// `PRAGMA auto_vacuum`.
    public internal(set) var autoVacuum: AutoVacuum

    /// `UTF-8`, `UTF-16le` or `UTF-16be`.
    public internal(set) var encoding: String

    /// The tables, sorted by name, without SQLite's own and those of virtual tables; `nil` if they
    /// were not asked for or can't be read.
    public internal(set) var tables: [Table]?

    /// The applied migrations; `nil` if the database has no ledger, or it can't be read.
    public internal(set) var ledger: Ledger?

    /// A table.
    public struct Table: Equatable, Sendable {
        /// Its name.
        public let name: String
        /// The number of rows; `nil` if they can't be counted.
        public let rowCount: Int?
    }

    /// The table `grdb_migrations`.
    public struct Ledger: Equatable, Sendable {
        /// How many migrations were applied.
        public let appliedCount: Int
        /// The latest entry.
        public let latest: String?
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
    ///     tried. With a raw key, files of version 2 look like those of version 3, and are reported
    ///     as 3.
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
        let candidates = [cipher] + CipherSettings.versions.filter { $0 != cipher }
        let file = DatabaseFile(path)
        var stamp = try file.stamp
        for attempt in 1... {
            let report = try ReportWriter(
                file: file,
                key: key,
                candidates: candidates,
                countsRows: countsRows,
                checksPages: checksPages
            ).report()
            // What looks damaged may have been another program's unfinished write.
            let isSound = report.damage == nil && report.key != .wrong
            let current = try file.stamp
            if isSound || attempt == 3 || current == stamp { return report }
            stamp = current
        }
        preconditionFailure("the third attempt returns")
    }

    /// The asynchronous form of ``inspect(_:key:cipher:countsRows:checksPages:)``.
    ///
    /// - Parameters:
    ///   - path: The file. Links are followed.
    ///   - key: The key that may be the file's. A plaintext file needs none.
    ///   - cipher: How the file may be encrypted.
    ///   - countsRows: Whether the tables are listed with their numbers of rows.
    ///   - checksPages: Whether to check every page, instead of the first and some others.
    /// - Returns: What the file is.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncInspect(
        _ path: String,
        key: DatabaseKey? = nil,
        cipher: CipherSettings = .current,
        countsRows: Bool = false,
        checksPages: Bool = true
    ) async throws -> FileReport {
        try Task.checkCancellation()
        return try await blocking {
            try inspect(
                path,
                key: key,
                cipher: cipher,
                countsRows: countsRows,
                checksPages: checksPages
            )
        }
    }
}
