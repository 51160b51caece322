import FoundationEssentials

/// The entries of a key store that has them all at hand, with the rules of ``KeyStore``.
package struct KeyEntries: Sendable {
    /// The entries, oldest first.
    package private(set) var all: [KeyEntry] = []

    private let collection: String

    /// - Parameter collection: The name of what holds the items.
    package init(collection: String) {
        self.collection = collection
    }

    /// The entries that match. Without a service, those that this library stored.
    package func matches(_ service: String?, _ account: String?) -> [KeyEntry] {
        all.filter { entry in
            let serviceMatches =
                service.map { entry.item.service == $0 } ?? (entry.item.form != nil)
            return serviceMatches && (account == nil || entry.item.account == account)
        }
    }

    /// The one entry that matches.
    ///
    /// - Throws: ``KeyStoreError/itemNotFound(service:account:)``;
    ///   ``KeyStoreError/ambiguous(service:matches:)``.
    package func only(_ service: String, _ account: String?) throws -> KeyEntry {
        let found = matches(service, account)
        guard let first = found.first else {
            throw KeyStoreError.itemNotFound(service: service, account: account)
        }
        guard found.count == 1 else {
            throw KeyStoreError.ambiguous(service: service, matches: found.map(\.item.summary))
        }
        return first
    }

    /// Stores a key as ``KeyStore/store(_:service:account:label:replacing:)`` does.
    package mutating func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String,
        replacing: Bool
    ) throws {
        if !matches(service, account).isEmpty {
            guard replacing else {
                throw KeyStoreError.itemExists(service: service, account: account)
            }
            try delete(service: service, account: account)
        }
        append(key.stored(), service: service, account: account, label: label, form: key.form)
    }

    /// Deletes the one entry that matches.
    @discardableResult
    package mutating func delete(service: String, account: String?) throws -> KeyItem {
        let item = try only(service, account).item
        delete(item)
        return item
    }

    /// Deletes this entry.
    package mutating func delete(_ item: KeyItem) {
        all.removeAll { $0.item.identifier == item.identifier }
    }

    /// Adds an entry, whatever there is.
    package mutating func append(
        _ secret: Secret,
        service: String,
        account: String?,
        label: String,
        form: DatabaseKey.Form?,
        created: Date = Date()
    ) {
        var attributes = ["service": service]
        attributes["username"] = account
        let last = all.last.flatMap { Int($0.item.identifier) } ?? 0
        let item = KeyItem(
            identifier: "\(last + 1)",
            service: service,
            account: account,
            label: label,
            collection: collection,
            attributes: attributes,
            created: created,
            modified: created,
            form: form
        )
        all.append(KeyEntry(item: item, secret: secret))
    }
}
