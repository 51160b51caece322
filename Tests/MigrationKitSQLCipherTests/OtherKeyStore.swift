import MigrationKitKeys
import Synchronization

/// A key store that changes between the calls of a launch: before the key is stored, or after.
final class OtherKeyStore: KeyStore {
    let keys = InMemoryKeyStore()
    private let hasStored = Atomic(false)
    private let before: @Sendable (OtherKeyStore) throws -> Void
    private let after: @Sendable (OtherKeyStore) throws -> Void

    init(
        before: @escaping @Sendable (OtherKeyStore) throws -> Void = { _ in },
        after: @escaping @Sendable (OtherKeyStore) throws -> Void = { _ in }
    ) {
        self.before = before
        self.after = after
    }

    var wasGivenAKey: Bool { hasStored.load(ordering: .relaxed) }

    func forget() {
        _ = try? keys.delete(service: "org.example.Notes", account: "main")
    }

    func replaceKey() throws {
        try keys.store(
            .generate(),
            service: "org.example.Notes",
            account: "main",
            label: nil,
            replacing: true
        )
    }

    func items(service: String?, account: String?) throws -> [KeyItem] {
        try keys.items(service: service, account: account)
    }

    func entry(service: String, account: String?) throws -> KeyEntry {
        try keys.entry(service: service, account: account)
    }

    func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        hasStored.store(true, ordering: .relaxed)
        try before(self)
        try keys.store(
            key,
            service: service,
            account: account,
            label: label,
            replacing: replacing
        )
        try after(self)
    }

    func delete(service: String, account: String?) throws -> KeyItem {
        try keys.delete(service: service, account: account)
    }
}
