import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import Synchronization
import TestSupport
import Testing

@Suite struct KeyRotationTests {
    // MARK: - What Is Changed

    @Test(arguments: try TestKey.each())
    func databaseAndItemHaveTheNewKey(_ old: TestKey) throws {
        let store = try RotatedStore(old)
        let report = try store.rotation().run()

        let new = try store.key()
        #expect(new.form == .rawKey)
        #expect(new != old.key)
        #expect(store.opens(new))
        #expect(!store.opens(old.key))
        #expect(try store.content() == "zettel")
        #expect(try store.folder.names == [TemporaryFolder.databaseName])
        #expect(store.folder.mode(TemporaryFolder.databaseName) == 0o600)

        #expect(
            try report.item == store.keys.entry(service: RotatedStore.service, account: "main").item
        )
        #expect(report.item.label == "Notes")
        #expect(report.conversion.rowCount == 1)
        try store.expectSettled()
    }

    @Test func oldKeyIsKeptInAnItemOfItsOwn() throws {
        let store = try RotatedStore(.passphrase())
        let backup = store.folder.path("backup.db")
        try FileManager.default.copyItem(atPath: store.path, toPath: backup)

        let item = try #require(try store.rotation().run().keptItem)
        #expect(item.service == "migrationkit-previous: org.example.Notes")
        #expect(item.label == "Previous: Notes")
        let account = try #require(item.account)
        #expect(account.wholeMatch(of: /main 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        let kept = try store.key(service: item.service, account: account)
        #expect(kept == store.key.key)
        #expect(store.opens(kept, path: backup))
        // Who looks for the service alone finds one item, as before.
        #expect(
            try store.keys.entry(service: RotatedStore.service, account: nil).item.account == "main"
        )
    }

    @Test func eachFormerKeyIsKeptThoughTheSecondIsTheSame() throws {
        let store = try RotatedStore()
        var keys: [DatabaseKey] = []
        for _ in 0..<4 {
            keys.append(try store.key())
            try store.rotation().run()
        }
        #expect(try store.previous == keys)
        try store.expectSettled()
    }

    @Test func oldKeyIsDiscardedOnRequestOnly() throws {
        let store = try RotatedStore()
        let report = try store.rotation(keepsOldKey: false).run()
        #expect(report.keptItem == nil)
        #expect(try store.keys.items(service: nil, account: nil).count == 1)
        #expect(try store.content() == "zettel")
    }

    @Test func originalIsKeptWithTheOldKey() throws {
        let store = try RotatedStore()
        let original = store.folder.path("original.db")
        let report = try store.rotation().run(keptOriginalPath: original)
        #expect(report.conversion.originalPath == original)
        #expect(store.opens(store.key.key, path: original))
        #expect(try store.content() == "zettel")
    }

    @Test func itemOfAnotherProgramIsReadAsItIs() throws {
        let store = try RotatedStore(.passphrase())
        try store.keys.delete(service: RotatedStore.service, account: "main")
        // As secret-tool stores it at the end of a pipe.
        let secret = Secret(utf8: store.key.spelling + "\n")
        store.keys.add(secret, service: RotatedStore.service, account: "main")
        let report = try store.rotation().run()
        #expect(report.item.label == "\(RotatedStore.service) (main)")
        #expect(try store.previous == [store.key.key])
        #expect(try store.content() == "zettel")
    }

    @Test(arguments: ["it's", "two words", "new\nline", "größe %41", "100%"])
    func pathsOfEveryKind(_ name: String) throws {
        let store = try RotatedStore(name: name)
        let path = store.folder.path(name)
        // Before the file is replaced, and after.
        for call in [3, 6] {
            store.rotateUntilKilled(at: call, .after, path: path)
            #expect(try store.content(path: path) == "zettel")
            #expect(try store.pending == [])
        }
        try store.rotation(path: path).run()
        #expect(try store.content(path: path) == "zettel")
        #expect(try store.folder.names == [name])
    }

    @Test func linkIsFollowedAndStays() throws {
        let store = try RotatedStore()
        let link = store.folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: store.path)
        // Killed by one name, and opened by the other.
        store.rotateUntilKilled(at: try RotatedStore.callCount() - 1, .before, path: link)
        #expect(try store.pending.count == 1)
        #expect(try store.content() == "zettel")
        try store.expectSettled()
        try store.rotation(path: link).run()
        #expect(try store.content(path: link) == "zettel")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == store.path)
    }

    @Test func storeRotatesItsOwnKey() async throws {
        let store = try RotatedStore()
        let phases = Mutex<Set<ConversionEvent.Phase>>([])
        let options = RewriteOptions(observer: { event in
            if case .progress(let phase, _, _) = event {
                _ = phases.withLock { $0.insert(phase) }
            }
        })
        let rotation = store.store().keyRotation(options: options)
        try await asyncRun { try rotation.run() }
        #expect(phases.withLock { $0 } == Set(ConversionEvent.Phase.ofWholeDatabases))
        #expect(try store.content() == "zettel")
        #expect(try store.key() != store.key.key)
    }

    // MARK: - What Is Refused

    /// Runs a rotation that is refused, and looks whether all is as it was.
    private func expectRefusal<Failure: Error & Equatable>(
        _ error: Failure,
        of store: RotatedStore,
        account: String? = "main",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let items = try store.keys.items(service: nil, account: nil)
        let data = try store.folder.databaseData()
        #expect(throws: error, sourceLocation: sourceLocation) {
            try store.rotation(account: account).run()
        }
        #expect(try store.keys.items(service: nil, account: nil) == items)
        #expect(try store.folder.databaseData() == data)
        #expect(try store.folder.names == [TemporaryFolder.databaseName])
    }

    @Test func accountMayBeLeftOutButTheItemMustHaveOne() throws {
        let store = try RotatedStore()
        try store.rotation(account: nil).run()
        #expect(try store.content() == "zettel")

        let (service, key) = try (RotatedStore.service, store.key())
        try store.keys.delete(service: service, account: "main")
        store.keys.add(key.stored(), service: service, account: nil)
        #expect(throws: EncryptedStoreError.noAccount(service: service)) {
            try KeyRotation(
                store.path,
                keyStore: store.keys,
                service: service,
                account: nil,
                keyForm: .rawKey
            ).run()
        }
        #expect(try store.pending == [])
    }

    @Test func severalItemsAreRefused() throws {
        let store = try RotatedStore()
        store.keys.add(Secret(utf8: "another"), service: RotatedStore.service, account: "spare")
        let matches = try store.keys.items(service: RotatedStore.service, account: nil)
        let error = KeyStoreError.ambiguous(
            service: RotatedStore.service,
            matches: matches.map(\.summary)
        )
        try expectRefusal(error, of: store, account: nil)
    }

    @Test func wrongKeyIsRefusedBeforeAnythingIsStored() throws {
        let store = try RotatedStore()
        try store.keys.store(
            .generate(),
            service: RotatedStore.service,
            account: "main",
            label: nil,
            replacing: true
        )
        try expectRefusal(EncryptedDatabaseError.wrongKey(path: store.path), of: store)
    }

    @Test func missingItemIsRefused() throws {
        let store = try RotatedStore()
        try store.keys.delete(service: RotatedStore.service, account: "main")
        try expectRefusal(
            KeyStoreError.itemNotFound(service: RotatedStore.service, account: "main"),
            of: store
        )
    }

    @Test func openDatabaseIsRefused() throws {
        let store = try RotatedStore()
        let queue = try store.store().open() as DatabaseQueue
        try expectRefusal(DatabaseConversionError.openHere(path: store.path), of: store)
        try queue.close()
    }

    @Test func plaintextDatabaseIsRefused() throws {
        let store = try RotatedStore()
        try FileManager.default.removeItem(atPath: store.path)
        try Fixtures.plaintext(store.path)
        try expectRefusal(EncryptedDatabaseError.plaintext(path: store.path), of: store)
    }

    @Test(arguments: ConversionEvent.Phase.ofWholeDatabases)
    func cancellationTakesEverythingBack(_ phase: ConversionEvent.Phase) throws {
        let store = try RotatedStore()
        let items = try store.keys.items(service: nil, account: nil)
        let cancellation = Cancellation()
        let options = RewriteOptions(
            cancellation: cancellation,
            observer: { event in
                if case .progress(phase, _, _) = event { cancellation.cancel() }
            }
        )
        #expect(throws: CancellationError.self) { try store.rotation(options: options).run() }
        #expect(try store.keys.items(service: nil, account: nil) == items)
        #expect(try store.content() == "zettel")
        try store.expectSettled()
    }

    @Test func noErrorTellsAKey() throws {
        let store = try RotatedStore()
        let errors: [EncryptedStoreError] = [
            .noAccount(service: "s"), .keyNotKept(service: "s", account: "a", hasDatabase: true),
            .unfinished(path: "p", service: "s", account: "a", reason: "r"),
            .neitherOpens(path: "p", service: "s", account: "a"),
        ]
        for error in errors {
            #expect(error.errorDescription?.contains("\n") == false)
            #expect(error.recoverySuggestion?.isEmpty == false)
        }
        store.rotateUntilKilled(at: try RotatedStore.callCount(), .before)
        for fragment in store.key.fragments {
            #expect(!"\(try store.keys.items(service: nil, account: nil))".contains(fragment))
        }
    }
}
