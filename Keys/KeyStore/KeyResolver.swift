/// Gets the secret that a source names.
///
/// From every source one trailing newline is dropped, an empty secret is refused, and 64 KiB are
/// the most. The bytes need not be UTF-8 and may include NUL: SQLCipher gets their number. (An
/// environment variable and a command-line argument end at a NUL, as the system has it.)
///
/// ```swift
/// let resolver = KeyResolver { SecretServiceKeyStore() }
/// let key = try resolver.key(
///     from: .keyStore(service: "com.example.Notes", account: "main"), form: .passphrase)
/// ```
public struct KeyResolver: Sendable {
    private let keyStore: @Sendable () throws -> any KeyStore

    /// Makes a resolver.
    ///
    /// - Parameter keyStore: Makes the key store; called only when a source names it, so that
    ///   nothing else needs a bus.
    public init(keyStore: @escaping @Sendable () throws -> any KeyStore) {
        self.keyStore = keyStore
    }

    /// The secret that the source gives.
    ///
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    public func secret(from source: KeySource) throws -> Secret {
        try source.secret(keyStore: keyStore)
    }

    /// The key that the source gives.
    ///
    /// - Parameters:
    ///   - source: Where the key comes from.
    ///   - form: Whether the secret is a passphrase, or a raw key's 64 or 96 hexadecimal digits. An
    ///     item of the key store that this library stored says so itself, and that counts.
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    public func key(from source: KeySource, form: DatabaseKey.Form) throws -> DatabaseKey {
        if case .keyStore(let service, let account) = source {
            let entry = try keyStore().entry(service: service, account: account)
            return try Self.key(of: entry, named: source, form: form)
        }
        return try Self.key(secret(from: source), named: source, form: form)
    }

    /// The key of an item that was read already.
    ///
    /// - Parameters:
    ///   - entry: The item.
    ///   - source: What it is called in errors.
    ///   - form: What the secret is if the item doesn't say so itself.
    /// - Throws: ``KeySourceError``.
    package static func key(
        of entry: KeyEntry,
        named source: KeySource,
        form: DatabaseKey.Form
    ) throws -> DatabaseKey {
        try key(entry.text(named: source), named: source, form: entry.item.form ?? form)
    }

    private static func key(
        _ secret: Secret,
        named source: KeySource,
        form: DatabaseKey.Form
    ) throws -> DatabaseKey {
        do {
            return try DatabaseKey(secret, form: form)
        } catch let reason as DatabaseKeyError {
            throw KeySourceError.unusableKey(source: "\(source)", reason: reason)
        }
    }
}
