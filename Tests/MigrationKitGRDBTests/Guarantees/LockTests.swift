import Dispatch
import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// One at a time: what a second runner does while somebody else is migrating.
@Suite struct LockTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    private func isSameFile(_ path: String) -> Bool {
        path == URL(fileURLWithPath: store.path).resolvingSymlinksInPath().path
    }

    // MARK: - Another Process

    @Test func runnerThatWaitsTooLongNamesTheProcess() throws {
        let holder = try store.holdMigrationLock()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let options = MigrationOptions(lockTimeout: 0.1)
        let runs: [() throws -> Void] = [
            { try runner.migrate(in: writer, options: options) },
            { _ = try runner.dryRun(in: writer, options: options) },
            { try runner.baseline(in: writer, upTo: "0001_items", options: options) },
        ]
        for run in runs {
            let error = #expect(throws: MigrationKitError.self, performing: run)
            guard case .stalled(let path, let process, let seconds) = error else {
                Issue.record("expected a lock, got \(String(describing: error))")
                continue
            }
            #expect(isSameFile(path))
            #expect(process == holder.processIdentifier)
            #expect(seconds == 0.1)
            #expect(error?.errorDescription?.contains("(\(holder.processIdentifier))") == true)
        }
        #expect(try Everything(of: writer).schema.isEmpty)
        #expect(try holder.finish().status == 0)
    }

    /// SQLite's data version doesn't tell a connection of its own commits.
    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func runSeesWhatItsConnectionAppliesWhileItWaits(_ transaction: MigrationTransaction) throws {
        let holder = try store.holdMigrationLock()
        var migrator = DatabaseMigrator()
        for step in itemSteps() {
            migrator.registerMigration(step.identifier, migrate: step.apply)
        }
        let (writer, other) = (writer, migrator)
        let options = MigrationOptions(
            transaction: transaction,
            observer: { event in
                guard case .waiting = event else { return }
                #expect(throws: Never.self) {
                    try other.migrate(writer)
                    _ = try holder.finish()
                }
            }
        )
        let report = try GRDBMigrationRunner(steps: itemSteps()).migrate(
            in: writer,
            options: options
        )
        #expect(report.steps.isEmpty && report.pending.isEmpty)
        #expect(try writer.read(other.hasCompletedMigrations))
    }

    @Test func rollbackWaitsAsWell() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try runner.migrate(in: writer)
        let holder = try store.holdMigrationLock()
        let error = #expect(throws: MigrationKitError.self) {
            try runner.rollbackLastMigration(in: writer, options: .init(lockTimeout: 0))
        }
        guard case .locked(_, holder.processIdentifier, _) = error else {
            Issue.record("expected a lock, got \(String(describing: error))")
            return
        }
        #expect(try Everything(of: writer).ledger.count == 3)
    }

    @Test(arguments: [true, false])
    func runnerGoesOnAsSoonAsTheOtherProcessEnds(_ isKilled: Bool) async throws {
        let holder = try store.holdMigrationLock()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let events = Recorder<MigrationEvent>()
        let report = try await runner.asyncMigrate(
            in: writer,
            options: .init(observer: { event in
                events.append(event)
                guard case .waiting = event else { return }
                if isKilled { holder.send(SIGKILL) }
                _ = try? holder.finish()
            })
        )
        #expect(report.steps.count == 3)
        #expect(events.values.first == .waiting(holder: holder.processIdentifier))
        #expect(events.values.filter { if case .waiting = $0 { true } else { false } }.count == 1)
        #expect(!(try store.folder.names.contains("store.db-migration.lock")))
    }

    @Test func runWithNothingToDoNeedsNoLock() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try runner.migrate(in: writer)
        let holder = try store.holdMigrationLock()
        let options = MigrationOptions(lockTimeout: 0)
        #expect(try runner.migrate(in: writer, options: options).steps.isEmpty)
        #expect(
            try runner.rollbackMigrations(in: writer, steps: 0, options: options).steps.isEmpty
        )
        #expect(try holder.finish().status == 0)
    }

    @Test func lockThatCanNotBeMadeIsExplained() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        // A folder where the lock is to be.
        try store.folder.makeFolder("store.db-migration.lock")
        let error = #expect(throws: MigrationKitError.self) { try runner.migrate(in: writer) }
        guard case .cannotLock(let path, let code) = error else {
            Issue.record("expected no lock, got \(String(describing: error))")
            return
        }
        #expect(path.hasSuffix("store.db-migration.lock"))
        #expect(code == EISDIR)
        #expect(error?.localizedDescription.hasSuffix(": is a directory") == true)
        #expect(try Everything(of: writer).schema.isEmpty)
    }

    // MARK: - Another Thread

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func secondRunnerWaitsForTheFirstAndFindsNothingToDo(
        _ transaction: MigrationTransaction
    ) async throws {
        let goOn = DispatchSemaphore(value: 0)
        let began = AsyncStream.makeStream(of: Void.self)
        let slow = MigrationStep<Database>(identifier: "0000_slow", sourceFile: "") { db in
            began.continuation.yield()
            goOn.wait()
            try db.execute(sql: "CREATE TABLE slow (id)")
        }
        let runner = try GRDBMigrationRunner(steps: [slow] + itemSteps())
        let other = try store.open()
        // What a connection has seen of the schema before must not mislead it afterwards.
        #expect(try await other.read { try !$0.tableExists("slow") })
        #expect(try runner.pendingMigrationIdentifiers(in: other).count == 4)

        async let first = runner.asyncMigrate(in: writer, options: .init(transaction: transaction))
        for await _ in began.stream { break }
        await #expect(throws: MigrationKitError.self) {
            try await runner.asyncMigrate(in: other, options: .init(lockTimeout: 0.05))
        }
        let events = Recorder<MigrationEvent>()
        let second = try await runner.asyncMigrate(
            in: other,
            options: .init(
                transaction: transaction,
                observer: { event in
                    events.append(event)
                    if case .waiting = event { goOn.signal() }
                }
            )
        )
        #expect(events.values == [.waiting(holder: getpid())])
        #expect(second.steps.isEmpty)
        #expect(second.pending.isEmpty)
        #expect(try await first.steps.count == 4)
        #expect(try await other.read { try $0.tableExists("slow") })
    }

    @Test func differentStoresDoNotWaitForEachOther() throws {
        let neighbour = try EncryptedStore()
        let inside = try neighbour.open()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let outer = MigrationStep<Database>(identifier: "0001", sourceFile: "") { _ in
            try runner.migrate(in: inside, options: .init(lockTimeout: 0))
        }
        try GRDBMigrationRunner(steps: [outer]).migrate(in: writer)
        #expect(try !runner.hasPendingMigrations(in: inside))
    }
}
