import CSQLCipher

/// A result code of SQLite, with its extension.
package struct CipherCode: Error, Equatable {
    package let rawValue: Int32

    package init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The code without its extension.
    package var primary: Int32 { rawValue & 0xff }

    package static let ok = CipherCode(SQLITE_OK)
    package static let done = CipherCode(SQLITE_DONE)
    static let misuse = CipherCode(SQLITE_MISUSE)
    package static let corrupt = CipherCode(SQLITE_CORRUPT)
    package static let notADatabase = CipherCode(SQLITE_NOTADB)

    /// SQLITE_IOERR_SHORT_READ, a macro that Swift doesn't import.
    package static let shortRead: Int32 = SQLITE_IOERR | (2 << 8)

    /// SQLITE_IOERR_READ, a macro that Swift doesn't import.
    package static let failedRead: Int32 = SQLITE_IOERR | (1 << 8)

    /// The primary code where something can't be written.
    package static let readOnly = SQLITE_READONLY

    /// SQLITE_IOERR_WRITE, a macro that Swift doesn't import.
    static let failedWrite: Int32 = SQLITE_IOERR | (3 << 8)

    /// SQLITE_IOERR_TRUNCATE, a macro that Swift doesn't import.
    static let failedTruncation: Int32 = SQLITE_IOERR | (6 << 8)

    /// The primary code of errors of the disk.
    package static let readError = SQLITE_IOERR

    /// Whether the disk or the system can't read something that exists.
    package var isReadFailure: Bool {
        primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR && rawValue != Self.shortRead
    }
}
