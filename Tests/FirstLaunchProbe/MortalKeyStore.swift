import MigrationKitKeys
import SecretService
import Synchronization

/// The Secret Service, with points before and after its calls at which the process is killed.
final class MortalKeyStore: KeyStore {
    private let service = SecretServiceKeyStore()
    private let point: LaunchPoint?
    private let hasStored = Atomic(false)

    init(point: LaunchPoint?) {
        self.point = point
    }

    func items(service: String?, account: String?) throws -> [KeyItem] {
        try self.service.items(service: service, account: account)
    }

    func entry(service: String, account: String?) throws -> KeyEntry {
        let isReadingBack = hasStored.load(ordering: .sequentiallyConsistent)
        (isReadingBack ? LaunchPoint.beforeReadingBack : .beforeLookUp).pass(point)
        defer { (isReadingBack ? LaunchPoint.afterReadingBack : .afterLookUp).pass(point) }
        return try self.service.entry(service: service, account: account)
    }

    func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        LaunchPoint.beforeStoring.pass(point)
        try self.service.store(
            key,
            service: service,
            account: account,
            label: label,
            replacing: replacing
        )
        hasStored.store(true, ordering: .sequentiallyConsistent)
        LaunchPoint.afterStoring.pass(point)
    }

    func delete(service: String, account: String?) throws -> KeyItem {
        try self.service.delete(service: service, account: account)
    }

    func provider() throws -> KeyStoreProvider? {
        try service.provider()
    }
}
