import KeyStore
import MigrationKitGRDB

/// Puts a backup in a database's place.
///
/// ```swift
/// try DatabaseRestore("/home/me/notes.db", from: "/media/me/notes.db", form: .encrypted(key)).run()
/// ```
///
/// The backup is copied into a new file beside the database, each page authenticated, and the copy
/// is opened with its key and looked through; only then it takes the database's place, at once. So
/// at every instant, and whatever ends the process, there is one whole file at the path, the old one
/// or the new one. What the old one's journals still hold is moved into it first, which needs no
/// key, so that this holds for what a crashed program left, too. Of a damaged log
/// (``EncryptedDatabaseError/damagedLog(path:frame:)``), which can't be moved as a whole, nothing is
/// touched until the new file is ready; with an original to keep, it is refused.
///
/// The database that is replaced may be missing, empty, damaged, another one, or one whose key is
/// lost: it is locked, but not read. Programs that have it open must close it first, and all
/// connections that this process has to it must be closed. Links to it stay, and so does its owner
/// where the process is root; the mode is 0600.
///
/// Of the backup nothing is changed, and nothing is left beside it; it may lie on a medium that can't
/// be written. A write-ahead log that lies beside it belongs to it. One that has a change in a
/// rollback journal which was never finished (``EncryptedDatabaseError/needsRecovery(path:)``), or
/// that somebody writes meanwhile, isn't restored.
public struct DatabaseRestore: Sendable {
    /// The database, as it was named.
    public let path: String

    /// The backup's file.
    public let backupPath: String

    package let form: DatabaseForm
    package let newKey: DatabaseKey?
    package let keptOriginalPath: String?
    package var options: DatabaseBackup.Options

    /// A backup that is still to be restored.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay. A missing one is created; its folder
    ///     must be there.
    ///   - backupPath: The backup.
    ///   - form: How the backup is encrypted, and with which key. The database gets the same
    ///     settings; a plaintext backup becomes a plaintext database.
    ///   - newKey: The database's key from then on; `nil` for the backup's.
    ///   - keptOriginalPath: Where the file that is replaced goes, byte for byte, with what its
    ///     journals held; nothing may be there. `nil` for nowhere.
    ///   - options: How long to wait, what watches it.
    public init(
        _ path: String,
        from backupPath: String,
        form: DatabaseForm,
        newKey: DatabaseKey? = nil,
        keptOriginalPath: String? = nil,
        options: DatabaseBackup.Options = DatabaseBackup.Options()
    ) {
        self.path = path
        self.backupPath = backupPath
        self.form = form
        self.newKey = newKey
        self.keptOriginalPath = keptOriginalPath
        self.options = options
    }

    /// Restores it, and returns once that is on the disk.
    ///
    /// - Returns: What was done.
    /// - Throws: ``EncryptedDatabaseError``, about the backup or the database;
    ///   ``DatabaseConversionError``; a `CancellationError`. The database is as it was then, but for
    ///   what its journals held, and nothing is left of the new file; but after
    ///   ``DatabaseConversionError/notSynced(path:code:)`` that is in place.
    @discardableResult
    public func run() throws -> RestoreReport {
        let target = try form.with(newKey, of: backupPath)
        let backup = try DatabaseFile(backupPath).resolved()
        let place = try place(besides: backup)
        let original = try keptOriginalPath.map {
            try DatabaseFile.freePlace($0, forOriginalOf: place)
        }
        let rewrite = try Rewrite(
            of: backup,
            to: place,
            keepingAs: original,
            options: options
        )
        return try rewrite.underLocks {
            let new = try rewrite.begin()
            defer { new.remove() }
            // Proves the key before the place is locked.
            let source = try RestingSource(backup, form: form, monitor: rewrite.monitor)
            let replaced =
                try place.size() == nil
                ? nil : LockedPlace(place, isKept: original != nil, monitor: rewrite.monitor)
            let (content, byteCount) = try rewrite.write(
                new,
                as: target,
                from: source,
                at: replaced.map { .locked($0) } ?? .abandoned
            )
            return RestoreReport(
                path: place.path,
                hasReplaced: replaced != nil,
                originalPath: replaced == nil ? nil : original?.path,
                byteCount: byteCount,
                otherNameCount: replaced?.identity.otherNameCount ?? 0,
                formerMode: replaced?.identity.permissions,
                findings: content.findings,
                seconds: rewrite.seconds
            )
        }
    }

    /// Where the database goes, its links resolved if there is one.
    private func place(besides backup: DatabaseFile) throws -> DatabaseFile {
        let named = DatabaseFile(path)
        try named.checkLink()
        guard try named.size() != nil else {
            try named.checkIsFree()
            return named
        }
        let file = try named.resolved()
        if let identity = try FileIdentity.of(file.absolutePath),
            try FileIdentity.of(backup.absolutePath)?.isSameFile(as: identity) == true
        {
            throw DatabaseConversionError.sameFile(path: file.path)
        }
        try file.checkIsReplaceable()
        return file
    }

    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled, it ends with a `CancellationError`, and the database is as it was.
    ///
    /// - Returns: What was done.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> RestoreReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
