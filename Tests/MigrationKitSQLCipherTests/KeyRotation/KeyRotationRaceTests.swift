import Dispatch
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import Synchronization
import TestSupport
import Testing

/// A rotation and an opening at the same time, in every order of their calls of the key store.
@Suite struct KeyRotationRaceTests {
    @Test(arguments: InterposedKeyStore.Moment.allCases)
    func storeOpensAtEveryMomentOfARotation(_ moment: InterposedKeyStore.Moment) throws {
        for call in 1...(try RotatedStore.callCount()) {
            let store = try RotatedStore()
            let keys = InterposedKeyStore(store.keys) { number, now in
                guard number == call, now == moment else { return }
                let contents = try [store.content(), store.content(isReadOnly: true)]
                #expect(contents == ["zettel", "zettel"], "call \(call)")
            }
            try store.rotation(keys).run()
            #expect(try store.content() == "zettel")
            #expect(try store.key() != store.key.key)
            try store.expectSettled()
        }
    }

    @Test(arguments: [1, 2])
    func storeOpensWhenItsKeyIsRotatedMeanwhile(times: Int) throws {
        for call in 1... {
            let store = try RotatedStore()
            let keys = InterposedKeyStore(store.keys) { number, moment in
                guard number == call, moment == .after else { return }
                for _ in 0..<times { try store.rotation().run() }
            }
            #expect(try store.content(keys) == "zettel", "call \(call)")
            guard keys.callCount >= call else { break }
            try store.expectSettled()
        }
    }

    /// The opening stops behind a call, and goes on when the rotation stands before one of its own.
    @Test func storeOpensInEveryOrderOfTheCalls() throws {
        for behind in 1...3 {
            for before in 1...(try RotatedStore.callCount()) {
                let store = try RotatedStore()
                let rotation = PausedRotation(of: store, before: before)
                let keys = InterposedKeyStore(store.keys) { number, moment in
                    if number == behind, moment == .after { rotation.advance() }
                }
                #expect(try store.content(keys) == "zettel", "\(behind), \(before)")
                try rotation.finish()
                #expect(try store.content() == "zettel")
                #expect(try store.key() != store.key.key)
                try store.expectSettled()
            }
        }
    }

    /// A rotation that has begun since the opening has looked for one has the file for itself.
    @Test(arguments: ConversionEvent.Phase.ofWholeDatabases)
    func openingThatFindsTheFileLockedTriesOnceMore(_ phase: ConversionEvent.Phase) throws {
        let store = try RotatedStore()
        let (stands, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let hasStood = Atomic(false)
        let options = RewriteOptions(observer: { event in
            guard case .progress(phase, _, _) = event,
                !hasStood.exchange(true, ordering: .relaxed)
            else { return }
            stands.signal()
            goesOn.wait()
        })
        let rotation = Mutex<Background<KeyRotationReport>?>(nil)
        let keys = InterposedKeyStore(store.keys) { number, moment in
            switch (number, moment) {
            case (2, .after):
                // Nothing was pending.
                let begun = Background { try store.rotation(options: options).run() }
                rotation.withLock { $0 = begun }
                stands.wait()
            case (3, .after):
                // It looks once more, since the file was locked.
                #expect(try store.pending.count == 1)
                goesOn.signal()
                _ = try rotation.withLock { $0 }?.value()
            default: break
            }
        }
        #expect(try store.content(keys) == "zettel")
        #expect(keys.callCount > 3)
        try store.expectSettled()
    }

    @Test func leftoversOfARotationThatIsGoingOnAreLeftAlone() throws {
        let store = try RotatedStore()
        // Its pending key is stored, and the file not replaced.
        let rotation = PausedRotation(of: store, before: 5)
        rotation.advance()
        #expect(try store.pending.count == 1)
        #expect(try store.content() == "zettel")
        #expect(try store.pending.count == 1)
        #expect(throws: (any Error).self) { try store.rotation(options: .init(timeout: 0)).run() }
        #expect(try store.pending.count == 1)
        try rotation.finish()
        try store.expectSettled()
    }

    @Test func twoRotationsAtOnceComeOneAfterTheOther() async throws {
        let store = try RotatedStore()
        let rotation = store.rotation(options: .init(timeout: 60))
        async let first = asyncRun { try rotation.run() }
        async let second = asyncRun { try rotation.run() }
        _ = try await (first, second)
        #expect(try store.content() == "zettel")
        #expect(try store.previous.count == 2)
        try store.expectSettled()
    }
}

/// A rotation on a thread of its own that stops before a call of the key store's.
private final class PausedRotation: Sendable {
    private let store: RotatedStore
    private let before: Int
    private let stands = DispatchSemaphore(value: 0)
    private let goesOn = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let state = Mutex<(hasBegun: Bool, failure: (any Error)?)>((false, nil))

    init(of store: RotatedStore, before: Int) {
        self.store = store
        self.before = before
    }

    /// Runs it to where it stops.
    func advance() {
        guard
            state.withLock({ state in
                defer { state.hasBegun = true }
                return !state.hasBegun
            })
        else { return }
        Thread.detachNewThread { [self] in
            let keys = InterposedKeyStore(store.keys) { [self] number, moment in
                guard number == before, moment == .before else { return }
                stands.signal()
                goesOn.wait()
            }
            do {
                try store.rotation(keys, options: .init(timeout: 60)).run()
            } catch {
                state.withLock { $0.failure = error }
            }
            ended.signal()
        }
        stands.wait()
    }

    /// Runs it to its end.
    func finish() throws {
        advance()
        goesOn.signal()
        ended.wait()
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }
}
