import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

/// Rewrites a database: encrypted, as plaintext, with another key, or with other settings.
///
/// ```swift
/// try DatabaseConversion.encrypt("/home/me/notes.db", key: key).run()
/// try DatabaseConversion.rekey("/home/me/notes.db", from: old, to: new).run()
/// try DatabaseConversion.decrypt("/home/me/notes.db", key: new).run(to: "/home/me/plain.db")
/// ```
///
/// Everything is copied into a new file beside the old one. If the pages keep their form, as with
/// another key, they are copied as they are, by several threads, and each is compared when the new
/// file is read back. Otherwise the rows are copied. Then the content of each table and index is
/// compared, and each page of the new file is authenticated and checked. What a source already has
/// against its own structure is copied, and reported (``ConversionReport/findings``). The new file is opened with
/// the new key, and synchronized to the disk. Only then does it replace the old file, by a rename. So
/// even if the process is killed, there is always one complete file at the path, the old one or the
/// new one. SQLCipher's own `PRAGMA rekey` and `cipher_migrate` can't promise that.
///
/// The database is locked for the whole time: no other program can read or write it. Other programs
/// must close it first. So must this process: none of its connections may be open.
///
/// These are kept: rows with their rowids, the schema, the results of `ANALYZE`, `user_version`,
/// `application_id`, the text encoding, `auto_vacuum`, WAL mode, the file's extended attributes and
/// access control list and, if the process is root, the owner. The mode becomes 0600, or stays
/// stricter; only users and groups that the access control list names keep their access.
/// `schema_version` and free pages are kept if the pages keep their form. Otherwise a table without
/// a key or an index gets new rowids if its columns use all their names: `rowid`, `_rowid_` and
/// `oid`.
///
/// It uses at most 200 megabytes of memory, plus a few times the largest single value. No part of
/// an encrypted database is written as plaintext, unless that was asked for.
public struct DatabaseConversion: Sendable {
    /// The path of the database, as it was given.
    public let path: String

    package let source: DatabaseForm
    package let target: DatabaseForm
    let isUpgrade: Bool
    package var options: RewriteOptions

    /// Describes any conversion from one form to another. Nothing happens until it is run.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - source: Its current form.
    ///   - target: The form that it gets.
    ///   - options: How long to wait, and who observes it.
    public init(
        _ path: String,
        from source: DatabaseForm,
        to target: DatabaseForm,
        options: RewriteOptions = RewriteOptions()
    ) {
        self.init(path, from: source, to: target, isUpgrade: false, options: options)
    }

    private init(
        _ path: String,
        from source: DatabaseForm,
        to target: DatabaseForm,
        isUpgrade: Bool,
        options: RewriteOptions
    ) {
        self.path = path
        self.source = source
        self.target = target
        self.isUpgrade = isUpgrade
        self.options = options
    }

    /// Encrypts a plaintext database.
    ///
    /// The old plaintext is no longer in a file, but may remain on the disk: in freed blocks, on
    /// flash memory, in snapshots and in backups.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its new key.
    ///   - cipher: How it is encrypted, beside the key.
    ///   - options: How long to wait, and who observes it.
    public static func encrypt(
        _ path: String,
        key: DatabaseKey,
        cipher: CipherSettings = .current,
        options: RewriteOptions = RewriteOptions()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .plaintext(),
            to: .encrypted(key, cipher: cipher),
            options: options
        )
    }

    /// Decrypts a database.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its key.
    ///   - cipher: How it is encrypted, beside the key.
    ///   - pageSize: The new file's page size in bytes; `nil` for the old one's.
    ///   - options: How long to wait, and who observes it.
    public static func decrypt(
        _ path: String,
        key: DatabaseKey,
        cipher: CipherSettings = .current,
        pageSize: Int? = nil,
        options: RewriteOptions = RewriteOptions()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .encrypted(key, cipher: cipher),
            to: .plaintext(pageSize: pageSize),
            options: options
        )
    }

    /// Gives an encrypted database another key. A raw key can replace a passphrase, and the other
    /// way round.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its current key.
    ///   - newKey: Its new key.
    ///   - cipher: How it is encrypted, beside the key.
    ///   - newCipher: How it will be encrypted; `nil` to keep the settings.
    ///   - options: How long to wait, and who observes it.
    public static func rekey(
        _ path: String,
        from key: DatabaseKey,
        to newKey: DatabaseKey,
        cipher: CipherSettings = .current,
        newCipher: CipherSettings? = nil,
        options: RewriteOptions = RewriteOptions()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .encrypted(key, cipher: cipher),
            to: .encrypted(newKey, cipher: newCipher ?? cipher),
            options: options
        )
    }

    /// Whether a key opens a database already, as after a ``rekey(_:from:to:cipher:newCipher:options:)``
    /// that was killed. Then its name is on the disk when this returns. Nothing is locked.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the file is missing, plaintext or unreadable;
    ///   ``DatabaseConversionError/notSynced(path:code:)``.
    package static func isRekeyed(
        _ path: String,
        to key: DatabaseKey,
        cipher: CipherSettings = .current
    ) throws -> Bool {
        let file = try DatabaseFile(path).resolved()
        let inspection = try FileInspection(file.look(), cipher: cipher)
        guard try inspection.opens(with: inspection.derive(key)) else { return false }
        do {
            try NewFiles(for: file.absolutePath).synchronize()
        } catch {
            throw DatabaseConversionError.notSynced(path: file.path, code: error.code)
        }
        return true
    }

    /// Converts a database of an older SQLCipher, or with other settings, to the current settings.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - key: Its key, which stays the same.
    ///   - cipher: How it is encrypted, beside the key. If these are the current settings, those of
    ///     older versions are tried, too.
    ///   - newCipher: How it will be encrypted.
    ///   - options: How long to wait, and who observes it.
    public static func upgrade(
        _ path: String,
        key: DatabaseKey,
        cipher: CipherSettings = .current,
        newCipher: CipherSettings = .current,
        options: RewriteOptions = RewriteOptions()
    ) -> DatabaseConversion {
        DatabaseConversion(
            path,
            from: .encrypted(key, cipher: cipher),
            to: .encrypted(key, cipher: newCipher),
            isUpgrade: true,
            options: options
        )
    }

    /// Replaces the database, and returns when the new file is on the disk.
    ///
    /// - Parameter keptOriginalPath: Where the original is copied, byte for byte, before it is
    ///   replaced. The path must be free. `nil` to keep no copy.
    /// - Returns: What was done.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``; a `CancellationError`.
    ///   The database is then unchanged, except that its write-ahead log may have been moved into
    ///   it, and no new file is left. Only after ``DatabaseConversionError/notSynced(path:code:)``
    ///   the new file is in place.
    @discardableResult
    public func run(keptOriginalPath: String? = nil) throws -> ConversionReport {
        try run(by: Self.replacement(of: path, keptOriginalPath, options))
    }

    /// Writes the result into another file, and returns when that is on the disk. The database stays.
    ///
    /// - Parameter outputPath: The new file, which must not exist.
    /// - Returns: What was done.
    /// - Throws: What ``run(keptOriginalPath:)`` throws.
    @discardableResult
    public func run(to outputPath: String) throws -> ConversionReport {
        let file = try DatabaseFile(path).resolved()
        let output = try DatabaseFile.freePlace(outputPath)
        let rewrite = try Rewrite(of: file, isLocked: true, to: output, options: options)
        try file.look().checkAccess(forWriting: true)
        return try run(by: rewrite)
    }

    private func run(by rewrite: Rewrite) throws -> ConversionReport {
        try rewrite.underLocks {
            let new = try rewrite.begin()
            defer { new.remove() }
            return try write(new, by: rewrite)
        }
    }
}

// MARK: - Running

extension DatabaseConversion {
    /// What puts a new file in a database's place.
    static func replacement(
        of path: String,
        _ keptOriginalPath: String?,
        _ options: RewriteOptions
    ) throws -> Rewrite {
        let file = try DatabaseFile(path).resolved()
        let original = try keptOriginalPath.map {
            try DatabaseFile.freePlace($0, forOriginalOf: file)
        }
        let rewrite = try Rewrite(of: file, to: file, keepingAs: original, options: options)
        try file.checkIsReplaceable()
        return rewrite
    }

    /// Converts the database. The caller holds the locks.
    ///
    /// - Parameter new: The file for the result. As long as it has its hidden name, it is known that it
    ///   has not taken the database's place.
    func write(_ new: NewFile, by rewrite: Rewrite) throws -> ConversionReport {
        let source = try openSource(by: rewrite)
        let isReplaced = rewrite.place.absolutePath == rewrite.file.absolutePath
        let (content, byteCount) = try rewrite.write(
            new,
            as: target,
            from: source,
            at: isReplaced ? .locked(source) : .free
        )
        return ConversionReport(
            path: rewrite.place.path,
            originalPath: rewrite.original?.path,
            otherNameCount: isReplaced ? source.identity.otherNameCount : 0,
            formerMode: isReplaced ? source.identity.permissions : nil,
            bytesBefore: source.byteCount,
            bytesAfter: byteCount,
            tableCount: content.tableCount,
            rowCount: content.rowCount,
            findings: content.findings,
            seconds: rewrite.seconds,
            phaseSeconds: rewrite.monitor.phaseSeconds
        )
    }

    private func openSource(by rewrite: Rewrite) throws -> LockedSource {
        do {
            return try openSource(source, by: rewrite)
        } catch EncryptedDatabaseError.encrypted where !source.isEncrypted {
            throw DatabaseConversionError.notPlaintext(path: rewrite.file.path)
        } catch EncryptedDatabaseError.olderFormat(let path, let version) {
            guard isUpgrade, let key = source.key else {
                throw EncryptedDatabaseError.olderFormat(path: path, cipherCompatibility: version)
            }
            return try openSource(
                .encrypted(key, cipher: source.cipher.ofVersion(version)),
                by: rewrite
            )
        } catch EncryptedDatabaseError.otherSettings(let path, let cipher) {
            guard isUpgrade, let key = source.key else {
                throw EncryptedDatabaseError.otherSettings(path: path, cipher: cipher)
            }
            return try openSource(.encrypted(key, cipher: cipher), by: rewrite)
        }
    }

    private func openSource(_ form: DatabaseForm, by rewrite: Rewrite) throws -> LockedSource {
        let source = try LockedSource(
            rewrite.file,
            form: form,
            options: rewrite.options.opening(form),
            monitor: rewrite.monitor
        )
        guard isUpgrade, form == target else { return source }
        try source.unlock()
        throw DatabaseConversionError.alreadyCurrent(path: rewrite.file.path)
    }
}
