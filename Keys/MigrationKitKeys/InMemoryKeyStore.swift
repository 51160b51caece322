import MigrationKitCommon

/// A key store in memory, for tests of apps that use this library.
///
/// It has the rules of the real one: several matches are an error, an item is replaced only on
/// request, a locked store doesn't report "not found", and passphrases that the desktop's stores
/// can't keep are refused.
public final class InMemoryKeyStore: KeyStore {
    private struct Contents {
        var entries = KeyEntries(collection: "memory")
        var failure: KeyStoreError?

        func checked() throws -> KeyEntries {
            if let failure { throw failure }
            return entries
        }
    }

    private let contents = Locked(Contents())

    /// Makes an empty store.
    public init() {}

    /// Makes every call fail with an error, such as `.locked(collection: "login")`, until this is
    /// set to nil.
    public func fail(with error: KeyStoreError?) {
        contents.withLock { $0.failure = error }
    }

    /// Adds an item as another program would: without recording its form, and without replacing any
    /// other.
    public func add(_ secret: Secret, service: String, account: String?, label: String = "") {
        contents.withLock { contents in
            contents.entries.append(
                secret,
                service: service,
                account: account,
                label: label,
                form: nil
            )
        }
    }

    /// The items that match, without their secrets.
    public func items(service: String?, account: String?) throws -> [KeyItem] {
        try contents.withLock { try $0.checked().matches(service, account).map(\.item) }
    }

    /// The one item that matches, with its secret.
    public func entry(service: String, account: String?) throws -> KeyEntry {
        try contents.withLock { try $0.checked().only(service, account) }
    }

    /// Stores a key.
    public func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        try checkStorable(key)
        let label = label ?? defaultLabel(service: service, account: account)
        try contents.withLock { contents in
            _ = try contents.checked()
            try contents.entries.store(
                key,
                service: service,
                account: account,
                label: label,
                replacing: replacing
            )
        }
    }

    /// Throws if the desktop's key stores can't keep the key.
    public func checkStorable(_ key: DatabaseKey) throws {
        try key.checkStorable()
    }

    /// Deletes the one item that matches.
    @discardableResult
    public func delete(service: String, account: String?) throws -> KeyItem {
        try contents.withLock { contents in
            _ = try contents.checked()
            return try contents.entries.delete(service: service, account: account)
        }
    }
}

extension InMemoryKeyStore: ItemDeletingKeyStore {
    package func delete(_ item: KeyItem) throws {
        try contents.withLock { contents in
            _ = try contents.checked()
            contents.entries.delete(item)
        }
    }
}
