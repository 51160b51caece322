/// Keys in a key store, each under the name of its store as the account.
public struct KeyStoreItems: StoreKeys {
    private let keyStore: any KeyStore
    private let service: String
    private let form: DatabaseKey.Form

    /// - Parameters:
    ///   - keyStore: The key store, such as `SecretServiceKeyStore`.
    ///   - service: The service of all items.
    ///   - form: The form of a secret whose item doesn't record one.
    public init(keyStore: any KeyStore, service: String, form: DatabaseKey.Form = .passphrase) {
        self.keyStore = keyStore
        self.service = service
        self.form = form
    }

    /// - Throws: ``KeyStoreError``; ``KeySourceError`` if the item's secret can't be a key.
    public func key(ofStore name: String) throws -> DatabaseKey {
        try KeyResolver { keyStore }
            .key(from: .keyStore(service: service, account: name), form: form)
    }
}
