import Foundation
import MigrationKitKeys

/// A key store whose changes are seen in a trace.
///
/// Every change writes all items to a file, with one call of `write`. The file stands for the store:
/// what it holds is taken to outlast a power cut at once, as with GNOME Keyring, unless its program is
/// one that writes later.
package final class RecordedKeyStore: KeyStore {
    private let store = InMemoryKeyStore()
    private let path: String?
    private let program: KeyStoreProvider

    /// - Parameters:
    ///   - content: The items, as a store like this one has written them.
    ///   - path: The file; without one changes are not written.
    ///   - hasWritten: Whether its program writes an item before it acknowledges it.
    package init(_ content: [UInt8], path: String? = nil, hasWritten: Bool = true) throws {
        self.path = path
        program = KeyStoreProvider(name: nil, run: path ?? "the next one", hasWritten: hasWritten)
        guard !content.isEmpty else { return }
        let items = try JSONDecoder().decode([Item].self, from: Data(content))
        for item in items {
            try store.store(
                .rawKey(hexadecimal: Secret(utf8: item.key)),
                service: item.service,
                account: item.account,
                label: item.label,
                replacing: false
            )
        }
    }

    private struct Item: Codable {
        var service: String
        var account: String
        var label: String
        var key: String
    }

    /// The items as a file has them.
    package func content() throws -> [UInt8] {
        let items = try store.items(service: nil, account: nil).map { item in
            let key = try store.key(service: item.service, account: item.account)
            return Item(
                service: item.service,
                account: item.account ?? "",
                label: item.label,
                key: key.hexadecimal().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            )
        }
        let encoder = JSONEncoder()
        // Paths in it are looked for as they are.
        encoder.outputFormatting = .withoutEscapingSlashes
        return Array(try encoder.encode(items))
    }

    private func save() throws {
        guard let path else { return }
        let bytes = try content()
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        guard Foundation.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    package func items(service: String?, account: String?) throws -> [KeyItem] {
        try store.items(service: service, account: account)
    }

    package func entry(service: String, account: String?) throws -> KeyEntry {
        try store.entry(service: service, account: account)
    }

    package func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        try store.store(
            key,
            service: service,
            account: account,
            label: label,
            replacing: replacing
        )
        try save()
    }

    @discardableResult
    package func delete(service: String, account: String?) throws -> KeyItem {
        defer { try? save() }
        return try store.delete(service: service, account: account)
    }

    package func provider() throws -> KeyStoreProvider? { program }
}
