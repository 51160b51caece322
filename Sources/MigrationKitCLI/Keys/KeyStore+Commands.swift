import MigrationKitKeys
import MigrationKitSQLCipher

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
            throw CommandError.notStored(service: service, account: account)
        }
        return entry.item
    }

    /// Replaces the key of an item, as ``storeChecked(_:service:account:label:replacing:)``. The former
    /// one, which a database may still need, stays as a previous key.
    func storeChecked(_ key: DatabaseKey, replacing present: KeyEntry, label: String?) throws
        -> KeyItem
    {
        let (service, account) = (present.item.service, present.item.account ?? "")
        if !present.holds(key) {
            let stored = StoredKey(
                path: "",
                keyStore: self,
                service: service,
                account: account,
                cipher: .current,
                timeout: 0,
                read: { try $0.key() }
            )
            try stored.keep(present, account: account)
        }
        return try storeChecked(
            key,
            service: service,
            account: account,
            label: label ?? present.item.label,
            replacing: true
        )
    }

    /// The one item that matches, without its secret.
    ///
    /// - Parameter identifier: That of the item, if several may match otherwise.
    func onlyItem(service: String, account: String?, identifier: String? = nil) throws -> KeyItem {
        let items = try items(service: service, account: account)
            .filter { identifier == nil || $0.identifier == identifier }
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

extension KeyEntry {
    /// What is said when another key has taken its place.
    static let keptText = "The other key is kept as a previous one."

    /// What is said when a database has got another key.
    static let newCopyText = "Recovery copies have the old key. Make a new one: 'key export'."

    /// Whether it has this key.
    func holds(_ key: DatabaseKey) -> Bool {
        (try? self.key(assuming: item.form ?? key.form)) == key
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

    /// Asks whether another key may take the place of an item's.
    ///
    /// - Throws: ``CommandError``.
    func confirmReplacing(
        _ service: String,
        _ account: String,
        isAnswered: Bool,
        noPrompt: Bool
    ) throws {
        try confirm(
            """
            Replace the key of service "\(service)", username "\(account)"? The old one is kept as \
            a previous key.
            """,
            action: "replaced",
            isAnswered: isAnswered,
            noPrompt: noPrompt
        )
    }

    /// Asks whether a key may be lost, unless that is answered already.
    ///
    /// - Throws: ``CommandError``.
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
            else: CommandError.needsConfirmation(action: action)
        )
    }
}
