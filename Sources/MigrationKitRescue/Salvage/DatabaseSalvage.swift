import KeyStore
import MigrationKitSQLCipher

/// Brings what can be read of a damaged database into a new one.
///
/// ```swift
/// let report = try DatabaseSalvage(
///     "/home/me/notes.db",
///     to: "/home/me/notes-salvaged.db",
///     form: .encrypted(key)
/// ).run()
/// print(report.rowCount, report.isComplete)
/// ```
///
/// The file is read page by page, without SQLite, which reads nothing behind a damaged page. Each
/// page of an encrypted database proves itself by its HMAC, so that a page is either whole or
/// known to be damaged; where there is no HMAC, in plaintext and with the settings of SQLCipher 1,
/// damage is noticed only where it makes no sense. Rows on whole pages come back even if the pages
/// above theirs are damaged, and those of the write-ahead log even behind a damaged frame. A change
/// in a rollback journal that was never finished is undone. Indexes and full-text indexes are made
/// anew.
///
/// What is kept otherwise: rowids, `user_version`, `application_id`, the text's encoding,
/// `auto_vacuum`, WAL mode, page size and cipher settings, where the first page can be read. A row of
/// which it isn't known where it belongs, or that its table doesn't take, goes into a table
/// `lost_and_found` with the columns `rootpgno`, `pgno`, `nfield`, `id` (the rowid), `c0`, `c1` ...
///
/// The damaged file and the journals beside it are only read. All connections that any process has
/// to it must be closed. The new file has mode 0600, and is looked through and synchronized to the
/// disk before it gets its name. No decrypted page is written anywhere.
///
/// The peak of memory is some tens of megabytes, and a few times the largest single value.
public struct DatabaseSalvage: Sendable {
    /// The damaged database, as it was named.
    public let path: String

    /// The new database, as it was named.
    public let outputPath: String

    let form: DatabaseForm
    let newKey: DatabaseKey?
    var options: Options

    /// - Parameters:
    ///   - path: The damaged database. Links are followed.
    ///   - outputPath: The new file, which must not be there yet.
    ///   - form: How the damaged one is kept. Of an encrypted one, the settings of SQLCipher 4, 3, 2
    ///     and 1 are tried after those that are given, and the new file gets those that open it.
    ///   - newKey: The key of the new file; `nil` for the same one. Without meaning for a plaintext
    ///     database, which stays one.
    ///   - options: How long to wait, what to register.
    public init(
        _ path: String,
        to outputPath: String,
        form: DatabaseForm,
        newKey: DatabaseKey? = nil,
        options: Options = Options()
    ) {
        self.path = path
        self.outputPath = outputPath
        self.form = form
        self.newKey = newKey
        self.options = options
    }

    /// Does it, and returns once the new file is on the disk.
    ///
    /// - Returns: What was brought back, and what not. That rows were lost is no error.
    /// - Throws: ``DatabaseSalvageError``; `EncryptedDatabaseError`; `DatabaseConversionError`;
    ///   a `CancellationError`. Nothing is left of the new file then, but with
    ///   `DatabaseConversionError.notSynced(path:code:)`.
    @discardableResult
    public func run() throws -> SalvageReport {
        try SalvageRun(self).run()
    }

    /// How a salvage runs; the options are those of a backup.
    public typealias Options = DatabaseBackup.Options
}
