import MigrationKitPages

/// What is known of a file that is, or should be, a database.
public struct FileReport: Equatable, Sendable {
    /// What a file is.
    public enum Kind: String, Sendable {
        /// A SQLite database in the clear.
        case plaintext
        /// Looks like an encrypted database: random bytes of a possible size, or the key proved it.
        case encrypted
        /// Without content, which SQLite takes for a new database.
        case empty
        /// No database, or one that was cut short: its size fits no page size.
        case notADatabase
    }

    /// What the key that was given is to the file.
    public enum KeyCheck: Equatable, Sendable {
        case notGiven
        /// The file is not encrypted, or is empty.
        case unneeded
        /// The key is the file's, which is encrypted with these settings.
        case opens(CipherSettings)
        /// The key opens no page with any of the settings that were tried. The file may be no
        /// database, or have a damaged salt.
        case wrong
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

    /// The size of a page in bytes: of a plaintext file, or if the key or the write-ahead log shows
    /// it.
    public let pageSize: Int?

    /// The page sizes of SQLCipher of which the file holds a whole number, for a file whose own isn't known.
    public let possiblePageSizes: [Int]

    /// The 16 bytes at the beginning of an encrypted file, which are in the clear.
    public let salt: [UInt8]?

    /// The files that SQLite keeps beside it.
    public let journals: [JournalFile]

    /// Whether the rollback journal beside it is of a change that was begun and not finished.
    ///
    /// Either a program is writing now, or it was killed; then the next one that opens the file for
    /// writing undoes the change. Until then pages may differ or be missing at the end, so
    /// ``damage`` reports none.
    public let hasUnfinishedChange: Bool

    /// The files beside it that a conversion or restore left when it was killed; none as long as
    /// one runs.
    public let leftovers: [LeftoverFile]

    /// What the key is to the file.
    public let key: KeyCheck

    /// What is in the database, as far as it could be read.
    public let content: DatabaseContent?

    /// What is damaged; `nil` if nothing was found, which without a key says little.
    public let damage: FileDamage?

    /// The salt in hexadecimal digits.
    public var saltText: String? {
        salt?.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// A file that SQLite keeps beside a database.
public struct JournalFile: Equatable, Sendable {
    /// What its name has beyond the database's: `-wal`, `-shm` or `-journal`.
    public let suffix: String

    /// The size in bytes.
    public let size: Int

    /// What is in a write-ahead log.
    public let log: WriteAheadLog?

    /// Whether it is a write-ahead log that begins as none does, with content behind that.
    let isUnknownLog: Bool

    /// The first frame of a write-ahead log, counted from 1, from which on SQLite doesn't see what
    /// was committed into it. A log without a header that SQLite knows is none to it, whatever is
    /// in it.
    var lostFrame: Int? { log?.damagedFrame ?? (isUnknownLog ? 1 : nil) }
}

/// What is damaged in a file.
public struct FileDamage: Equatable, Sendable {
    /// The pages that are not as they were written, counted from 1.
    public var pages: [Int] = []

    /// The pages at the end that the file's header counts and the file hasn't.
    public var missingPageCount = 0

    /// Whether the salt at the beginning was changed. Only a raw key can show it.
    public var isSaltDamaged = false

    /// The first frame of the write-ahead log that is not as it was written, counted from 1. All
    /// after it are lost.
    public var logFrame: Int?

    /// What SQLite says of a database whose pages are whole and whose content is not.
    public var detail: String?
}
