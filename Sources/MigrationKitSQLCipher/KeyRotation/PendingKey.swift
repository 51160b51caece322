import KeyStore

/// The item that holds a database's next key while the key is being rotated.
///
/// Apps don't search for its service. Its account also names the file, so that files that share one
/// item each have their own pending key.
struct PendingKey: Equatable {
    /// The account of the item that will get the key.
    let account: String

    /// The database's path when the rotation began, absolute and without links.
    let path: String

    /// The service of the pending items of a service.
    static func service(of service: String) -> String {
        "migrationkit-pending: \(service)"
    }

    /// The account of the pending item: account and path. The escaped path contains no space.
    var name: String { "\(account) \(Self.escaped(path))" }

    init(account: String, path: String) {
        self.account = account
        self.path = path
    }

    /// Returns `nil` if the item's name isn't that of a pending key.
    init?(_ item: KeyItem) {
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
            let digits = String(byte, radix: 16)
            return isPlain ? "\(character)" : "%" + (digits.count == 1 ? "0" : "") + digits
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
