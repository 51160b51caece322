import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQLCipher

/// Recovers the readable content of a damaged database into a new one.
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
/// The file is read page by page, without SQLite, which can't read beyond a damaged page. In an
/// encrypted database, the HMAC shows whether a page is intact. Without HMAC, in plaintext and with
/// the settings of SQLCipher 1, damage is noticed only if the content makes no sense. Rows on
/// intact pages are recovered even if the pages that lead to them are damaged. Rows in the
/// write-ahead log are recovered even after a damaged frame. An unfinished change in a rollback
/// journal is undone. Indexes and full-text indexes are rebuilt. A log or a journal that isn't the file's
/// own, or of another time, is left out: the file is read with it and without it.
///
/// If the first page can be read, `user_version`, `application_id`, the text encoding,
/// `auto_vacuum`, WAL mode, page size and cipher settings are also kept. Rowids are always kept. A
/// row whose table is unknown, or that its table refuses, goes into a table `lost_and_found` with
/// the columns `rootpgno`, `pgno`, `nfield`, `id` (the rowid), `c0`, `c1` ...
///
/// The damaged file and the journals beside it are only read. No process may have a connection to
/// it. The new file has mode 0600, and is checked and synchronized to the disk before it gets its
/// name. No decrypted page is written anywhere.
///
/// It uses less than 100 MB of memory for a database of 4 GB, plus a few times the largest single
/// value, and some hundred bytes for each damaged page, which the report lists.
public struct DatabaseSalvage: Sendable {
    /// The path of the damaged database, as it was given.
    public let path: String

    /// The path of the new database, as it was given.
    public let outputPath: String

    let form: DatabaseForm
    let newKey: DatabaseKey?
    let secondKey: DatabaseKey?
    var options: RewriteOptions

    /// The steps that made the schema. If the first page is damaged, they give the tables their names, as
    /// far as the pages' order, the columns and the values are certain. `nil` leaves the rows in
    /// `lost_and_found`.
    public var runner: GRDBMigrationRunner?

    /// - Parameters:
    ///   - path: The damaged database. Links are followed.
    ///   - outputPath: The new file. It must not exist.
    ///   - form: How the damaged database is encrypted. The settings of SQLCipher 4, 3, 2 and 1 are
    ///     also tried, and the new file gets those that open it.
    ///   - newKey: The key of the new file; `nil` for the same one. Ignored for a plaintext
    ///     database, which stays plaintext.
    ///   - secondKey: Another key that some of the pages may have, since a change of the key was
    ///     interrupted. Only the HMAC of a page tells which key it has.
    ///   - options: How long to wait, and what to register.
    public init(
        _ path: String,
        to outputPath: String,
        form: DatabaseForm,
        newKey: DatabaseKey? = nil,
        secondKey: DatabaseKey? = nil,
        options: RewriteOptions = RewriteOptions()
    ) {
        self.path = path
        self.outputPath = outputPath
        self.form = form
        self.newKey = newKey
        self.secondKey = secondKey
        self.options = options
    }

    /// Salvages the database, and returns when the new file is on the disk.
    ///
    /// - Returns: What was recovered, and what was lost. Lost rows are not an error.
    /// - Throws: ``DatabaseSalvageError``; `EncryptedDatabaseError`; `DatabaseConversionError`; a
    ///   `CancellationError`. No new file is left then, except after
    ///   `DatabaseConversionError.notSynced(path:code:)`.
    @discardableResult
    public func run() throws -> SalvageReport {
        try SalvageRun(self).run()
    }
}
