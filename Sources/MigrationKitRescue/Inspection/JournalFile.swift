import MigrationKitPages

/// A file that SQLite keeps beside a database.
public struct JournalFile: Equatable, Sendable {
    /// The suffix of its name after the database's: `-wal`, `-shm` or `-journal`.
    public let suffix: String

    /// The size in bytes.
    public let size: Int

    /// The content of a write-ahead log.
    public let log: WriteAheadLog?

    /// Why it isn't the database's own; `nil` if it is, as far as the key shows.
    public internal(set) var mismatch: JournalMismatch?

    /// Whether it is a write-ahead log with an unknown header and content after it.
    let isUnknownLog: Bool

    /// The first frame of a write-ahead log, counted from 1, from which on SQLite sees no commits.
    /// If the header is unknown, SQLite sees nothing in the log.
    var lostFrame: Int? { log?.damagedFrame ?? (isUnknownLog ? 1 : nil) }
}
