import Foundation
import Glibc
import KeyStore
import Testing

/// A temporary folder that goes with its last owner, and what is in it.
final class TestFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/migrationkit-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
    }

    deinit {
        chmod(path, 0o700)
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String = "notes.db") -> String {
        path + "/" + name
    }

    func write(_ data: Data, to name: String = "notes.db") throws {
        try data.write(to: URL(fileURLWithPath: file(name)))
    }

    func data(_ name: String = "notes.db") throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: file(name)))
    }

    /// Changes the bytes of a file from an offset on.
    func damage(_ name: String = "notes.db", at offset: Int, count: Int = 8) throws {
        var data = try data(name)
        for index in offset..<(offset + count) { data[index] ^= 0x55 }
        try write(data, to: name)
    }

    func mode(_ name: String = "notes.db") -> Int? {
        var status = stat()
        return stat(file(name), &status) == 0 ? Int(status.st_mode & 0o7777) : nil
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    /// Everything that a failing open must leave alone: names, modes, times, contents.
    func snapshot() throws -> [String: String] {
        var snapshot: [String: String] = [:]
        for name in try names + ["."] {
            var status = stat()
            guard lstat(file(name), &status) == 0 else { continue }
            let content = status.st_mode & S_IFMT == S_IFREG ? try data(name) : Data()
            snapshot[name] = """
                \(status.st_ino) \(status.st_mode) \(status.st_size) \
                \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(content.base64EncodedString())
                """
        }
        return snapshot
    }
}

/// A passphrase or raw key that is made at run time, in the forms that the tests' tools want.
struct TestKey: Sendable, CustomTestStringConvertible {
    let key: DatabaseKey
    /// What goes between the quotes of the shell's `PRAGMA key`.
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
