import MigrationKitKeys
import MigrationKitSQLCipher
import Testing

/// Another program changes the key's item while the key is rotated.
@Suite struct KeyRotationInterferenceTests {
    enum Change: CaseIterable {
        case delete, replace
    }

    private let store: RotatedStore
    private let other: DatabaseKey

    init() throws {
        store = try RotatedStore()
        other = try DatabaseKey.generate()
    }

    /// A key store whose item changes before or after a call.
    private func keys(
        _ change: Change,
        of store: RotatedStore,
        at call: Int,
        _ moment: InterposedKeyStore.Moment = .after
    ) -> InterposedKeyStore {
        InterposedKeyStore(store.keys) { [keys = store.keys, other] number, now in
            guard number == call, now == moment else { return }
            switch change {
            case .delete:
                do {
                    try keys.delete(service: RotatedStore.service, account: "main")
                } catch KeyStoreError.itemNotFound {}
            case .replace:
                try keys.store(
                    other,
                    service: RotatedStore.service,
                    account: "main",
                    label: "Other",
                    replacing: true
                )
            }
        }
    }

    /// After the pending key was read back, the file is copied.
    private static let copying = 4

    @Test func oldKeyIsKeptThoughItsItemWasDeletedMeanwhile() throws {
        let report = try store.rotation(keys(.delete, of: store, at: Self.copying)).run()
        let kept = try #require(report.keptItem)
        #expect(kept.label == "Previous: Notes")
        #expect(report.otherKeptItem == nil)
        #expect(report.item.label == "Notes")
        #expect(try store.previous == [store.key.key])
        #expect(try store.content() == "zettel")
        try store.expectSettled()
    }

    @Test func oldKeyAndTheOneThatReplacedItAreKept() throws {
        let report = try store.rotation(keys(.replace, of: store, at: Self.copying)).run()
        let kept = try [report.keptItem, report.otherKeptItem].map {
            try store.key(service: #require($0).service, account: #require($0?.account))
        }
        #expect(kept == [store.key.key, other])
        #expect(try store.previous.count == 2)
        #expect(try store.content() == "zettel")
        try store.expectSettled()
    }

    @Test func keyThatReplacedADiscardedOneIsKept() throws {
        let keys = keys(.replace, of: store, at: Self.copying)
        let report = try store.rotation(keys, keepsOldKey: false).run()
        #expect(report.keptItem == nil)
        #expect(report.otherKeptItem != nil)
        #expect(try store.previous == [other])
    }

    @Test(arguments: Change.allCases)
    func noMomentOfAChangeLosesAKey(_ change: Change) throws {
        let count = try RotatedStore.callCount()
        for call in Self.copying...count {
            for moment in InterposedKeyStore.Moment.allCases {
                // What is done when the rotation has looked for the last time is none of its own.
                if call == count, moment == .after { continue }
                let store = try RotatedStore()
                let keys = keys(change, of: store, at: call, moment)
                do {
                    try store.rotation(keys).run()
                } catch let error as EncryptedStoreError {
                    guard case .unfinished = error else { throw error }
                    #expect(try store.pending.count == 1, "\(call) \(moment)")
                }
                #expect(try store.content() == "zettel", "\(call) \(moment)")
                #expect(try store.previous.contains(store.key.key), "\(call) \(moment)")
                try store.expectSettled()
            }
        }
    }
}
