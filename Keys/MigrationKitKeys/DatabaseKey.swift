import FoundationEssentials
import MigrationKitCommon

/// What opens an encrypted database: a passphrase, or a raw key.
///
/// SQLCipher derives a key from a passphrase, deliberately slowly. A raw key is that key itself: 32
/// random bytes that nobody has to remember. One is never mistaken for the other.
public struct DatabaseKey: Sendable, Equatable {
    /// The form of a key.
    public enum Form: String, Sendable, Equatable, Encodable {
        /// Text, or any bytes, from which SQLCipher derives the key.
        case passphrase
        /// The key itself.
        case rawKey = "raw-key"
    }

    /// The form of the key.
    public let form: Form

    /// The passphrase's bytes; or the raw key: 32 bytes, or 48 whose last 16 are the salt.
    public let secret: Secret

    private init(form: Form, secret: Secret) {
        self.form = form
        self.secret = secret
    }

    /// A key from a passphrase. Any bytes are allowed, UTF-8 or not. If a key store can't keep
    /// them, they have a ``storageFlaw``.
    ///
    /// - Throws: ``DatabaseKeyError/empty``; ``DatabaseKeyError/passphraseLooksLikeRawKey`` if
    ///   SQLCipher would silently take it for a raw key.
    public static func passphrase(_ secret: Secret) throws -> DatabaseKey {
        guard !secret.isEmpty else { throw DatabaseKeyError.empty }
        guard !looksLikeRawKey(secret) else { throw DatabaseKeyError.passphraseLooksLikeRawKey }
        return DatabaseKey(form: .passphrase, secret: secret)
    }

    /// A raw key from its hexadecimal digits, 64 for the key or 96 for the key and its salt.
    ///
    /// - Parameter digits: Only the digits, in upper or lower case, without `x'` and `'`.
    /// - Throws: ``DatabaseKeyError/empty``; ``DatabaseKeyError/notHexadecimal(count:)``.
    public static func rawKey(hexadecimal digits: Secret) throws -> DatabaseKey {
        guard !digits.isEmpty else { throw DatabaseKeyError.empty }
        guard digits.count == 64 || digits.count == 96, let bytes = Hexadecimal.decoded(digits)
        else { throw DatabaseKeyError.notHexadecimal(count: digits.count) }
        return DatabaseKey(form: .rawKey, secret: bytes)
    }

    /// A raw key from its bytes.
    ///
    /// - Parameter bytes: 32 bytes of key, or 48: the key and the 16 bytes of the file's salt.
    /// - Throws: ``DatabaseKeyError/empty``; ``DatabaseKeyError/wrongByteCount(_:)``.
    public static func rawKey(bytes: Secret) throws -> DatabaseKey {
        guard !bytes.isEmpty else { throw DatabaseKeyError.empty }
        guard bytes.count == 32 || bytes.count == 48 else {
            throw DatabaseKeyError.wrongByteCount(bytes.count)
        }
        return DatabaseKey(form: .rawKey, secret: bytes)
    }

    /// A new raw key: 32 random bytes from the kernel.
    ///
    /// - Throws: ``DatabaseKeyError/noRandomBytes(code:)``.
    public static func generate() throws -> DatabaseKey {
        try rawKey(bytes: .random(count: 32))
    }

    /// The key's bytes as lower-case hexadecimal digits: the text form of a raw key, which
    /// ``rawKey(hexadecimal:)`` reads back.
    public func hexadecimal() -> Secret {
        Hexadecimal.encoded(secret)
    }

    /// The key as a key store keeps it: the passphrase, or a raw key's hexadecimal digits.
    public func stored() -> Secret {
        switch form {
        case .passphrase: secret
        case .rawKey: hexadecimal()
        }
    }

    /// The key from a text in the given form, such as ``stored()`` returns.
    ///
    /// - Throws: ``DatabaseKeyError``.
    public init(_ text: Secret, form: Form) throws {
        switch form {
        case .passphrase: self = try .passphrase(text)
        case .rawKey: self = try .rawKey(hexadecimal: text)
        }
    }

    /// Like SQLCipher, this checks the length, the `x'` and the digits, but not the closing quote.
    private static func looksLikeRawKey(_ secret: Secret) -> Bool {
        secret.withUnsafeBytes { bytes in
            guard bytes.count == 64 + 3 || bytes.count == 96 + 3 else { return false }
            return (bytes[0] == UInt8(ascii: "x") || bytes[0] == UInt8(ascii: "X"))
                && bytes[1] == UInt8(ascii: "'")
                && bytes[2..<(bytes.count - 1)].allSatisfy { Hexadecimal.value($0) != nil }
        }
    }
}

extension DatabaseKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

// MARK: - Hexadecimal

/// Converts hexadecimal digits to bytes and back, from one secret's memory to another's.
package enum Hexadecimal {
    /// The bytes for `digits`, in upper or lower case; nil if they aren't valid.
    package static func decoded(_ digits: Secret) -> Secret? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        return try? Secret(capacity: digits.count / 2) { memory in
            try digits.withUnsafeBytes { text in
                for index in memory.indices {
                    guard let high = value(text[2 * index]), let low = value(text[2 * index + 1])
                    else { throw NotADigit() }
                    memory[index] = high << 4 | low
                }
            }
            return memory.count
        }
    }

    /// Digits as SQL writes bytes: `x'…'`.
    package static func literal(_ digits: Secret) -> Secret {
        Secret(capacity: digits.count + 3) { text in
            text[0] = UInt8(ascii: "x")
            text[1] = UInt8(ascii: "'")
            digits.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: text[2...]).copyMemory(from: $0)
            }
            text[digits.count + 2] = UInt8(ascii: "'")
            return digits.count + 3
        }
    }

    /// Two lower-case digits for every byte of `bytes`.
    static func encoded(_ bytes: Secret) -> Secret {
        Secret(
            capacity: bytes.count * 2,
            initializingWith: { memory in
                bytes.withUnsafeBytes { bytes in
                    for (index, byte) in bytes.enumerated() {
                        memory[2 * index] = digit(byte >> 4)
                        memory[2 * index + 1] = digit(byte & 15)
                    }
                }
                return memory.count
            }
        )
    }

    /// The value of a digit. Computed, because a lookup table would reveal the key's digits to a
    /// program that observes the cache.
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private struct NotADigit: Error {}
}

extension DatabaseKey {
    /// Why the desktop's key stores can't keep the key; nil for a raw key, and for a passphrase
    /// that they can keep.
    public var storageFlaw: PassphraseFlaw? {
        guard form == .passphrase else { return nil }
        return secret.withUnsafeBytes { bytes in
            if bytes.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
                return .lineBreak
            }
            if bytes.contains(where: { $0 < 32 || $0 == 127 }) { return .controlCharacter }
            if bytes.contains(UInt8(ascii: "\\")) { return .backslash }
            return bytes.first == UInt8(ascii: " ") ? .leadingSpace : nil
        }
    }

    /// Throws if the desktop's key stores can't keep the key.
    ///
    /// - Throws: ``KeyStoreError/unstorablePassphrase(_:)``.
    package func checkStorable() throws {
        if let flaw = storageFlaw { throw KeyStoreError.unstorablePassphrase(flaw) }
    }
}
