import Dispatch
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitService
import ServiceLifecycle
import TestSupport
import Testing

/// Many stores, of which few are open.
@Suite(.timeLimit(.minutes(10))) struct EncryptedStoresTests {
    private let served: ServedStore

    init() throws {
        served = try ServedStore()
    }

    private func stores(
        _ steps: [MigrationStep<Database>] = itemSteps(),
        maximumOpen: Int = 64,
        createsFiles: Bool = true,
        migrating: MigrationOptions = MigrationOptions()
    ) throws -> EncryptedStores {
        EncryptedStores(
            folder: served.folder.path,
            keys: served,
            runner: try GRDBMigrationRunner(steps: steps),
            options: .init(
                maximumOpen: maximumOpen,
                createsFiles: createsFiles,
                migrating: migrating
            )
        )
    }

    private func add(_ name: String, to store: String, of stores: EncryptedStores) async throws {
        try await stores.withStore(store) { database in
            try await database.write { db in
                try db.execute(sql: "INSERT INTO item (name) VALUES (?)", arguments: [name])
            }
        }
    }

    private func names(in store: String, of stores: EncryptedStores) async throws -> [String] {
        try await stores.withStore(store) { database in
            try await database.read { try String.fetchAll($0, sql: "SELECT name FROM item") }
        }
    }

    // MARK: - Opening

    @Test func aStoreIsOpenedAndMigratedAtItsFirstUse() async throws {
        let stores = try stores()
        try await add("first", to: "acme", of: stores)
        try await add("other", to: "zeta", of: stores)
        #expect(try await names(in: "acme", of: stores) == ["first"])
        #expect(await stores.openStores.sorted() == ["acme", "zeta"])
        #expect(served.askedNames == ["acme", "zeta"])
        await stores.shutDown()

        // The file is encrypted with the key that was given for it, and no other.
        let path = served.folder.path("acme.db")
        try EncryptedDatabase.open(path, key: served.key(ofStore: "acme")).close()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try EncryptedDatabase.open(path, key: served.key(ofStore: "zeta"))
        }
    }

    @Test func callersAtTheSameTimeShareOneOpening() async throws {
        let stores = try stores()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { try await add("\(number)", to: "acme", of: stores) }
            }
            try await group.waitForAll()
        }
        #expect(try await names(in: "acme", of: stores).count == 50)
        #expect(served.askedNames == ["acme"])
        await stores.shutDown()
    }

    @Test func aFailedOpeningIsForThoseWhoWaitAndTheNextTriesAgain() async throws {
        let stores = try stores()
        for _ in 0..<2 {
            await #expect(throws: KeySourceError.empty(source: "the vault")) {
                try await names(in: "keyless", of: stores)
            }
        }
        #expect(served.askedNames == ["keyless", "keyless"])
        #expect(try served.folder.names.isEmpty)
        #expect(await stores.openStores.isEmpty)
        await stores.shutDown()
    }

    @Test func aMissingStoreIsMadeOnlyIfThatIsWanted() async throws {
        let stores = try stores(createsFiles: false)
        let path = served.folder.path("acme.db")
        await #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try await names(in: "acme", of: stores)
        }
        #expect(try served.folder.names.isEmpty)
        await stores.shutDown()
    }

    @Test(arguments: ["", ".", "..", "../acme", "a/b", ".hidden", "a\0b", "a\nb"])
    func aNameLeadsOutOfNoFolder(_ name: String) async throws {
        let stores = try stores()
        await #expect(throws: MigrationServiceError.unusableStoreName(name)) {
            try await names(in: name, of: stores)
        }
        #expect(served.askedNames.isEmpty)
    }

    // MARK: - The bound

    @Test func theStoreThatWasUnusedForLongestIsClosed() async throws {
        let stores = try stores(maximumOpen: 2)
        for name in ["a", "b", "a", "c"] { try await add("x", to: name, of: stores) }
        #expect(await stores.openStores.sorted() == ["a", "c"])
        #expect(try await names(in: "b", of: stores) == ["x"])
        #expect(await stores.openStores.sorted() == ["b", "c"])
        #expect(served.askedNames == ["a", "b", "c", "b"])
        await stores.shutDown()
    }

    @Test func aStoreInUseIsNeverClosedAndOthersWaitInOrder() async throws {
        let stores = try stores(maximumOpen: 1)
        let (inside, go) = (Event(), Event())
        let order = Locked<[String]>([])
        let user = Task {
            try await stores.withStore("a") { database in
                inside.happen()
                await go.wait()
                return try await database.read { try $0.tableExists("item") }
            }
        }
        await inside.wait()
        var waiting: [Task<Void, any Error>] = []
        for name in ["b", "c"] {
            waiting.append(
                Task {
                    try await stores.withStore(name) { _ in order.withLock { $0.append(name) } }
                }
            )
            while await stores.waitingCount < waiting.count { await Task.yield() }
        }
        #expect(await stores.openStores == ["a"])
        go.happen()
        #expect(try await user.value)
        for task in waiting { try await task.value }
        #expect(order.withLock { $0 } == ["b", "c"])
        await stores.shutDown()
    }

    @Test func manyTasksOnFewStoresLoseNothing() async throws {
        let stores = try stores(maximumOpen: 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let task = Task {
                        try await add("\(number)", to: "s\(number % 10)", of: stores)
                    }
                    // Every fifth leaves at some moment.
                    if number % 5 == 4 { task.cancel() }
                    do { try await task.value } catch is CancellationError {}
                    #expect(await stores.openStores.count <= 3)
                }
            }
            try await group.waitForAll()
        }
        var found = Set<String>()
        for number in 0..<10 { found.formUnion(try await names(in: "s\(number)", of: stores)) }
        #expect(found.isSuperset(of: (0..<200).filter { $0 % 5 != 4 }.map(String.init)))
        await stores.shutDown()
        #expect(try served.folder.names.allSatisfy { $0.hasSuffix(".db") })
    }

    // MARK: - Cancelling

    @Test func aCancelledCallerDoesNotCancelTheOpeningOfOthers() async throws {
        let (running, go) = (Event(), DispatchSemaphore(value: 0))
        let slow = MigrationStep<Database>(identifier: "0004", sourceFile: "") { _ in
            running.happen()
            go.wait()
        }
        let stores = try stores(itemSteps() + [slow])
        let first = Task { try await names(in: "acme", of: stores) }
        await running.wait()
        let second = Task { try await names(in: "acme", of: stores) }
        while await stores.waiterCount(of: "acme") < 2 { await Task.yield() }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        go.signal()
        #expect(try await second.value == [])
        #expect(served.askedNames == ["acme"])
        await stores.shutDown()
    }

    @Test func whenAllCallersAreGoneTheMigrationIsUndone() async throws {
        let running = Event()
        let stores = try stores(itemSteps() + [endlessStep("0004") { running.happen() }])
        let tasks = (0..<3).map { _ in Task { try await names(in: "acme", of: stores) } }
        await running.wait()
        tasks.forEach { $0.cancel() }
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        await stores.shutDown()
        #expect(try served.tables(in: "acme") == ["item", "tag"])
    }

    @Test func whoComesAfterAnAbandonedOpeningGetsOneOfTheirOwn() async throws {
        let (running, attempts) = (Event(), Locked(0))
        let step = MigrationStep<Database>(identifier: "0004", sourceFile: "") { db in
            guard
                attempts.withLock({
                    $0 += 1; return $0 == 1
                })
            else { return }
            try db.execute(sql: "CREATE TABLE endless (a)")
            running.happen()
            while true { try db.execute(sql: "INSERT INTO endless VALUES (1)") }
        }
        let stores = try stores(itemSteps() + [step])
        let first = Task { try await names(in: "acme", of: stores) }
        await running.wait()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(try await names(in: "acme", of: stores) == [])
        #expect(attempts.withLock { $0 } == 2)
        await stores.shutDown()
    }

    @Test func whoWaitsForRoomCanLeave() async throws {
        let stores = try stores(maximumOpen: 1)
        let (inside, go) = (Event(), Event())
        let user = Task {
            try await stores.withStore("a") { _ in
                inside.happen()
                await go.wait()
            }
        }
        await inside.wait()
        let waiting = Task { try await names(in: "b", of: stores) }
        while await stores.waitingCount < 1 { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        go.happen()
        try await user.value
        #expect(served.askedNames == ["a"])
        #expect(try await names(in: "b", of: stores) == [])
        await stores.shutDown()
    }

    // MARK: - Shutdown

    @Test func theShutdownWaitsForUsesAndClosesEverything() async throws {
        let stores = try stores()
        let (inside, go) = (Event(), Event())
        let group = group(stores)
        async let end: Void = group.run()
        try await add("x", to: "idle", of: stores)
        let user = Task {
            try await stores.withStore("used") { database in
                inside.happen()
                await go.wait()
                try await database.write { try $0.execute(sql: "INSERT INTO item DEFAULT VALUES") }
            }
        }
        await inside.wait()
        await group.triggerGracefulShutdown()
        while true {
            do {
                try await add("y", to: "new", of: stores)
            } catch MigrationServiceError.storesStopped {
                break
            }
        }
        go.happen()
        try await user.value
        try await end
        #expect(await stores.openStores.isEmpty)
        #expect(try served.folder.names.allSatisfy { $0.hasSuffix(".db") })
    }

    /// A server is shut down before the stores, and would wait for its requests.
    @Test func theShutdownOfAServerEndsItsWaits() async throws {
        struct Server: Service {
            let stores: EncryptedStores
            let error: Locked<(any Error)?>

            func run() async throws {
                do {
                    try await stores.withStore("acme") { _ in }
                } catch {
                    self.error.withLock { $0 = error }
                }
                try? await gracefulShutdown()
            }
        }
        let (running, error) = (Event(), Locked<(any Error)?>(nil))
        let stores = try stores([endlessStep("0001") { running.happen() }])
        let group = group(stores, Server(stores: stores, error: error))
        async let end: Void = group.run()
        await running.wait()
        await group.triggerGracefulShutdown()
        try await end
        #expect(error.withLock { $0 } as? MigrationServiceError == .storesStopped)
        #expect(try served.tables(in: "acme").isEmpty)
    }

    @Test func theShutdownCancelsOpenings() async throws {
        let running = Event()
        let stores = try stores([endlessStep("0001") { running.happen() }])
        let task = Task { try await names(in: "acme", of: stores) }
        await running.wait()
        await stores.shutDown()
        await #expect(throws: MigrationServiceError.storesStopped) { try await task.value }
        await #expect(throws: MigrationServiceError.storesStopped) {
            try await names(in: "acme", of: stores)
        }
    }
}
