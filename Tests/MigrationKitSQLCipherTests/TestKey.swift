import Foundation
import MigrationKitKeys
import Testing

/// A passphrase or raw key that is made at run time, in the forms that the tests' tools want.
struct TestKey: Sendable, CustomTestStringConvertible {
    let key: DatabaseKey
    /// The key as the value of `PRAGMA key`.
    let spelling: String
    /// What must show up nowhere.
    let fragments: [String]
    let testDescription: String

    static func passphrase() throws -> TestKey {
        let text = "it is \(UUID().uuidString) höchst geheim"
        return TestKey(
            key: try .passphrase(Secret(utf8: text)),
            spelling: text,
            fragments: [text],
            testDescription: "passphrase"
        )
    }

    /// - Parameter count: 32, or 48 with a salt.
    static func raw(count: Int = 32) throws -> TestKey {
        let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
        let hexadecimal = bytes.map { String(format: "%02x", $0) }.joined()
        return TestKey(
            key: try .rawKey(bytes: bytes.withUnsafeBytes { Secret(copying: $0) }),
            spelling: "x'\(hexadecimal)'",
            fragments: [hexadecimal, hexadecimal.uppercased(), String(hexadecimal.prefix(64))],
            testDescription: "raw key of \(count) bytes"
        )
    }

    static func each() throws -> [TestKey] {
        [try passphrase(), try raw(), try raw(count: 48)]
    }
}
