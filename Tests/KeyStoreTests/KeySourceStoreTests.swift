import Foundation
import MigrationKitKeys
import TestSupport
import Testing

/// A key source in the place of a key store.
@Suite struct KeySourceStoreTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func key(in store: KeySourceStore) throws -> DatabaseKey {
        try store.key(service: store.service, account: store.account)
    }

    @Test func aFileIsReadAnewEachTimeAndLosesOneNewlineOnly() throws {
        let path = try folder.write("key", "first\n\n".utf8)
        let store = KeySourceStore(.file(path: path))
        #expect(try key(in: store) == .passphrase(Secret(utf8: "first\n")))
        try folder.write("key", "second\n".utf8)
        #expect(try key(in: store) == .passphrase(Secret(utf8: "second")))
    }

    @Test func theFormIsTheSources() throws {
        let digits = String(repeating: "0f", count: 32)
        let path = try folder.write("key", digits.utf8)
        let store = KeySourceStore(.file(path: path), form: .rawKey)
        #expect(try key(in: store).form == .rawKey)

        try folder.write("key", "no digits".utf8)
        #expect(
            throws: KeySourceError.unusableKey(
                source: "the file \"\(path)\"",
                reason: .notHexadecimal(count: 9)
            )
        ) { try key(in: store) }
    }

    @Test func aMissingFileIsNotAMissingItem() {
        let store = KeySourceStore(.file(path: folder.path("none")))
        #expect(throws: KeySourceError.noSuchFile(path: folder.path("none"))) {
            try key(in: store)
        }
    }

    @Test func aDescriptorIsReadOnce() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("piped\n".utf8))
        try pipe.fileHandleForWriting.close()
        let store = KeySourceStore(.fileDescriptor(pipe.fileHandleForReading.fileDescriptor))
        for _ in 0..<3 {
            #expect(try key(in: store) == .passphrase(Secret(utf8: "piped")))
        }
    }

    @Test func aCommandIsASourceToo() throws {
        let store = KeySourceStore(.command("printf '%s\\n' vault"))
        #expect(try key(in: store) == .passphrase(Secret(utf8: "vault")))
    }

    @Test func aFunctionIsASourceToo() throws {
        let generated = try DatabaseKey.generate()
        let store = KeySourceStore(named: "the vault") { generated }
        #expect(try key(in: store) == generated)
    }

    @Test func otherItemsAreNotThere() throws {
        let store = KeySourceStore(.file(path: "/nowhere"), service: "notes", account: "a")
        #expect(store.items(service: "notes", account: nil).map(\.account) == ["a"])
        #expect(store.items(service: "migrationkit-pending: notes", account: nil).isEmpty)
        #expect(throws: KeyStoreError.itemNotFound(service: "notes", account: "b")) {
            try store.entry(service: "notes", account: "b")
        }
    }

    @Test func nothingIsStoredOrDeleted() throws {
        let store = KeySourceStore(.file(path: "/etc/notes.key"))
        let refusal = KeyStoreError.readOnly(source: "the file \"/etc/notes.key\"")
        let new = try DatabaseKey.generate()
        #expect(throws: refusal) { try store.store(new, service: "s", account: "a") }
        #expect(throws: refusal) { try store.delete(service: "s", account: nil) }
        #expect(throws: refusal) { try store.checkStorable(new) }
        #expect(refusal.code.name == "keyStoreReadOnly")
        #expect(refusal.errorDescription?.contains("/etc/notes.key") == true)
    }

    @Test func aCredentialIsAFileOfTheServiceManagers() {
        guard case .credentialsFile(let path) = KeySource.credential("notes-key") else {
            Issue.record("another source")
            return
        }
        // The tests run under no service manager, or under one.
        let folder = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]
        #expect(path == (folder.map { "\($0)/" } ?? "") + "notes-key")
    }

    @Test(.enabled(if: getenv("CREDENTIALS_DIRECTORY") == nil))
    func aCredentialWithoutItsLineInTheUnitIsExplained() throws {
        let store = KeySourceStore(.credential("notes-key"), form: .rawKey)
        let error = #expect(throws: KeySourceError.self) { try key(in: store) }
        let text = error?.errorDescription ?? ""
        #expect(text.contains("\"notes-key\"") && text.contains("not set CREDENTIALS_DIRECTORY"))
        #expect(error?.recoverySuggestion?.contains("LoadCredential=notes-key:") == true)
        #expect(error?.code.name == "noSuchKeyFile")
    }
}
