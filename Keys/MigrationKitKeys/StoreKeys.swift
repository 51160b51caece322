/// The keys of many stores, a key for each store.
///
/// ```swift
/// struct TenantKeys: StoreKeys {
///     let vault: Vault
///
///     func key(ofStore name: String) throws -> DatabaseKey {
///         try .rawKey(bytes: vault.key(tenant: name))
///     }
/// }
/// ```
public protocol StoreKeys: Sendable {
    /// The key of one store.
    ///
    /// May block, and is called from several threads at a time.
    ///
    /// - Parameter name: The store's name, such as the tenant's.
    /// - Throws: ``KeySourceError`` or ``KeyStoreError`` if this store has no key that can be used.
    func key(ofStore name: String) throws -> DatabaseKey
}
