import KeyStore

/// Looks for items and removes what stands in the way of seeing them.
struct ItemSearch {
    /// What the service held at one moment.
    struct Found {
        let connection: ServiceConnection
        let collections: [ServiceCollection]
        /// The named collection, or the default one; nil if the service has no default.
        let target: ServiceCollection?
        /// The matching items, each once.
        let items: [ServiceItem]
        /// Whether only the target was looked into.
        let isNamed: Bool

        /// What may hide an item, when none was found.
        var hidingPlace: Obstacle? {
            guard items.isEmpty, !isNamed else { return nil }
            return collections.first(where: \.mayHideItems).map { Obstacle($0) }
        }

        /// The collection that has to be there.
        func requiredTarget() throws -> ServiceCollection {
            guard let target else { throw KeyStoreError.noCollection(name: "default") }
            return target
        }
    }

    /// What has to be unlocked before an answer can be trusted.
    struct Obstacle {
        let paths: Set<String>
        let objects: [GObjectReference]
        let collection: String

        init(_ collection: ServiceCollection) {
            paths = [collection.path]
            objects = [collection.object]
            self.collection = collection.label
        }

        /// Nil if none of the items is locked.
        init?(lockedOf items: [ServiceItem], in collections: [ServiceCollection]) {
            let locked = items.filter(\.isLocked)
            guard let first = locked.first else { return nil }
            paths = Set(locked.map(\.path))
            objects = locked.map(\.object)
            collection =
                collections.first { $0.path == first.collectionPath }?.label ?? first.collectionPath
        }
    }

    let collection: String?
    let allowsPrompt: Bool
    let service: String?
    let account: String?
    let cancellation: Cancellation

    /// Looks again and again, unlocking what `obstacle` names, until it names nothing.
    ///
    /// - Throws: ``KeyStoreError/locked(collection:)`` if nobody may be asked;
    ///   ``KeyStoreError/promptDismissed(collection:)`` if what was asked for is still locked.
    func found(unlocking obstacle: (Found) -> Obstacle?) throws -> Found {
        var asked: Set<String> = []
        while true {
            let found = try look()
            guard let obstacle = obstacle(found) else { return found }
            guard allowsPrompt else {
                throw KeyStoreError.locked(collection: obstacle.collection)
            }
            guard !obstacle.paths.isSubset(of: asked) else {
                throw KeyStoreError.promptDismissed(collection: obstacle.collection)
            }
            asked.formUnion(obstacle.paths)
            try found.connection.unlock(obstacle.objects)
        }
    }

    /// The one matching item, unlocked.
    func only() throws -> (found: Found, item: ServiceItem) {
        let found = try found { found in
            if found.items.isEmpty, let target = found.target, target.isLocked {
                return Obstacle(target)
            }
            return Obstacle(lockedOf: found.items, in: found.collections) ?? found.hidingPlace
        }
        guard let item = found.items.first else {
            _ = try found.requiredTarget()
            throw KeyStoreError.itemNotFound(service: service ?? "", account: account)
        }
        guard found.items.count == 1 else { throw ambiguous(found) }
        return (found, item)
    }

    /// Several items match.
    func ambiguous(_ found: Found) -> KeyStoreError {
        .ambiguous(
            service: service ?? "",
            matches: found.items.map {
                $0.description(in: found.collections, lookedFor: service).summary
            }.sorted()
        )
    }

    private func look() throws -> Found {
        let connection = try ServiceConnection(cancellation: cancellation)
        let collections = connection.collections()
        let target: ServiceCollection?
        if let collection {
            let alias = try? connection.collection(alias: collection)
            guard let named = collections.first(where: { $0.isCalled(collection) }) ?? alias else {
                throw KeyStoreError.noCollection(name: collection)
            }
            target = named
        } else {
            target = try connection.collection(alias: "default")
        }

        var items: [ServiceItem] = []
        // KeePassXC shows a question of its own, unasked, when it is searched while no database is
        // open. There is nothing to be found then, there or elsewhere.
        let searches =
            collections.allSatisfy(\.mayHideItems)
            ? [] : ItemAttributes.searches(service: service, account: account)
        for attributes in searches {
            for item in try connection.items(attributes: attributes)
            where !items.contains(where: { $0.path == item.path }) {
                items.append(item)
            }
        }
        if collection != nil { items.removeAll { $0.collectionPath != target?.path } }
        return Found(
            connection: connection,
            collections: collections,
            target: target,
            items: items,
            isNamed: collection != nil
        )
    }
}
