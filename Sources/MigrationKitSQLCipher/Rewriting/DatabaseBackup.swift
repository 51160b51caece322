import KeyStore
import MigrationKitGRDB

/// Copies a database into a new file, while others go on using it.
///
/// ```swift
/// try DatabaseBackup("/home/me/notes.db", to: "/media/me/notes.db", form: .encrypted(key)).run()
/// ```
///
/// The copy is what the database was at one instant: every transaction that was finished before it
/// began to copy, with what is still in the write-ahead log, and nothing of a later one. It is one
/// file, with no journal beside it, and keeps WAL mode. It has a salt of its own also where it keeps
/// the key, so that no page of it can be put into the database, or the other way round, without
/// being noticed: pages are authenticated with a key that is derived over the salt. (A raw key of
/// 96 digits names its salt, and so the copy has the same.)
///
/// Before it gets its name, the copy is opened with its key, every page is authenticated, and the
/// structure and the foreign keys are looked through. In WAL mode it is compared with the database
/// row by row, too. It is synchronized to the disk, and nothing is ever replaced by it.
///
/// Nobody is locked out. In WAL mode others write all the time; only the log can't be emptied
/// before the copy is compared, and grows by what they write. In the other journal modes others read
/// all the time, and a commit waits until the pages are copied, as it does for any reader: five
/// seconds for 270 MB, measured on two busy cores. That is also why the copy isn't compared in these.
///
/// Where the database lies in a folder, or on a medium, that can't be written, SQLite can't join a
/// write-ahead log. Then the file and its log are read as they lie there, and it is an error
/// (``DatabaseConversionError/changedMeanwhile(path:)``) if somebody writes them meanwhile.
public struct DatabaseBackup: Sendable {
    /// The database, as it was named.
    public let path: String

    /// The backup's file.
    public let outputPath: String

    package let form: DatabaseForm
    package let newKey: DatabaseKey?
    package var options: Options

    /// A backup that is still to be made.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - outputPath: The new file, which must not be there yet. Its folder must be.
    ///   - form: How the database is encrypted, and with which key. The backup has the same
    ///     settings; one of a plaintext database is in the clear.
    ///   - newKey: The backup's key; `nil` for the database's.
    ///   - options: How long to wait, what watches it.
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

    /// Makes the backup, and returns once it is on the disk.
    ///
    /// - Returns: What was done.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``; a `CancellationError`.
    ///   Nothing is left of the new file then, but with
    ///   ``DatabaseConversionError/notSynced(path:code:)``.
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
                isCompared: content.isCompared,
                findings: content.findings,
                seconds: rewrite.seconds
            )
        }
    }

    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled, it ends with a `CancellationError`.
    ///
    /// - Returns: What was done.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> BackupReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
