extension EncryptedStore {
    /// The rotation of the store's key. Close every connection to the database before you run it.
    ///
    /// ```swift
    /// try await store.keyRotation().asyncRun()
    /// ```
    ///
    /// - Parameters:
    ///   - keepsOldKey: Whether the old key is kept in its own item, for earlier backups.
    ///   - options: What happens to the old file, how long to wait, and who observes. SQL functions
    ///     and collations are the store's own.
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

    /// The store's key, even while it is being rotated.
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
