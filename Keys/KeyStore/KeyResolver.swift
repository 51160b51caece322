/// Gets the secret that a source names.
///
/// For every source, one trailing newline is dropped, an empty secret is an error, and the limit is
/// 64 KiB. The bytes need not be UTF-8 and may include NUL: SQLCipher gets their number.
/// (Environment variables and command-line arguments end at a NUL.)
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
    /// - Parameter keyStore: Creates the key store. Called only if a source names it, so that
    ///   nothing else needs a bus.
    public init(keyStore: @escaping @Sendable () throws -> any KeyStore) {
        self.keyStore = keyStore
    }

    /// The secret from a source.
    ///
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    public func secret(from source: KeySource) throws -> Secret {
        try source.secret(keyStore: keyStore)
    }

    /// The key from a source.
    ///
    /// - Parameters:
    ///   - source: Where the key comes from.
    ///   - form: Whether the secret is a passphrase, or a raw key's 64 or 96 hexadecimal digits. If
    ///     this library stored the item, the form that the item records takes precedence.
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    public func key(from source: KeySource, form: DatabaseKey.Form) throws -> DatabaseKey {
        if case .keyStore(let service, let account) = source {
            let entry = try keyStore().entry(service: service, account: account)
            return try Self.key(of: entry, named: source, form: form)
        }
        return try Self.key(secret(from: source), named: source, form: form)
    }

    /// The key from an item that was already read.
    ///
    /// - Parameters:
    ///   - entry: The item.
    ///   - source: The source's name in errors.
    ///   - form: The secret's form if the item doesn't record one.
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
