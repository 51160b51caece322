import CLibSecret
import FoundationEssentials
import MigrationKitKeys

/// A collection of the Secret Service, as it was when it was read.
struct ServiceCollection {
    let object: GObjectReference
    let path: String
    let label: String
    let isLocked: Bool
    /// Whether the collection may have items that neither it nor a search reports.
    ///
    /// A locked GNOME Keyring lists and searches its items. KeePassXC seems to be empty while its
    /// database is locked.
    let mayHideItems: Bool

    init(_ object: GObjectReference) {
        self.object = object
        path = objectPath(object)
        label = text(secret_collection_get_label(object.pointer)) ?? path.lastComponent
        isLocked = secret_collection_get_locked(object.pointer) != 0
        mayHideItems = isLocked && listsNoItems(object)
    }

    /// Whether `name` means this collection: it is its label, or the last component of its path.
    func isCalled(_ name: String) -> Bool {
        label == name || path.lastComponent == name || path == name
    }
}

/// An item of the Secret Service, as it was when it was read. Its secret is read separately.
struct ServiceItem {
    let object: GObjectReference
    let path: String
    let isLocked: Bool

    init(_ object: GObjectReference) {
        self.object = object
        path = objectPath(object)
        isLocked = secret_item_get_locked(object.pointer) != 0
    }

    /// The path of the item's collection: its own path without the last component.
    var collectionPath: String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path
    }

    /// The item as the protocol describes it.
    ///
    /// - Parameter service: The service that was searched for. A locked item doesn't show its
    ///   attributes.
    func description(in collections: [ServiceCollection], lookedFor service: String?) -> KeyItem {
        let pointer = object.pointer
        let attributes = attributes()
        let collection = collections.first { $0.path == collectionPath }
        return KeyItem(
            identifier: path,
            service: attributes["service"] ?? service ?? "",
            account: attributes["username"] ?? attributes["account"],
            label: text(secret_item_get_label(pointer)) ?? "",
            collection: collection?.label ?? collectionPath.lastComponent,
            attributes: attributes,
            created: date(secret_item_get_created(pointer)),
            modified: date(secret_item_get_modified(pointer)),
            form: attributes[ItemAttributes.form].flatMap(DatabaseKey.Form.init),
            isLocked: isLocked
        )
    }

    private func attributes() -> [String: String] {
        guard let table = secret_item_get_attributes(object.pointer) else { return [:] }
        let keys = g_hash_table_get_keys(table)
        defer {
            g_list_free(keys)
            g_hash_table_unref(table)
        }
        var attributes: [String: String] = [:]
        var entry = keys
        while let current = entry {
            if let key = current.pointee.data, let value = g_hash_table_lookup(table, key) {
                attributes[String(cString: key.assumingMemoryBound(to: CChar.self))] =
                    String(cString: value.assumingMemoryBound(to: CChar.self))
            }
            entry = current.pointee.next
        }
        return ItemAttributes.shown(attributes)
    }

    private func date(_ seconds: UInt64) -> Date? {
        seconds == 0 ? nil : Date(timeIntervalSince1970: Double(seconds))
    }
}

private func listsNoItems(_ collection: GObjectReference) -> Bool {
    guard let items = g_dbus_proxy_get_cached_property(collection.pointer, "Items") else {
        return true
    }
    defer { g_variant_unref(items) }
    return g_variant_n_children(items) == 0
}

private func objectPath(_ object: GObjectReference) -> String {
    // Owned by the proxy.
    g_dbus_proxy_get_object_path(object.pointer).map { String(cString: $0) } ?? ""
}

/// Copies a string that the caller owns, and frees it; `nil` if it is empty.
func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String? {
    guard let pointer else { return nil }
    defer { g_free(pointer) }
    return pointer.pointee == 0 ? nil : String(cString: pointer)
}

extension String {
    fileprivate var lastComponent: String {
        lastIndex(of: "/").map { String(self[index(after: $0)...]) } ?? self
    }
}
