/// A place that keeps keys, such as the desktop's Secret Service.
///
/// Four operations, and what is known before one; everything else is built on them. An
/// implementation distinguishes "not found" from "could not look": a key must never be taken for
/// missing when its store is merely locked. Each call may block, on a daemon or on a person at a
/// prompt.
public protocol KeyStore: Sendable {
    /// The items that match, without their secrets.
    ///
    /// - Parameters:
    ///   - service: The service to match; nil for every item that this library stored.
    ///   - account: The account to match; nil for any.
    /// - Returns: The matching items; none is no error.
    /// - Throws: ``KeyStoreError`` if the store can't be asked.
    func items(service: String?, account: String?) throws -> [KeyItem]

    /// The one item that matches, with its secret.
    ///
    /// - Throws: ``KeyStoreError/itemNotFound(service:account:)`` only if the store was open and
    ///   held no match; ``KeyStoreError/ambiguous(service:matches:)`` for several; every other case
    ///   of ``KeyStoreError`` if the store can't be asked.
    func entry(service: String, account: String?) throws -> KeyEntry

    /// Stores a key.
    ///
    /// - Parameters:
    ///   - key: The key; a raw key is kept as hexadecimal digits, and marked as one.
    ///   - service: The service that it is for.
    ///   - account: The account that it is for.
    ///   - label: What a person sees; nil for one made of service and account.
    ///   - replacing: Whether an item of the same service and account may be replaced.
    /// - Throws: ``KeyStoreError/itemExists(service:account:)`` if there is one and it may not; what
    ///   ``checkStorable(_:)`` throws; every other case of ``KeyStoreError`` if the store can't be
    ///   asked.
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
    /// - Throws: As ``entry(service:account:)``; several matches are left alone.
    @discardableResult
    func delete(service: String, account: String?) throws -> KeyItem

    /// Throws if the store can't keep a key for good; asks nobody, and changes nothing.
    ///
    /// A store that keeps every key needs no such function: there is a default one.
    ///
    /// - Throws: ``KeyStoreError/unstorablePassphrase(_:)``.
    func checkStorable(_ key: DatabaseKey) throws
}

extension KeyStore {
    /// The key of the one item that matches.
    ///
    /// - Parameters:
    ///   - service: The service that the key is for.
    ///   - account: The account that it is for; nil for the only one.
    ///   - form: What the secret is if the item doesn't say so itself.
    /// - Throws: ``KeyStoreError``; ``DatabaseKeyError`` if the secret can't be a key.
    public func key(
        service: String,
        account: String?,
        assuming form: DatabaseKey.Form = .passphrase
    ) throws -> DatabaseKey {
        try entry(service: service, account: account).key(assuming: form)
    }

    /// Stores a key, under a label made of service and account, where there is none yet.
    public func store(_ key: DatabaseKey, service: String, account: String) throws {
        try store(key, service: service, account: account, label: nil, replacing: false)
    }

    /// Takes every key for storable.
    public func checkStorable(_ key: DatabaseKey) throws {}

    /// The label of an item that was given none.
    public func defaultLabel(service: String, account: String) -> String {
        "\(service) (\(account))"
    }
}
