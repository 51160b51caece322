/// What is in a database.
public struct DatabaseContent: Equatable, Sendable {
    /// When SQLite removes free pages from the file.
    public enum AutoVacuum: String, Encodable, Sendable {
        case none, full, incremental
    }

    /// How SQLite keeps a change that is not yet finished.
    public enum JournalMode: String, Encodable, Sendable {
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
