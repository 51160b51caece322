import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What the next opening makes of a rotation that was killed.
@Suite struct KeyRotationRecoveryTests {
    /// A call of the key store's at which everything ends.
    private static func everyEnd(
        keepsOldKey: Bool = true
    ) throws -> [(call: Int, moment: InterposedKeyStore.Moment)] {
        try (1...RotatedStore.callCount(keepsOldKey: keepsOldKey)).flatMap { call in
            InterposedKeyStore.Moment.allCases.map { (call, $0) }
        }
    }

    @Test(arguments: [true, false])
    func everyKilledRotationIsFinishedOrUndoneByTheNextOpening(keepsOldKey: Bool) throws {
        var (finished, undone) = (0, 0)
        for end in try Self.everyEnd(keepsOldKey: keepsOldKey) {
            let store = try RotatedStore()
            store.rotateUntilKilled(at: end.call, end.moment, keepsOldKey: keepsOldKey)
            // As it is, without anything being settled.
            #expect(try store.content(isReadOnly: true) == "zettel", "\(end)")
            #expect(try store.content() == "zettel", "\(end)")
            try store.expectSettled()
            #expect(try store.folder.names == [TemporaryFolder.databaseName])
            #expect(
                try store.keys.entry(service: RotatedStore.service, account: "main").item.label
                    == "Notes"
            )
            if try store.key() == store.key.key {
                undone += 1
            } else {
                finished += 1
                if keepsOldKey { #expect(try store.previous == [store.key.key], "\(end)") }
            }
        }
        #expect(finished > 0 && undone > 0)
    }

    @Test func everyKilledRecoveryIsGoneOnWithByTheNextOne() throws {
        var recoveries = 0
        for end in try Self.everyEnd() {
            for call in 1... {
                let store = try RotatedStore()
                store.rotateUntilKilled(at: end.call, end.moment)
                let before = try Set(allKeys(store))
                let keys = InterposedKeyStore(store.keys) { number, moment in
                    if number > call || (number == call && moment == .after) {
                        throw RotatedStore.Killed()
                    }
                }
                _ = try? store.content(keys)
                #expect(try before.isSubset(of: allKeys(store)))
                #expect(try store.content() == "zettel")
                try store.expectSettled()
                recoveries += 1
                guard keys.callCount > call else { break }
            }
        }
        #expect(recoveries > 30)
    }

    private func allKeys(_ store: RotatedStore) throws -> [String] {
        try store.keys.items(service: nil, account: nil).map { item in
            let secret = try store.keys.entry(service: item.service, account: item.account).text
            return secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test func nextRotationFinishesTheLastOneFirst() throws {
        for call in 1...(try RotatedStore.callCount()) {
            let store = try RotatedStore()
            store.rotateUntilKilled(at: call, .after)
            try store.rotation().run()
            #expect(try store.content() == "zettel")
            try store.expectSettled()
            #expect(try store.previous.contains(store.key.key))
        }
    }

    @Test func failureOfOneCallLeavesNothingPendingBeforeTheReplacement() throws {
        for end in try Self.everyEnd() {
            let store = try RotatedStore()
            let data = try store.folder.databaseData()
            let keys = InterposedKeyStore(store.keys) { number, moment in
                if number == end.call, moment == end.moment {
                    throw KeyStoreError.locked(collection: "login")
                }
            }
            let error = #expect(throws: (any Error).self) { try store.rotation(keys).run() }
            if try store.folder.databaseData() == data {
                #expect(error as? KeyStoreError == .locked(collection: "login"))
                #expect(try store.pending == [])
                #expect(try store.key() == store.key.key)
            } else {
                guard case .unfinished(_, _, _, let reason)? = error as? EncryptedStoreError else {
                    Issue.record("\(end): \(String(describing: error))")
                    continue
                }
                #expect(reason == "the collection \"login\" or its item is locked")
            }
            #expect(try store.content() == "zettel")
            try store.expectSettled()
        }
    }

    @Test func conversionThatFailsTakesThePendingKeyBack() throws {
        let store = try RotatedStore()
        // The name of the kept original is taken while the file is copied.
        let original = store.folder.path("original.db")
        let options = RewriteOptions(
            observer: { _ in _ = FileManager.default.createFile(atPath: original, contents: nil) }
        )
        #expect(throws: DatabaseConversionError.exists(path: original)) {
            try store.rotation(options: options).run(keptOriginalPath: original)
        }
        #expect(try store.keys.items(service: nil, account: nil).count == 1)
        #expect(try store.content() == "zettel")
    }

    @Test func keyThatIsNotKeptIsNotUsed() throws {
        let store = try RotatedStore()
        let data = try store.folder.databaseData()
        let keys = InterposedKeyStore(store.keys) { [keys = store.keys] _, moment in
            for item in try keys.items(service: RotatedStore.pendingService, account: nil)
            where moment == .after {
                try keys.store(
                    .generate(),
                    service: item.service,
                    account: item.account ?? "",
                    label: nil,
                    replacing: true
                )
            }
        }
        let error = #expect(throws: EncryptedStoreError.self) { try store.rotation(keys).run() }
        guard case .keyNotKept(RotatedStore.pendingService, _, hasDatabase: true)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try store.folder.databaseData() == data)
        try store.expectSettled()
    }

    // MARK: - Files and Items That Are Not Where They Were

    /// Kills a rotation when the file has its new key and the item has not.
    private func killAfterTheReplacement(_ store: RotatedStore) throws {
        for call in 1...(try RotatedStore.callCount()) {
            let other = try RotatedStore()
            other.rotateUntilKilled(at: call, .before)
            guard !other.opens(other.key.key) else { continue }
            store.rotateUntilKilled(at: call, .before)
            break
        }
        #expect(try store.pending.count == 1)
        #expect(try store.key() == store.key.key)
        #expect(!store.opens(store.key.key))
    }

    @Test(arguments: [true, false])
    func movedFileIsFinishedWhereItIs(byRotation: Bool) throws {
        let store = try RotatedStore()
        try killAfterTheReplacement(store)
        let moved = store.folder.path("moved.db")
        try FileManager.default.moveItem(atPath: store.path, toPath: moved)
        if byRotation {
            try store.rotation(path: moved).run()
        } else {
            #expect(try store.content(path: moved, isReadOnly: true) == "zettel")
            #expect(try store.pending.count == 1)
        }
        #expect(try store.content(path: moved) == "zettel")
        #expect(try store.pending == [])
        #expect(try store.opens(store.key(), path: moved))
        #expect(try store.previous.contains(store.key.key))
    }

    @Test func movedFileIsFinishedEvenIfTheItemIsGone() throws {
        let store = try RotatedStore()
        try killAfterTheReplacement(store)
        try store.keys.delete(service: RotatedStore.service, account: "main")
        let moved = store.folder.path("moved.db")
        try FileManager.default.moveItem(atPath: store.path, toPath: moved)
        #expect(try store.content(path: moved) == "zettel")
        #expect(try store.opens(store.key(), path: moved))
    }

    @Test func keyOfAFileThatWasMovedAwayIsKeptWhenABackupTakesItsPlace() throws {
        let store = try RotatedStore()
        let backup = store.folder.path("backup.db")
        try FileManager.default.copyItem(atPath: store.path, toPath: backup)
        try killAfterTheReplacement(store)
        let moved = store.folder.path("moved.db")
        try FileManager.default.moveItem(atPath: store.path, toPath: moved)
        try FileManager.default.moveItem(atPath: backup, toPath: store.path)

        #expect(try store.content() == "zettel")
        #expect(try store.key() == store.key.key)
        #expect(try store.pending == [])
        // The key that only the moved file has.
        #expect(try store.previous.count == 1)
        #expect(try store.opens(store.previous[0], path: moved))
    }

    @Test func keyThatOpensNothingIsLeftAlone() throws {
        let store = try RotatedStore()
        try killAfterTheReplacement(store)
        let moved = store.folder.path("moved.db")
        try FileManager.default.moveItem(atPath: store.path, toPath: moved)
        try Fixtures.encrypted(store.path, key: .raw())
        let items = try store.keys.items(service: nil, account: nil)

        let error = EncryptedStoreError.neitherOpens(
            path: store.path,
            service: RotatedStore.service,
            account: "main"
        )
        #expect(throws: error) { try store.content() }
        #expect(throws: error) { try store.rotation().run() }
        #expect(try store.keys.items(service: nil, account: nil) == items)
        // It is still there for the file.
        #expect(try store.content(path: moved) == "zettel")
    }

    @Test func twoFilesWithOneItemNeverUndoEachOthersRotation() throws {
        let store = try RotatedStore()
        let other = store.folder.path("other.db")
        try FileManager.default.copyItem(atPath: store.path, toPath: other)
        try killAfterTheReplacement(store)
        // The other file still has the item's key, and what is pending isn't its own.
        #expect(try store.content(path: other) == "zettel")
        #expect(try store.pending.count == 1)
        try store.rotation(path: other, keepsOldKey: false).run()
        #expect(try store.content(path: other) == "zettel")
        #expect(try store.pending.count == 1)

        // The first takes the item; the second's key is kept.
        #expect(try store.content() == "zettel")
        #expect(try store.pending == [])
        #expect(try store.previous.contains { store.opens($0, path: other) })
    }

    @Test func keyThatAnotherRotationPutIntoTheItemIsNeverDiscarded() throws {
        let store = try RotatedStore()
        let other = try DatabaseKey.generate()
        let keys = InterposedKeyStore(store.keys) { [keys = store.keys] number, moment in
            // After the pending key was read back.
            guard number == 4, moment == .after else { return }
            try keys.store(
                other,
                service: RotatedStore.service,
                account: "main",
                label: nil,
                replacing: true
            )
        }
        try store.rotation(keys, keepsOldKey: false).run()
        #expect(try store.content() == "zettel")
        #expect(try store.previous == [other])
    }

    /// A passphrase that another program has stored, and that can't be kept in an item again.
    @Test func killedRotationThatDiscardsAKeyWhichCanNotBeKeptIsFinished() throws {
        let text = "ein\\nGeheimnis \(UInt64.random(in: 1...UInt64.max))"
        for call in 1...(try RotatedStore.callCount(keepsOldKey: false)) {
            let store = try RotatedStore()
            try FileManager.default.removeItem(atPath: store.path)
            _ = try SQLCipherShell.run(
                store.path,
                key: text,
                "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
            )
            try store.keys.delete(service: RotatedStore.service, account: "main")
            store.keys.add(Secret(utf8: text), service: RotatedStore.service, account: "main")
            store.rotateUntilKilled(at: call, .after, keepsOldKey: false)
            #expect(try store.content() == "zettel", "\(call)")
            try store.expectSettled()
        }
    }

    /// Another program's key, which can't be kept under another name, is in the item by now.
    @Test func keyThatCanNotBeKeptStaysWhereTheRotationKeepsKeys() throws {
        let text = "ein\nGeheimnis \(UInt64.random(in: 1...UInt64.max))"
        for call in 1...(try RotatedStore.callCount(keepsOldKey: true)) {
            let store = try RotatedStore()
            store.rotateUntilKilled(at: call, .after, keepsOldKey: true)
            _ = try? store.keys.delete(service: RotatedStore.service, account: "main")
            store.keys.add(Secret(utf8: text), service: RotatedStore.service, account: "main")
            _ = try? store.content()
            let entry = try store.keys.entry(service: RotatedStore.service, account: "main")
            #expect(entry.text == Secret(utf8: text), "\(call)")
        }
    }

    @Test func openingCostsOneSearchWhereNothingIsPending() throws {
        let store = try RotatedStore()
        let keys = InterposedKeyStore(store.keys)
        #expect(try store.content(keys) == "zettel")
        #expect(keys.callCount == 2)
    }
}
