import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher

/// Looks a database through for everything that may be wrong with it: files, pages, tables, rows,
/// ledger.
///
/// ```swift
/// let checks = try DatabaseVerification(
///     "/home/me/notes.db",
///     form: .encrypted(key),
///     runner: runner
/// ).run()
/// for check in checks where !check.ok { print(check.name, check.findings.map(\.text)) }
/// ```
///
/// The checks run in this order, each whatever those before it have found:
///
/// - `file_modes`: whether others can read or write the database, encrypted or not, and what SQLite
///   keeps beside it, or write its folder (see ``allowsGroup``); and the files that a conversion or restore left beside it when it was killed;
/// - `write_ahead_log`: whether the log has commits that SQLite doesn't see, because a frame before
///   them was changed. It is looked at before the database is opened, which could throw them away;
/// - `open`: whether it can be opened;
/// - `cipher_integrity_check`: the HMAC of every page of an encrypted database, after the log was
///   moved into it;
/// - the checks of `GRDBMigrationRunner.verificationChecks(in:additionalIndexes:isFull:options:)`.
///
/// Nothing is changed, but for the log that is moved into the database, as closing it does anyway;
/// a damaged log stays as it is, and nothing is left beside it. Where nobody else has a database
/// with such a log open, it is kept from others meanwhile.
///
/// Of a database that can't be written, for its mode or its medium, the tool checks what can be
/// checked by reading.
public struct DatabaseVerification: Sendable {
    let path: String
    let form: DatabaseForm?
    let runner: GRDBMigrationRunner?
    let requiredIndexes: [RequiredIndexSpec]
    let open: @Sendable (_ isExclusive: Bool) throws -> any DatabaseWriter

    /// What is reported instead of the ledger's check if there is no runner; `nil` for nothing.
    package var ledgerNote: String?

    /// Whether the database is closed at the end.
    private(set) var closes = false

    /// Who watches, and may end it.
    public var options: VerificationOptions

    /// Whether the group of the database's files and folder may read and write them, which
    /// `file_modes` finds fault with otherwise.
    public var allowsGroup = false

    /// Prepares the verification of a database that is opened as `EncryptedDatabase` does.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - form: Its key, and how it is encrypted; or that it isn't.
    ///   - runner: Its steps, required indexes and checks of its own; without one, there is no check
    ///     of the ledger.
    ///   - requiredIndexes: Indexes that are required beside the runner's own.
    ///   - opening: How it is opened, such as the functions that its schema uses. The form says how
    ///     it is encrypted.
    ///   - options: Who watches, and may end it.
    public init(
        _ path: String,
        form: DatabaseForm,
        runner: GRDBMigrationRunner? = nil,
        requiredIndexes: [RequiredIndexSpec] = [],
        opening: EncryptedDatabase.Options = EncryptedDatabase.Options(),
        options: VerificationOptions = VerificationOptions()
    ) {
        self.path = path
        self.form = form
        self.runner = runner
        self.requiredIndexes = requiredIndexes
        self.options = options
        closes = true
        open = { isExclusive in
            var opening = opening
            opening.cipher = form.cipher
            opening.isExclusive = isExclusive
            guard let key = form.key else {
                return try EncryptedDatabase.openPlaintext(path, options: opening)
            }
            return try EncryptedDatabase.open(path, key: key, options: opening)
        }
    }

    /// Prepares the verification of a database that the host opens itself.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - form: Its key, and how it is encrypted; `nil` where only the host knows. The frames of
    ///     the log are then not authenticated, and less is reported about a database that can't be
    ///     opened.
    ///   - runner: Its steps, required indexes and checks of its own.
    ///   - requiredIndexes: Indexes that are required beside the runner's own.
    ///   - options: Who watches, and may end it.
    ///   - open: Opens the database, or gives one that is open. It is left so.
    public init(
        _ path: String,
        form: DatabaseForm?,
        runner: GRDBMigrationRunner? = nil,
        requiredIndexes: [RequiredIndexSpec] = [],
        options: VerificationOptions = VerificationOptions(),
        open: @escaping @Sendable () throws -> any DatabaseWriter
    ) {
        self.path = path
        self.form = form
        self.runner = runner
        self.requiredIndexes = requiredIndexes
        self.options = options
        self.open = { _ in try open() }
    }

    /// Does it.
    ///
    /// - Returns: The outcome of every check that could be made, in order. A database that is too
    ///   damaged to be opened has `open` as its last, with what is damaged.
    /// - Throws: `EncryptedDatabaseError` if there is no such file, or it can't be opened for
    ///   another reason than damage, such as a wrong key, or is locked by another for longer than
    ///   the connection waits; what `open` throws; a `CancellationError`, which comes after
    ///   `cipher_integrity_check` where that runs. The checks up to then were reported to the
    ///   observer.
    public func run() throws -> [VerificationCheck] {
        try VerificationRun(self).run()
    }
}
