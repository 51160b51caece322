import MigrationKitKeys
import MigrationKitCommon

// What an app keeps elsewhere: the key, and the database.
extension EncryptedStore {
    /// A copy of the key for the day on which the key store has lost it. Without its key, a database is
    /// lost, and backups of the database don't contain it.
    ///
    /// ```swift
    /// let copy = try await asyncRun { try store.recoveryCopy(passphrase: passphrase) }
    /// ```
    ///
    /// It is a `RecoveryContainer`, which the tool's `key import` and OpenSSL's `openssl pkcs12` open as
    /// well. After a rotation of the key, it opens only older backups: make a new one.
    ///
    /// - Parameter passphrase: What opens the copy: 1 to 1,023 bytes without a line break or NUL.
    /// - Returns: The bytes of the file.
    /// - Throws: What ``open()`` throws if the key isn't there or doesn't open the database;
    ///   `RecoveryCopyError`.
    public func recoveryCopy(passphrase: Secret) throws -> [UInt8] {
        guard try exists() else { throw EncryptedDatabaseError.noSuchFile(path: path) }
        return try RecoveryContainer.seal(
            storedKey.provenKey(),
            named: "\(service) (\(account))",
            with: passphrase
        )
    }

    /// Stores the key of a recovery copy, if it opens the database. The next launch opens it then.
    ///
    /// ```swift
    /// catch EncryptedStoreError.keyMissing {
    ///     // Ask for the file and its passphrase.
    ///     try await asyncRun { try store.restoreKey(from: copy, passphrase: passphrase) }
    ///     return try await store.asyncOpen()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - copy: The bytes of the file.
    ///   - passphrase: What opens it.
    ///   - replacing: Whether another key that is stored is replaced. It is kept in an item of its own, as
    ///     a rotation keeps former keys.
    /// - Throws: `RecoveryCopyError`; ``EncryptedDatabaseError/wrongKey(path:)`` if the key is another
    ///   database's, or a former one; another ``EncryptedDatabaseError`` if the file is missing or can't be
    ///   read; `KeyStoreError.itemExists` if another key is stored and may not be replaced;
    ///   ``EncryptedStoreError/keyNotKept(service:account:hasDatabase:)``; another `KeyStoreError`.
    public func restoreKey(
        from copy: [UInt8],
        passphrase: Secret,
        replacing: Bool = false
    ) throws {
        guard try exists() else { throw EncryptedDatabaseError.noSuchFile(path: path) }
        let key = try RecoveryContainer.open(
            copy.withUnsafeBytes(Secret.init(copying:)),
            with: passphrase,
            named: "memory"
        )
        let stored = storedKey
        try stored.prove(key)
        if try keyStore.hasItem(service: service, account: account), let entry = try stored.item() {
            guard try stored.read(entry) != key else { return }
            guard replacing else {
                throw KeyStoreError.itemExists(service: service, account: account)
            }
            try stored.keep(entry, account: account)
            try keyStore.store(
                key,
                service: service,
                account: account,
                label: entry.item.label,
                replacing: true
            )
        }
        _ = try stored.store(key, service: service, account: account, label: label)
    }

    /// Copies the database, as it is at one instant, into a new file, while others use it. The copy has the
    /// store's key, also while that is being rotated.
    ///
    /// - Parameters:
    ///   - outputPath: The new file. It must not exist, but its folder must.
    ///   - options: How long to wait, and who observes it. SQL functions, collations and
    ///     `prepareDatabase` are the store's own.
    /// - Returns: What was done.
    /// - Throws: ``EncryptedStoreError``; `KeyStoreError`; what ``DatabaseBackup/run()`` throws.
    @discardableResult
    public func backup(
        to outputPath: String,
        options: RewriteOptions = RewriteOptions()
    ) throws -> BackupReport {
        try storedKey.open { key in
            try DatabaseBackup(
                path,
                to: outputPath,
                form: .encrypted(key, cipher: self.options.cipher),
                options: rewriting(options)
            ).run()
        }
    }
}
