import MigrationKitKeys

/// Searches for items, and unlocks collections that may hide them.
struct ItemSearch {
    /// The state of the service at one moment.
    struct Found {
        let connection: ServiceConnection
        let collections: [ServiceCollection]
        /// The named collection, or the default one; nil if the service has no default.
        let target: ServiceCollection?
        /// The matching items, each once.
        let items: [ServiceItem]
        /// Whether only the target was searched.
        let isNamed: Bool

        /// The collection that may hide an item, if none was found.
        var hidingPlace: Obstacle? {
            guard items.isEmpty, !isNamed else { return nil }
            return collections.first(where: \.mayHideItems).map { Obstacle($0) }
        }

        /// The target collection; throws if it doesn't exist.
        func requiredTarget() throws -> ServiceCollection {
            guard let target else { throw KeyStoreError.noCollection(name: "default") }
            return target
        }
    }

    /// What must be unlocked before a result can be trusted.
    struct Obstacle {
        let paths: Set<String>
        let collection: String

        init(_ collection: ServiceCollection) {
            paths = [collection.path]
            self.collection = collection.label
        }

        /// Nil if none of the items is locked.
        init?(lockedOf items: [ServiceItem], in collections: [ServiceCollection]) {
            let locked = items.filter(\.isLocked)
            guard let first = locked.first else { return nil }
            paths = Set(locked.map(\.path))
            collection =
                collections.first { $0.path == first.collectionPath }?.label ?? first.collectionPath
        }
    }

    let collection: String?
    let allowsPrompt: Bool
    let service: String?
    let account: String?
    let cancellation: GLibCancellation

    /// Searches repeatedly, unlocking what `obstacle` returns, until it returns nothing.
    ///
    /// - Throws: ``KeyStoreError/locked(collection:)`` if nobody may be asked;
    ///   ``KeyStoreError/promptDismissed(collection:)`` if it is still locked after the question.
    func found(unlocking obstacle: (Found) -> Obstacle?) throws -> Found {
        var asked: Set<String> = []
        while true {
            let found = try look()
            guard let obstacle = obstacle(found) else { return found }
            guard allowsPrompt || found.connection.hasOpenWallet(obstacle.collection) else {
                throw KeyStoreError.locked(collection: obstacle.collection)
            }
            guard !obstacle.paths.isSubset(of: asked) else {
                throw KeyStoreError.promptDismissed(collection: obstacle.collection)
            }
            asked.formUnion(obstacle.paths)
            try found.connection.unlock(obstacle.paths.sorted())
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
        var items = found.items
        // A process that was killed while it stored may have left an item without a secret.
        if items.count > 1 {
            items = try items.filter { try found.connection.secret(of: $0)?.isEmpty == false }
        }
        guard let item = items.first else {
            _ = try found.requiredTarget()
            throw KeyStoreError.itemNotFound(service: service ?? "", account: account)
        }
        guard items.count == 1 else { throw ambiguous(found) }
        return (found, item)
    }

    /// A new default collection, which the user gives a password.
    ///
    /// - Throws: ``KeyStoreError/noCollection(name:)`` if nobody may be asked or answers.
    func newTarget(_ found: Found) throws -> ServiceCollection {
        do {
            if allowsPrompt, let made = try found.connection.makeDefaultCollection() { return made }
        } catch let expired as TimeLimit.Expired {
            throw expired
        } catch {
            // The question can't be shown. Nobody is asked a second time.
        }
        throw KeyStoreError.noCollection(name: "default")
    }

    /// The error for several matching items.
    func ambiguous(_ found: Found) -> KeyStoreError {
        .ambiguous(
            service: service ?? "",
            matches: found.items.map {
                $0.description(in: found.collections, lookedFor: service).summary
            }.sorted()
        )
    }

    func connection() throws -> ServiceConnection {
        try ServiceConnection(cancellation: cancellation)
    }

    /// The service as it is now. Nothing is unlocked.
    func look() throws -> Found {
        let connection = try connection()
        let collections = try connection.collections()
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
        // If no database is open, KeePassXC shows its own question at each search. Then nothing can
        // be found anyway.
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
