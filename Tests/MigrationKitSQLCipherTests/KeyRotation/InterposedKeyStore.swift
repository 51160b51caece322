import MigrationKitKeys
import Synchronization

/// A key store with something that happens before and after each of its calls.
final class InterposedKeyStore: KeyStore {
    /// The moment at which something happens.
    enum Moment: CaseIterable {
        case before, after
    }

    /// What happens: gets the number of the call, from 1 on. What it throws the call throws.
    typealias Event = @Sendable (_ call: Int, _ moment: Moment) throws -> Void

    private let keys: any KeyStore
    private let event: Event
    private let count = Mutex(0)

    init(_ keys: any KeyStore, event: @escaping Event = { _, _ in }) {
        self.keys = keys
        self.event = event
    }

    /// How many calls there were.
    var callCount: Int { count.withLock { $0 } }

    private func call<Value>(_ body: () throws -> Value) throws -> Value {
        let number = count.withLock { count in
            count += 1
            return count
        }
        try event(number, .before)
        let value = try body()
        try event(number, .after)
        return value
    }

    func items(service: String?, account: String?) throws -> [KeyItem] {
        try call { try keys.items(service: service, account: account) }
    }

    func entry(service: String, account: String?) throws -> KeyEntry {
        try call { try keys.entry(service: service, account: account) }
    }

    func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        try call {
            try keys.store(
                key,
                service: service,
                account: account,
                label: label,
                replacing: replacing
            )
        }
    }

    func delete(service: String, account: String?) throws -> KeyItem {
        try call { try keys.delete(service: service, account: account) }
    }
}
