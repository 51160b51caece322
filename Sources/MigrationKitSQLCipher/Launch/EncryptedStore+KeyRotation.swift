extension EncryptedStore {
    /// The rotation of the store's key. Every connection to the database must be closed before it is
    /// run.
    ///
    /// ```swift
    /// try await store.keyRotation().asyncRun()
    /// ```
    ///
    /// - Parameters:
    ///   - keepsOldKey: Whether the old key is kept in an item of its own, for the backups that were
    ///     made before.
    ///   - options: What happens to the old file, how long to wait, who watches. SQL functions and
    ///     collations are the store's own.
    public func keyRotation(
        keepsOldKey: Bool = true,
        options: DatabaseConversion.Options = .init()
    ) -> KeyRotation {
        var options = options
        options.functions = self.options.functions
        options.collations = self.options.collations
        return KeyRotation(
            path,
            keyStore: keyStore,
            service: service,
            account: account,
            keepsOldKey: keepsOldKey,
            keyForm: keyForm,
            cipher: self.options.cipher,
            options: options
        )
    }

    /// The store's key, whichever it is while it is rotated.
    package var storedKey: StoredKey {
        let keyForm = keyForm
        return StoredKey(
            path: path,
            keyStore: keyStore,
            service: service,
            account: account,
            cipher: options.cipher,
            isReadOnly: options.isReadOnly,
            timeout: options.busyTimeout,
            read: { try $0.key(assuming: keyForm) }
        )
    }
}
