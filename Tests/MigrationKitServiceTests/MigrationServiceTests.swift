import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitService
import ServiceLifecycle
import TestSupport
import Testing

/// Migrate, then serve.
@Suite struct MigrationServiceTests {
    private let served: ServedStore

    init() throws {
        served = try ServedStore()
    }

    /// A server that says when it starts, and ends at the shutdown.
    private struct Server: Service {
        var started: @Sendable () async throws -> Void = {}

        func run() async throws {
            try await started()
            try? await gracefulShutdown()
        }
    }

    // MARK: - The order

    @Test(.timeLimit(.minutes(10)))
    func whatStartsAfterFindsTheMigratedDatabase() async throws {
        let database = try served.service(itemSteps())
        let (count, runs) = (Locked(0), Locked(0))
        let started = Event()
        let server = Server {
            runs.withLock { $0 += 1 }
            let found = try await database.database().read { db in
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM grdb_migrations")
            }
            count.withLock { $0 = found ?? 0 }
            started.happen()
        }
        let group = group(database, server.starting(after: database))
        async let end: Void = group.run()
        await started.wait()
        #expect(count.withLock { $0 } == 3)
        #expect(runs.withLock { $0 } == 1)
        #expect(database.isReady)
        await group.triggerGracefulShutdown()
        try await end

        guard case .stopped = database.state else {
            Issue.record("not stopped: \(database.state)")
            return
        }
        await #expect(throws: MigrationServiceError.stopped) { try await database.database() }
        // The log was moved into the file, and nothing holds it.
        #expect(try served.folder.names.filter { $0 != "notes.db" }.isEmpty)
        #expect(try served.applied().count == 3)
    }

    @Test(.timeLimit(.minutes(10)))
    func theDatabaseIsClosedAfterWhatUsesIt() async throws {
        let database = try served.service(itemSteps())
        let wasOpen = Locked(false)
        struct Last: Service {
            let database: MigrationService
            let wasOpen: Locked<Bool>
            let started: Event

            func run() async throws {
                let writer = try await database.database()
                started.happen()
                try await gracefulShutdown()
                let count = try await writer.read { db in
                    try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM item")
                }
                wasOpen.withLock { $0 = count == 0 }
            }
        }
        let started = Event()
        let last = Last(database: database, wasOpen: wasOpen, started: started)
        let group = group(database, last.starting(after: database))
        async let end: Void = group.run()
        await started.wait()
        await group.triggerGracefulShutdown()
        try await end
        #expect(wasOpen.withLock { $0 })
    }

    // MARK: - Shutdown

    @Test(.timeLimit(.minutes(10)))
    func aShutdownInTheMiddleUndoesTheStepAndStartsNothing() async throws {
        let running = Event()
        let database = try served.service(
            itemSteps() + [endlessStep("0004_endless") { running.happen() }]
        )
        let runs = Locked(0)
        let server = Server { runs.withLock { $0 += 1 } }
        let group = group(database, server.starting(after: database))
        async let end: Void = group.run()
        await running.wait()
        guard case .migrating(index: 4, count: 4) = database.state else {
            Issue.record("another state: \(database.state)")
            return
        }
        await group.triggerGracefulShutdown()
        // A shutdown is no failure.
        try await end
        #expect(runs.withLock { $0 } == 0)

        #expect(try served.applied() == Set(itemSteps().map(\.identifier)))
        #expect(try served.tables(in: "notes") == ["item", "tag"])

        // The next start goes on.
        let next = try served.service(itemSteps() + [step("0004_endless", "CREATE TABLE e(a)")])
        let started = Event()
        let second = ServiceGroup(
            services: [next, Server { started.happen() }.starting(after: next)],
            logger: .init(label: "test")
        )
        async let secondEnd: Void = second.run()
        await started.wait()
        guard case .ready(let report) = next.state else {
            Issue.record("another state: \(next.state)")
            return
        }
        #expect(report.steps.map(\.identifier) == ["0004_endless"])
        await second.triggerGracefulShutdown()
        try await secondEnd
    }

    @Test(.timeLimit(.minutes(10)))
    func aCancelledTaskEndsAsWell() async throws {
        let running = Event()
        let database = try served.service([endlessStep("0001_endless") { running.happen() }])
        let task = Task { try await database.run() }
        await running.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try served.applied().isEmpty)
    }

    // MARK: - Failures and states

    private struct Failure: Error {}

    @Test(.timeLimit(.minutes(10)))
    func aFailureEndsTheGroupWithItsError() async throws {
        let database = try served.service(
            itemSteps() + [
                MigrationStep(identifier: "0004", sourceFile: "") { _ in throw Failure() }
            ]
        )
        let runs = Locked(0)
        let server = Server { runs.withLock { $0 += 1 } }
        await #expect(throws: Failure.self) {
            try await group(database, server.starting(after: database)).run()
        }
        #expect(runs.withLock { $0 } == 0)
        guard case .failed(let error) = database.state else {
            Issue.record("another state: \(database.state)")
            return
        }
        #expect(error is Failure)
        await #expect(throws: Failure.self) { try await database.database() }
        #expect(try served.applied().count == 3)
    }

    /// A health check goes on, and says why there is no database.
    @Test(.timeLimit(.minutes(10)))
    func aFailureThatIsIgnoredKeepsTheHealthCheckRunning() async throws {
        let database = try served.service([
            MigrationStep(identifier: "0001", sourceFile: "") { _ in throw Failure() }
        ])
        let (runs, failed) = (Locked(0), Event())
        let server = Server { runs.withLock { $0 += 1 } }
        let health = Server {
            for await state in database.states {
                if case .failed = state { failed.happen() }
            }
        }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: database, failureTerminationBehavior: .ignore),
                    .init(service: server.starting(after: database)),
                    .init(service: health),
                ],
                logger: .init(label: "test")
            )
        )
        async let end: Void = group.run()
        await failed.wait()
        await group.triggerGracefulShutdown()
        try await end
        #expect(runs.withLock { $0 } == 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func statesAreSeenInOrder() async throws {
        let go = DispatchSemaphore(value: 0)
        let database = try served.service([
            step("0001", "CREATE TABLE a(a)"),
            MigrationStep(identifier: "0002", sourceFile: "") { _ in go.wait() },
        ])
        var seen: [String] = []
        let task = Task { try await database.run() }
        for await state in database.states {
            switch state {
            case .opening: seen.append("opening")
            case .migrating(2, 2):
                seen.append("2 of 2")
                go.signal()
            case .migrating: break
            case .ready:
                seen.append("ready")
                task.cancel()
            case .stopped: seen.append("stopped")
            case .failed(let error): Issue.record(error)
            }
        }
        #expect(seen.drop { $0 == "opening" } == ["2 of 2", "ready", "stopped"])
        try await task.value
    }

    @Test(.timeLimit(.minutes(10)))
    func aServiceRunsOnce() async throws {
        let database = try served.service([])
        let task = Task { try await database.run() }
        _ = try await database.database()
        await #expect(throws: MigrationServiceError.alreadyStarted) { try await database.run() }
        #expect(database.isReady)
        task.cancel()
        try await task.value
    }

    @Test(.timeLimit(.minutes(10)))
    func aCancelledWaitEnds() async throws {
        let database = try served.service([])
        let task = Task { try await database.database() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
