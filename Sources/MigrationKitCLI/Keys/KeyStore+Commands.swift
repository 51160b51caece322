import KeyStore

extension KeyStore {
    /// Stores a key, and reads it back before anyone relies on it.
    ///
    /// - Returns: The item, as the store has it.
    func storeChecked(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws -> KeyItem {
        try store(key, service: service, account: account, label: label, replacing: replacing)
        let entry = try entry(service: service, account: account)
        guard try entry.key() == key else {
            throw KeyCommandError.notStored(service: service, account: account)
        }
        return entry.item
    }

    /// The one item that matches, without its secret.
    func onlyItem(service: String, account: String?) throws -> KeyItem {
        let items = try items(service: service, account: account)
        guard let item = items.first else {
            throw KeyStoreError.itemNotFound(service: service, account: account)
        }
        guard items.count == 1 else {
            throw KeyStoreError.ambiguous(
                service: service,
                matches: items.map(\.summary).sorted()
            )
        }
        return item
    }
}

extension CommandContext {
    /// Says that the program that keeps a new key may lose it if it ends at once.
    func noteUnwritten(in keyStore: any KeyStore) {
        guard let provider = try? keyStore.unwrittenProvider() else { return }
        note(
            "\(provider.name ?? "the secret store") may write the key only later; don't end it for "
                + "some seconds"
        )
    }

    /// Asks whether a key may be lost, unless that is answered already.
    ///
    /// - Throws: ``KeyCommandError``.
    func confirm(
        _ question: String,
        action: String,
        isAnswered: Bool,
        noPrompt: Bool
    ) throws {
        try confirm(
            question,
            isAnswered: isAnswered,
            noPrompt: noPrompt,
            else: KeyCommandError.needsConfirmation(action: action)
        )
    }
}
