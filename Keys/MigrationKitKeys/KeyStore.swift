import FoundationEssentials

/// A place that keeps keys, such as the desktop's Secret Service.
///
/// Implement the four operations, and perhaps ``checkStorable(_:)`` and ``provider()``; everything
/// else is built on them. Distinguish "not found" from "could not look": a key must never be taken
/// for missing because its store is locked. Each call may block, waiting for a daemon or for the
/// user's answer.
public protocol KeyStore: Sendable {
    /// The items that match, without their secrets.
    ///
    /// - Parameters:
    ///   - service: The service to match; nil for all items that this library stored.
    ///   - account: The account to match; nil for any.
    /// - Returns: The matching items. If there are none, that isn't an error.
    /// - Throws: ``KeyStoreError`` if the store can't be asked.
    func items(service: String?, account: String?) throws -> [KeyItem]

    /// The one item that matches, with its secret.
    ///
    /// - Throws: ``KeyStoreError/itemNotFound(service:account:)`` only if the store was unlocked
    ///   and has no match; ``KeyStoreError/ambiguous(service:matches:)`` if several match; any
    ///   other ``KeyStoreError`` if the store can't be asked.
    func entry(service: String, account: String?) throws -> KeyEntry

    /// Stores a key.
    ///
    /// - Parameters:
    ///   - key: The key. A raw key is stored as hexadecimal digits, and its form is recorded.
    ///   - service: The service that it is for.
    ///   - account: The account that it is for.
    ///   - label: The name that password programs show; nil for one made of service and account.
    ///   - replacing: Whether an item with the same service and account may be replaced.
    /// - Throws: ``KeyStoreError/itemExists(service:account:)`` if there is one and it may not be
    ///   replaced; what ``checkStorable(_:)`` throws; any other ``KeyStoreError`` if the store
    ///   can't be asked.
    func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws

    /// Deletes the one item that matches.
    ///
    /// - Returns: What was deleted.
    /// - Throws: As ``entry(service:account:)``. If several items match, none is deleted.
    @discardableResult
    func delete(service: String, account: String?) throws -> KeyItem

    /// Throws if the store can't keep a key permanently. Asks nobody, and changes nothing.
    ///
    /// The default implementation is for stores that can keep every key.
    ///
    /// - Throws: ``KeyStoreError/unstorablePassphrase(_:)``.
    func checkStorable(_ key: DatabaseKey) throws

    /// The program that keeps the items. If it can be told to write what it has acknowledged, it is.
    ///
    /// The default implementation is for stores whose items are on the disk when ``store(_:service:account:label:replacing:)``
    /// returns. A key store that passes its calls on to another one passes this on, too.
    ///
    /// - Returns: `nil` if no other program keeps the items.
    /// - Throws: ``KeyStoreError`` if the program can't be asked.
    func provider() throws -> KeyStoreProvider?
}

extension KeyStore {
    /// The key of the one item that matches.
    ///
    /// - Parameters:
    ///   - service: The service that the key is for.
    ///   - account: The account that it is for; nil for the only one.
    ///   - form: The secret's form if the item doesn't record one.
    /// - Throws: ``KeyStoreError``; ``DatabaseKeyError`` if the secret can't be a key.
    public func key(
        service: String,
        account: String?,
        assuming form: DatabaseKey.Form = .passphrase
    ) throws -> DatabaseKey {
        try entry(service: service, account: account).key(assuming: form)
    }

    /// Stores a key with a label made of service and account. An existing item is an error.
    public func store(_ key: DatabaseKey, service: String, account: String) throws {
        try store(key, service: service, account: account, label: nil, replacing: false)
    }

    /// Accepts every key.
    public func checkStorable(_ key: DatabaseKey) throws {}

    /// No other program.
    public func provider() throws -> KeyStoreProvider? { nil }

    /// The one item that matches; `nil` if the store has none, or one without a secret: a process that
    /// was killed while it stored may have left that.
    ///
    /// - Throws: ``KeyStoreError`` other than that the item isn't found.
    package func entryIfPresent(service: String, account: String?) throws -> KeyEntry? {
        do {
            let entry = try entry(service: service, account: account)
            return entry.text.isEmpty ? nil : entry
        } catch KeyStoreError.itemNotFound {
            return nil
        }
    }

    /// Whether the store has such an item. Without a default collection it has none, and storing one
    /// may make that collection.
    ///
    /// - Throws: ``KeyStoreError``.
    package func hasItem(service: String, account: String) throws -> Bool {
        do {
            return try !items(service: service, account: account).isEmpty
        } catch KeyStoreError.noCollection("default") {
            return false
        }
    }

    /// The program that may still lose an item that it has acknowledged; `nil` if every item is on the
    /// disk.
    ///
    /// - Throws: ``KeyStoreError``.
    package func unwrittenProvider() throws -> KeyStoreProvider? {
        let provider = try provider()
        return provider?.hasWritten == false ? provider : nil
    }

    /// The label of an item that is stored without one.
    public func defaultLabel(service: String, account: String) -> String {
        "\(service) (\(account))"
    }
}

/// A key store whose searches can be cancelled while they wait for a daemon or for the user's
/// answer.
package protocol InterruptibleKeyStore: KeyStore {
    /// The same key store with searches that can be cancelled.
    ///
    /// Storing and deleting always complete, so that it is known what is stored.
    ///
    /// - Parameter isCancelled: Called several times a second while a search waits. Once it returns
    ///   true, the search throws a `CancellationError`.
    func endingLookUps(when isCancelled: @escaping @Sendable () -> Bool) -> any KeyStore
}

/// A key store that can delete one of several equal items, such as those of two programs that stored at once.
package protocol ItemDeletingKeyStore: KeyStore {
    /// Deletes this item, whatever others match the same search.
    ///
    /// - Throws: ``KeyStoreError``.
    func delete(_ item: KeyItem) throws
}

/// A key store that can hand out everything that it has, to find a key whose item isn't known.
package protocol SearchableKeyStore: KeyStore {
    /// Every item that can be read now, of any program, with its secret.
    ///
    /// - Parameter unlocks: Whether to unlock locked collections first, which may ask the user.
    /// - Throws: ``KeyStoreError`` if the store can't be asked. A locked collection is no error.
    func contents(unlocking unlocks: Bool) throws -> KeyStoreContents
}

/// What a key store has.
package struct KeyStoreContents: Sendable {
    /// The items that could be read, with their secrets.
    package var entries: [KeyEntry]
    /// The names of the collections that are locked, whose items are unknown.
    package var lockedCollections: [String]

    package init(entries: [KeyEntry], lockedCollections: [String]) {
        self.entries = entries
        self.lockedCollections = lockedCollections
    }
}

extension KeyStore {
    /// Everything that the store has; of a store that can't search, the items of this library.
    ///
    /// - Throws: ``KeyStoreError``.
    package func contents(unlocking unlocks: Bool) throws -> KeyStoreContents {
        if let searchable = self as? any SearchableKeyStore {
            return try searchable.contents(unlocking: unlocks)
        }
        let entries = try items(service: nil, account: nil)
            .compactMap { try? entry(service: $0.service, account: $0.account) }
        return KeyStoreContents(entries: entries, lockedCollections: [])
    }
}
