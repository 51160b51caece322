import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB

/// Copies a database into a new file while others use it.
///
/// ```swift
/// try DatabaseBackup("/home/me/notes.db", to: "/media/me/notes.db", form: .encrypted(key)).run()
/// ```
///
/// The copy is the database at one instant: it has every transaction that was committed before the
/// copying began, including those in the write-ahead log, and none that came later. It is a single
/// file without a journal, and keeps WAL mode. It has its own salt even if it keeps the key. Pages
/// are authenticated with a key that is derived with the salt, so a page moved between the two
/// files is detected. (A raw key of 96 digits contains its salt, so the copy has the same one.)
///
/// The pages are copied as they are, by several threads: each is authenticated, decrypted, and
/// encrypted anew. Before the copy gets its name, it is read back: each page is authenticated, and
/// its content is compared with what was read from the database. The copy is opened with its key, and
/// its structure and its foreign keys are checked. It is synchronized to the disk. It never replaces a
/// file.
///
/// Nobody is locked out. In WAL mode, others may write at any time. Only the log can't be emptied
/// until the pages are copied, and grows with each write. In the other journal modes, others may read
/// at any time, and a commit waits until the pages are copied, as for any reader.
///
/// If the database's folder or medium can't be written, SQLite can't use a write-ahead log that
/// others use. Then the file and its log are read in place. If somebody writes them meanwhile, this
/// throws ``DatabaseConversionError/changedMeanwhile(path:)``.
public struct DatabaseBackup: Sendable {
    /// The path of the database, as it was given.
    public let path: String

    /// The backup's file.
    public let outputPath: String

    package let form: DatabaseForm
    package let newKey: DatabaseKey?
    package var options: RewriteOptions

    /// Describes a backup. Nothing happens until it is run.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - outputPath: The new file. It must not exist, but its folder must.
    ///   - form: How the database is encrypted, and with which key. The backup has the same
    ///     settings. The backup of a plaintext database is plaintext.
    ///   - newKey: The backup's key; `nil` for the database's.
    ///   - options: How long to wait, and who observes it.
    public init(
        _ path: String,
        to outputPath: String,
        form: DatabaseForm,
        newKey: DatabaseKey? = nil,
        options: RewriteOptions = RewriteOptions()
    ) {
        self.path = path
        self.outputPath = outputPath
        self.form = form
        self.newKey = newKey
        self.options = options
    }

    /// Makes the backup, and returns once it is on the disk.
    ///
    /// - Returns: What was done.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``; a `CancellationError`. No
    ///   new file is left then, except after ``DatabaseConversionError/notSynced(path:code:)``.
    @discardableResult
    public func run() throws -> BackupReport {
        let target = try form.with(newKey, of: path)
        let file = try DatabaseFile(path).resolved()
        let output = try DatabaseFile.freePlace(outputPath)
        let rewrite = try Rewrite(of: file, to: output, options: options)
        return try rewrite.underLocks {
            let new = try rewrite.begin()
            defer { new.remove() }
            let (content, byteCount) = try rewrite.write(
                new,
                as: target,
                from: SnapshotSource(file, form: form, options: options, monitor: rewrite.monitor),
                at: .free
            )
            return BackupReport(
                path: output.path,
                byteCount: byteCount,
                isCompared: true,
                findings: content.findings,
                seconds: rewrite.seconds
            )
        }
    }
}
