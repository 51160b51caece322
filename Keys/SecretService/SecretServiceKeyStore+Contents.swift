import FoundationEssentials
import MigrationKitKeys

extension SecretServiceKeyStore: SearchableKeyStore {
    /// Every readable item of every collection (or of the named one), oldest first.
    package func contents(unlocking unlocks: Bool) throws -> KeyStoreContents {
        try perform(nil, nil, endingWhen: isCancelled) { try $0.contents(unlocking: unlocks) }
    }
}

extension ItemSearch {
    fileprivate func contents(unlocking unlocks: Bool) throws -> KeyStoreContents {
        var connection = try connection()
        var collections = try chosen(in: connection)
        let locked = collections.filter(\.isLocked)
        if unlocks, allowsPrompt, !locked.isEmpty {
            // A dismissed question isn't an error: what is still locked is reported.
            do { try connection.unlock(locked.map(\.path)) } catch is KeyStoreError {}
            connection = try self.connection()
            collections = try chosen(in: connection)
        }
        var entries: [KeyEntry] = []
        for collection in collections where !collection.isLocked {
            let items = try connection.items(in: collection).filter { !$0.isLocked }
            if !items.isEmpty { try connection.loadSecrets(of: items) }
            entries += items.compactMap { item in
                connection.loadedSecret(of: item).map { secret in
                    KeyEntry(
                        item: item.description(in: collections, lookedFor: nil),
                        secret: secret
                    )
                }
            }
        }
        return KeyStoreContents(
            entries: entries.sorted { left, right in
                (left.item.created ?? .distantPast, left.item.identifier)
                    < (right.item.created ?? .distantPast, right.item.identifier)
            },
            lockedCollections: collections.filter(\.isLocked).map(\.label)
        )
    }

    /// The named collection, or all of them.
    private func chosen(in connection: ServiceConnection) throws -> [ServiceCollection] {
        let collections = try connection.collections()
        guard let collection else { return collections }
        let alias = try? connection.collection(alias: collection)
        guard let named = collections.first(where: { $0.isCalled(collection) }) ?? alias else {
            throw KeyStoreError.noCollection(name: collection)
        }
        return [named]
    }
}
