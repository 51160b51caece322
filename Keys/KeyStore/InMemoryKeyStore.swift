import FoundationEssentials
import Synchronization

/// A key store in memory, for tests of apps that use this library.
///
/// It has the rules of the real one: several matches are an error, an item is replaced only on
/// request, a locked store doesn't report "not found", and passphrases that the desktop's stores
/// can't keep are refused.
public final class InMemoryKeyStore: KeyStore {
    fileprivate struct Contents {
        var entries: [KeyEntry] = []
        var next = 1
        var failure: KeyStoreError?
    }

    private let contents = Mutex(Contents())

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
            contents.append(secret, service: service, account: account, label: label, form: nil)
        }
    }

    /// The items that match, without their secrets.
    public func items(service: String?, account: String?) throws -> [KeyItem] {
        try contents.withLock { try $0.matches(service, account).map(\.item) }
    }

    /// The one item that matches, with its secret.
    public func entry(service: String, account: String?) throws -> KeyEntry {
        try contents.withLock { try $0.only(service, account) }
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
            if try !contents.matches(service, account).isEmpty {
                guard replacing else {
                    throw KeyStoreError.itemExists(service: service, account: account)
                }
                let old = try contents.only(service, account).item.identifier
                contents.entries.removeAll { $0.item.identifier == old }
            }
            contents.append(
                key.stored(),
                service: service,
                account: account,
                label: label,
                form: key.form
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
            let item = try contents.only(service, account).item
            contents.entries.removeAll { $0.item.identifier == item.identifier }
            return item
        }
    }
}

extension InMemoryKeyStore.Contents {
    fileprivate func matches(_ service: String?, _ account: String?) throws -> [KeyEntry] {
        if let failure { throw failure }
        return entries.filter { entry in
            let serviceMatches =
                service.map { entry.item.service == $0 } ?? (entry.item.form != nil)
            return serviceMatches && (account == nil || entry.item.account == account)
        }
    }

    fileprivate func only(_ service: String, _ account: String?) throws -> KeyEntry {
        let found = try matches(service, account)
        guard let first = found.first else {
            throw KeyStoreError.itemNotFound(service: service, account: account)
        }
        guard found.count == 1 else {
            throw KeyStoreError.ambiguous(service: service, matches: found.map(\.item.summary))
        }
        return first
    }

    fileprivate mutating func append(
        _ secret: Secret,
        service: String,
        account: String?,
        label: String,
        form: DatabaseKey.Form?
    ) {
        var attributes = ["service": service]
        attributes["username"] = account
        let now = Date()
        let item = KeyItem(
            identifier: "\(next)",
            service: service,
            account: account,
            label: label,
            collection: "memory",
            attributes: attributes,
            created: now,
            modified: now,
            form: form
        )
        entries.append(KeyEntry(item: item, secret: secret))
        next += 1
    }
}
