import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

/// Replaces a database with a backup.
///
/// ```swift
/// try DatabaseRestore("/home/me/notes.db", from: "/media/me/notes.db", form: .encrypted(key)).run()
/// ```
///
/// The backup is copied into a new file beside the database, and each page is authenticated. The
/// copy is read back and compared, opened with its key, and checked. Only then does it replace the database, by a rename. So
/// even if the process is killed, there is always one complete file at the path, the old one or the
/// new one. First, the old database's journals are moved into it, which needs no key. So this also
/// holds for a database that a crashed program left. A damaged log
/// (``EncryptedDatabaseError/damagedLog(path:frame:)``) can't be moved as a whole, and isn't
/// touched until the new file is ready. If the original is to be kept, a damaged log is an error.
///
/// The database may be missing, empty or damaged, it may be another one, or its key may be lost: it
/// is locked, but not read. Other programs must close it first. So must this process: none of its
/// connections may be open. Links to it stay, and so do its extended attributes and access control
/// list and, if the process is root, its owner. The mode becomes 0600; only users and groups that the
/// list names keep their access.
///
/// The backup isn't changed, and nothing is left beside it. It may be on a read-only medium. A
/// write-ahead log beside it is part of it. A backup with an unfinished change in a rollback
/// journal (``EncryptedDatabaseError/needsRecovery(path:)``), or one that somebody writes
/// meanwhile, isn't restored.
public struct DatabaseRestore: Sendable {
    /// The path of the database, as it was given.
    public let path: String

    /// The backup's file.
    public let backupPath: String

    package let form: DatabaseForm
    package let newKey: DatabaseKey?
    package var options: RewriteOptions

    /// Describes a restore. Nothing happens until it is run.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay. If it is missing, it is created; its
    ///     folder must exist.
    ///   - backupPath: The backup.
    ///   - form: How the backup is encrypted, and with which key. The database gets the same
    ///     settings; a plaintext backup becomes a plaintext database.
    ///   - newKey: The database's new key; `nil` for the backup's.
    ///   - options: How long to wait, and who observes it.
    public init(
        _ path: String,
        from backupPath: String,
        form: DatabaseForm,
        newKey: DatabaseKey? = nil,
        options: RewriteOptions = RewriteOptions()
    ) {
        self.path = path
        self.backupPath = backupPath
        self.form = form
        self.newKey = newKey
        self.options = options
    }

    /// Restores the backup, and returns when the database is on the disk.
    ///
    /// - Parameter keptOriginalPath: Where the replaced file is copied, byte for byte, including the
    ///   content of its journals. The path must be free. `nil` to keep no copy.
    /// - Returns: What was done.
    /// - Throws: ``EncryptedDatabaseError``, about the backup or the database;
    ///   ``DatabaseConversionError``; a `CancellationError`. The database is then unchanged, except
    ///   that its journals may have been moved into it, and no new file is left. Only after
    ///   ``DatabaseConversionError/notSynced(path:code:)`` the new file is in place.
    @discardableResult
    public func run(keptOriginalPath: String? = nil) throws -> RestoreReport {
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
            try checkJournals(of: place, form, target, isKept: original != nil)
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

    /// Throws if the log or the journal beside the replaced file isn't its own: it would be moved into that
    /// file and then be gone. The backup's key is usually the file's, too. If it isn't, this can't be
    /// proved, and the file can't be kept.
    private func checkJournals(
        of place: DatabaseFile,
        _ forms: DatabaseForm...,
        isKept: Bool
    ) throws {
        let look = try place.look()
        try look.checkHasDatabase()
        if let finding = try JournalOwnership.findingBySalt(look) {
            throw finding.error(path: place.path, isSound: nil)
        }
        guard look.size ?? 0 > 0, try look.hasJournalContent else { return }
        for form in forms {
            let inspection = try FileInspection(look, cipher: form.cipher)
            guard inspection.isPlaintext != form.isEncrypted else { continue }
            let key = form.key.flatMap { try? inspection.derive($0) }
            let finding = try JournalOwnership(look, key: key, cipher: form.cipher).finding()
            guard let finding else { return }
            // A key that opens neither says nothing.
            let isKnown = try key.map { try inspection.hasHeader(with: $0) } ?? !form.isEncrypted
            guard isKnown || finding.mismatch == .database else { continue }
            throw finding.error(path: place.path, isSound: nil)
        }
        // What is thrown away may be anything.
        guard isKept, let suffix = try place.journalWithPages else { return }
        try look.checkLog()
        throw JournalOwnership.Finding(suffix: suffix, mismatch: .unproved)
            .error(path: place.path, isSound: nil)
    }

    /// Where the database goes, its links resolved if there is one. A text isn't replaced.
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
        // It may be the file with the key.
        guard try !FileInspection(file.look(), cipher: form.cipher).isText else {
            throw EncryptedDatabaseError.notADatabase(path: file.path)
        }
        return file
    }
}

// MARK: - Looking

extension DatabaseRestore {
    /// Reads the backup: whether its key opens it, and each page is as it was written.
    ///
    /// - Throws: ``EncryptedDatabaseError``.
    package func checkBackup() throws {
        let backup = try DatabaseFile(backupPath).resolved()
        _ = try RestingSource(backup, form: form, monitor: options.monitor)
        let pages = try FileInspection(backup.look(), cipher: form.cipher).damagedPages(form)
        guard pages.isEmpty else {
            throw EncryptedDatabaseError.damaged(path: backup.path, pages: pages)
        }
    }

    /// Whether the database has the pages of the backup, as after a run that was killed. Then its name
    /// is on the disk when this returns. Nothing is locked, and nobody waited for.
    ///
    /// - Throws: What ``run(keptOriginalPath:)`` throws about the backup and the path; an error about
    ///   the database, which that replaces all the same.
    package func isDone() throws -> Bool {
        let target = try form.with(newKey, of: backupPath)
        let backup = try DatabaseFile(backupPath).resolved()
        let file = try place(besides: backup)
        let look = try file.look()
        guard look.size ?? 0 > 0, try !look.hasJournalContent else { return false }
        var options = options
        options.timeout = 0
        let monitor = options.monitor
        let source = try RestingSource(backup, form: form, monitor: monitor)
        let inspection = try FileInspection(look, cipher: target.cipher)
        let encryption = try target.key.map {
            PageRewriting.Encryption(
                key: try inspection.derive($0),
                salt: try inspection.salt(with: $0),
                cipher: target.cipher
            )
        }
        let isDone = try source.withPages(without: nil) { pages, key in
            try PageRewriting(
                to: file.absolutePath,
                encryption,
                pageSize: pages.pageSize,
                count: pages.count
            ).isDone(pages, source.encryption(of: pages, key)) { try monitor.reach($0) }
        }
        if isDone { try NewFiles(for: file.absolutePath).synchronize() }
        return isDone
    }
}
