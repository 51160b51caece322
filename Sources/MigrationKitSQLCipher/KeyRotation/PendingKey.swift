import Foundation
import MigrationKitKeys

/// The item that holds a database's next key while the key is being rotated.
///
/// Apps don't search for its service. Its account also names the file, so that files that share one
/// item each have their own pending key.
package struct PendingKey: Equatable {
    /// The account of the item that will get the key.
    package let account: String

    /// The database's path when the rotation began, absolute and without links.
    let path: String

    /// The service of the pending items of a service.
    package static func service(of service: String) -> String {
        serviceMark + service
    }

    /// The service whose pending items have this one; `nil` if it is none of theirs.
    package static func originalService(of service: String) -> String? {
        service.hasPrefix(serviceMark) ? String(service.dropFirst(serviceMark.count)) : nil
    }

    private static let serviceMark = "migrationkit-pending: "

    /// The account of the pending item: account and path. The escaped path contains no space.
    var name: String { "\(account) \(Self.escaped(path))" }

    init(account: String, path: String) {
        self.account = account
        self.path = path
    }

    /// Returns `nil` if the item's name isn't that of a pending key.
    package init?(_ item: KeyItem) {
        guard let name = item.account, let space = name.lastIndex(of: " "),
            let path = Self.unescaped(name[name.index(after: space)...])
        else { return nil }
        self.init(account: String(name[..<space]), path: path)
    }

    // MARK: - Labels

    private static let mark = "Pending: "
    private static let discardingMark = "Pending, and the old key is discarded: "

    /// The pending item's label. It contains the label that the key's item will get, and whether
    /// the rotation discards the old key.
    static func label(for label: String, discardsOld: Bool = false) -> String? {
        discardsOld ? discardingMark + label : label.isEmpty ? nil : mark + label
    }

    /// The label for the key's item; `nil` if it had none.
    static func labelOfItem(from label: String) -> String? {
        guard let mark = [discardingMark, mark].first(where: label.hasPrefix) else { return nil }
        let rest = String(label.dropFirst(mark.count))
        return rest.isEmpty ? nil : rest
    }

    /// Whether the rotation discards the old key.
    static func discardsOld(_ label: String) -> Bool { label.hasPrefix(discardingMark) }

    // MARK: - Paths

    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            let isPlain =
                character.isASCII && (character.isLetter || character.isNumber)
                || "/._-~+@".contains(character)
            return isPlain ? "\(character)" : "%" + CollectionOfOne(byte).hexadecimalDigits
        }.joined()
    }

    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let decoded = UInt8(Substring(rest.prefix(2)), radix: 16) else { return nil }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        return bytes.first == UInt8(ascii: "/") ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

// MARK: - Former Key

/// The item that keeps a database's key from before a rotation, for earlier backups.
///
/// Apps don't search for its service. Its account ends with the time of the rotation.
package struct FormerKey: Equatable, Sendable {
    /// The service of the item that had the key.
    package let service: String

    /// The account of the item that had the key.
    package let account: String

    /// The account of the item that keeps it.
    package let name: String

    /// The service of the items that keep the former keys of a service.
    package static func service(of service: String) -> String {
        mark + service
    }

    /// Whether a service is one for former keys.
    package static func isService(_ service: String) -> Bool { service.hasPrefix(mark) }

    /// - Parameter taken: The accounts of the other items of the same service.
    package init(service: String, account: String, at time: Date, besides taken: Set<String>) {
        self.service = service
        self.account = account
        let first = Self.beginning(account) + time.formatted(.iso8601)
        var name = first
        var number = 1
        while taken.contains(name) {
            number += 1
            name = "\(first) (\(number))"
        }
        self.name = name
    }

    /// Returns `nil` if these aren't the names of a former key.
    ///
    /// - Parameters:
    ///   - service: The service of an item, or the one that a user gives.
    ///   - name: Its account.
    package init?(service: String, name: String) {
        guard Self.isService(service),
            let match = name.wholeMatch(of: /(.*) \d+-\d\d-\d\dT\d\d:\d\d:\d\dZ(?: \(\d+\))?/)
        else { return nil }
        self.service = String(service.dropFirst(Self.mark.count))
        account = String(match.1)
        self.name = name
    }

    /// The beginning of the names of all former keys of an account.
    package static func beginning(_ account: String) -> String { "\(account) " }

    private static let mark = "migrationkit-previous: "
}

extension StoredKey {
    /// The former key that opens a file, such as a backup made before a rotation.
    ///
    /// - Returns: The newest one; `nil` if no former key of the service (or of the account, if one
    ///   is given) opens it.
    /// - Throws: `KeyStoreError`; ``EncryptedDatabaseError`` if the file can't be read.
    package func formerKey(opening path: String) throws -> FormerKey? {
        let stored = following(DatabaseFile(path))
        for key in try formerKeys() {
            let service = FormerKey.service(of: key.service)
            guard let entry = try item(service: service, account: key.name),
                let secret = try? read(entry)
            else { continue }
            if try stored.opens(secret) { return key }
        }
        return nil
    }

    /// The former keys of the service, or of the account if one is given, the newest first.
    func formerKeys() throws -> [FormerKey] {
        let keptService = FormerKey.service(of: service)
        return try keyStore.items(service: keptService, account: nil)
            .compactMap { item in
                item.account.flatMap { FormerKey(service: keptService, name: $0) }
            }
            .filter { account == nil || $0.account == account }
            .sorted { $0.name > $1.name }
    }

    /// The secret of a former key's item.
    ///
    /// - Throws: `KeyStoreError`; what reading the key throws.
    package func key(of former: FormerKey) throws -> DatabaseKey {
        try read(
            keyStore.entry(service: FormerKey.service(of: former.service), account: former.name)
        )
    }

    /// Whether the key's item exists and doesn't open the database.
    package func isOutdated() throws -> Bool {
        guard let entry = try item() else { return false }
        return try !opens(read(entry))
    }
}
