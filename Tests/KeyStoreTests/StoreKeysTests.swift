import Foundation
import MigrationKitKeys
import TestSupport
import Testing

/// The keys of many stores: in files, in a key store, derived from one.
@Suite struct StoreKeysTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func digits(_ key: DatabaseKey) -> String {
        key.hexadecimal().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: - Files

    @Test func keyLiesBesideItsStore() throws {
        let path = try folder.write("alice.db.key", "correct horse\n".utf8)
        let keys = KeyFilesBesideStores(suffix: ".key", form: .passphrase) { [folder] name in
            folder.path("\(name).db")
        }
        #expect(try keys.key(ofStore: "alice") == .passphrase(Secret(utf8: "correct horse")))
        chmod(path, 0o644)
        #expect(throws: KeySourceError.openToOthers(path: path, mode: 0o644)) {
            try keys.key(ofStore: "alice")
        }
        #expect(throws: KeySourceError.noSuchFile(path: folder.path("bob.db.key"))) {
            try keys.key(ofStore: "bob")
        }
    }

    @Test func folderOfKeysHasThemByName() throws {
        let key = try DatabaseKey.generate()
        try folder.makeFolder("keys")
        try folder.makeFolder("keys/eu")
        try folder.write("keys/eu/alice.key", digits(key).utf8)
        try folder.write("keys/bob", digits(key).utf8)
        let keys = KeyFolder(path: folder.path("keys"), form: .rawKey)
        #expect(try keys.key(ofStore: "eu/alice") == key)
        #expect(try keys.key(ofStore: "/bob") == key)
        #expect(throws: KeySourceError.noSuchFile(path: folder.path("keys/eu.key"))) {
            try keys.key(ofStore: "eu")
        }
        for name in ["", "/", "..", "../keys/bob", "eu/../bob", "./bob", "bob\0"] {
            #expect(throws: KeySourceError.unusableName(name)) { try keys.key(ofStore: name) }
        }
    }

    /// A cluster puts the files of a secret into a folder of their own, and links to them.
    @Test func linkWithinAMountedFolderIsFollowed() throws {
        let key = try DatabaseKey.generate()
        for name in ["keys", "keys/..2026", "elsewhere"] { try folder.makeFolder(name) }
        try folder.write("keys/..2026/alice", digits(key).utf8, mode: 0o400)
        try folder.write("elsewhere/bob", digits(key).utf8)
        let manager = FileManager.default
        for (link, target) in [
            ("..data", "..2026"), ("alice", "..data/alice"), ("bob", "../elsewhere/bob"),
        ] {
            try manager.createSymbolicLink(
                atPath: folder.path("keys/\(link)"),
                withDestinationPath: target
            )
        }
        let keys = KeyFolder(path: folder.path("keys"), form: .rawKey)
        #expect(try keys.key(ofStore: "alice") == key)
        #expect(throws: KeySourceError.symbolicLink(path: folder.path("keys/bob"))) {
            try keys.key(ofStore: "bob")
        }
    }

    // MARK: - Key Store

    @Test func keyStoreHasThemByAccount() throws {
        let store = InMemoryKeyStore()
        let key = try DatabaseKey.generate()
        try store.store(key, service: "tenants", account: "alice")
        let keys = KeyStoreItems(keyStore: store, service: "tenants")
        #expect(try keys.key(ofStore: "alice") == key)
        #expect(throws: KeyStoreError.itemNotFound(service: "tenants", account: "bob")) {
            try keys.key(ofStore: "bob")
        }
    }

    // MARK: - Master Key

    private static let master = (0..<32).map { String(format: "%02x", $0) }.joined()

    @Test func derivationIsTheDocumentedOne() throws {
        let keys = try MasterKey(hexadecimal: Secret(utf8: Self.master))
        #expect(
            digits(try keys.key(ofStore: "alice"))
                == "93ba9f53a4e8f70a87e98cc8b58266f2bfd2b20c431579cf6de7139615a1b4fb"
        )
        #expect(try keys.key(ofStore: "alice") != keys.key(ofStore: "bob"))
        #expect(throws: KeySourceError.unusableName("")) { try keys.key(ofStore: "") }
    }

    @Test(arguments: ["alice", "eu/büro 7"])
    func opensslDerivesTheSame(name: String) throws {
        let master = Self.randomDigits
        let keys = try MasterKey(hexadecimal: Secret(utf8: master))
        try OtherProgram.require("openssl")
        let result = try run(
            "openssl",
            [
                "kdf", "-keylen", "32", "-kdfopt", "digest:SHA256", "-kdfopt", "hexkey:\(master)",
                "-kdfopt", "salt:migrationkit.store-key/1", "-kdfopt", "info:\(name)", "HKDF",
            ]
        )
        let derived = result.stdout.filter(\.isHexDigit).lowercased()
        #expect(digits(try keys.key(ofStore: name)) == derived)
    }

    /// RFC 5869, appendix A.1. <https://www.rfc-editor.org/rfc/rfc5869#appendix-A.1>
    @Test func derivationMatchesTheStandard() throws {
        let secret = Secret(capacity: 22) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0x0b)
            return 22
        }
        let derived = try HKDF.derive(
            from: secret,
            salt: Array(0...0x0c),
            info: Array(0xf0...0xf9),
            count: 42
        )
        #expect(
            derived.withUnsafeBytes { $0.map { String(format: "%02x", $0) }.joined() }
                == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        )
    }

    @Test(arguments: [
        "", "00", String(repeating: "g", count: 64), String(repeating: "0", count: 96),
    ])
    func masterKeyIs64Digits(digits: String) throws {
        #expect(throws: KeySourceError.unusableMasterKey(count: digits.count)) {
            try MasterKey(hexadecimal: Secret(utf8: digits))
        }
    }

    private static var randomDigits: String {
        (0..<64).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    }
}
