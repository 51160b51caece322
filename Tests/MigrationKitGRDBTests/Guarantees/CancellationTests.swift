import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Runs that are ended in the middle of a statement.
@Suite struct CancellationTests {
    private static let endless = """
        INSERT INTO item VALUES (2, 'b');
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT count(*) FROM c
        """

    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    /// What a run tells to a test that waits for a sign of life.
    private struct Signs {
        let stream: AsyncStream<Void>
        let observer: @Sendable (MigrationEvent) -> Void

        /// When the run has told something last, by the clock of its own thread: the threads of
        /// tests are busy, and a test may be told late.
        let times: Recorder<ContinuousClock.Instant>
    }

    private func signs() -> Signs {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let times = Recorder<ContinuousClock.Instant>()
        return Signs(
            stream: stream,
            observer: { event in
                times.append(.now)
                if case .stepContinues = event { continuation.yield() }
            },
            times: times
        )
    }

    /// Runs work in a task, cancels it once it gives a sign of life, and expects it to end within a
    /// second.
    private func expectCancelled(
        observing signs: Signs,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        let task = Task(operation: work)
        for await _ in signs.stream { break }
        let start = ContinuousClock.now
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let last = try #require(signs.times.values.last)
        #expect(last - start < .seconds(1))
    }

    private func prepared(_ kind: WriterKind) throws -> any DatabaseWriter {
        let writer = try kind.open(store)
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: writer)
        try writer.write { try $0.execute(sql: "INSERT INTO item VALUES (1, 'a')") }
        return writer
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing], WriterKind.allCases)
    func cancelledTaskInterruptsTheStatementAndUndoesTheStep(
        _ transaction: MigrationTransaction,
        _ kind: WriterKind
    ) async throws {
        let writer = try prepared(kind)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004_endless", Self.endless)]
        )
        let before = try Everything(of: writer)
        let signs = signs()
        try await expectCancelled(observing: signs) {
            try await runner.asyncMigrate(
                in: writer,
                options: .init(transaction: transaction, observer: signs.observer)
            )
        }
        #expect(try Everything(of: writer) == before)
        #expect(try writer.number("PRAGMA foreign_keys") == 1)
        // The connection is usable: nothing interrupts it any more.
        try await writer.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE c (i) AS (
                        SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000
                    )
                    INSERT INTO item SELECT i + 10, 'x' FROM c
                    """
            )
        }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func cancelledRollbackLeavesTheStepApplied(_ transaction: MigrationTransaction) async throws {
        let writer = try prepared(.queue)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004", "CREATE TABLE a (id)", down: Self.endless)]
        )
        try runner.migrate(in: writer)
        let before = try Everything(of: writer)
        let signs = signs()
        try await expectCancelled(observing: signs) {
            _ = try await asyncRun {
                try runner.rollbackMigrations(
                    in: writer,
                    options: .init(transaction: transaction, observer: signs.observer)
                )
            }
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func cancelledDryRunLeavesNothing() async throws {
        let writer = try prepared(.queue)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004_endless", Self.endless)]
        )
        let before = try Everything(of: writer)
        let signs = signs()
        try await expectCancelled(observing: signs) {
            _ = try await asyncRun {
                try runner.dryRun(in: writer, options: .init(observer: signs.observer))
            }
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func cancelledStepWithoutTransactionIsNotRecorded() async throws {
        let writer = try prepared(.queue)
        let alone = MigrationStep<Database>(
            identifier: "0004_endless",
            sourceFile: "",
            usesTransaction: false
        ) { try $0.execute(sql: Self.endless.replacing("INSERT INTO", with: "REPLACE INTO")) }
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [alone])
        let signs = signs()
        try await expectCancelled(observing: signs) {
            try await runner.asyncMigrate(in: writer, options: .init(observer: signs.observer))
        }
        #expect(try runner.pendingMigrationIdentifiers(in: writer) == ["0004_endless"])
    }

    @Test func longRunsLeaveTheThreadsOfTasksAlone() async throws {
        let runner = try GRDBMigrationRunner(
            steps: [itemSteps()[0], step("0002_endless", Self.endless)]
        )
        // More of them than there are processors, and so threads of tasks.
        let stores = try (0...ProcessInfo.processInfo.activeProcessorCount).map { _ in
            try EncryptedStore()
        }
        let (signs, continuation) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores {
                    group.addTask {
                        try await runner.asyncMigrate(
                            in: store.open(),
                            options: .init(observer: { event in
                                if case .stepContinues = event { continuation.yield(store.path) }
                            })
                        )
                    }
                }
                try await group.waitForAll()
            }
        }
        var living: Set<String> = []
        for await path in signs {
            living.insert(path)
            if living.count == stores.count { break }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func runIsEndedFromAnotherThread() async throws {
        let writer = try prepared(.queue)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [
                step("0004_before", "CREATE TABLE kept (id)"),
                step("0005_endless", Self.endless),
            ]
        )
        let cancellation = Cancellation()
        let events = Recorder<MigrationEvent>()
        #expect(throws: CancellationError.self) {
            try runner.migrate(
                in: writer,
                options: .init(
                    cancellation: cancellation,
                    observer: { event in
                        events.append(event)
                        if case .stepContinues = event {
                            Thread.detachNewThread { cancellation.cancel() }
                        }
                    }
                )
            )
        }
        #expect(cancellation.isCancelled)
        #expect(try writer.tables().contains("kept"))
        #expect(try runner.pendingMigrationIdentifiers(in: writer) == ["0005_endless"])
        #expect(
            events.values.last == .stepFailed(identifier: "0005_endless", direction: .forward)
        )
    }

    // MARK: - Short Statements

    /// A step of many statements, each far too short for SQLite's progress handler, which asks for
    /// its own end early on.
    private func shortStatements(
        _ cancellation: Cancellation,
        _ executed: Recorder<Int>,
        usesTransaction: Bool
    ) -> MigrationStep<Database> {
        MigrationStep(
            identifier: "0004_short",
            sourceFile: "",
            usesTransaction: usesTransaction,
            apply: { try Self.insertRows(in: $0, cancellation, executed) },
            rollback: { try Self.insertRows(in: $0, cancellation, executed) }
        )
    }

    private static func insertRows(
        in db: Database,
        _ cancellation: Cancellation,
        _ executed: Recorder<Int>
    ) throws {
        for number in 1...5_000 {
            try db.execute(sql: "INSERT INTO item (name) VALUES ('\(number)')")
            if number == 100 { cancellation.cancel() }
            executed.append(number)
        }
    }

    @Test(arguments: [true, false], [MigrationTransaction.perStep, .allOrNothing])
    func shortStatementsAreInterruptedAsWell(
        usesTransaction: Bool,
        _ transaction: MigrationTransaction
    ) throws {
        guard usesTransaction || transaction == .perStep else { return }
        let writer = try prepared(.queue)
        let before = try Everything(of: writer)
        let cancellation = Cancellation()
        let executed = Recorder<Int>()
        let step = shortStatements(cancellation, executed, usesTransaction: usesTransaction)
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [step])
        let options = MigrationOptions(transaction: transaction, cancellation: cancellation)
        #expect(throws: CancellationError.self) {
            try runner.migrate(in: writer, options: options)
        }
        #expect(executed.values.count < 150)
        if usesTransaction { #expect(try Everything(of: writer) == before) }
        // Nothing is interrupted any more.
        try writer.write { db in
            for _ in 0..<100 { try db.execute(sql: "INSERT INTO item (name) VALUES ('x')") }
        }
    }

    @Test func shortStatementsOfARollbackAreInterruptedAsWell() throws {
        let writer = try prepared(.queue)
        let cancellation = Cancellation()
        let executed = Recorder<Int>()
        let step = shortStatements(cancellation, executed, usesTransaction: true)
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [step])
        try runner.baselineAlready(step, in: writer)
        #expect(throws: CancellationError.self) {
            try runner.rollbackLastMigration(in: writer, options: .init(cancellation: cancellation))
        }
        #expect(executed.values.count < 150)
        #expect(try runner.pendingMigrationIdentifiers(in: writer).isEmpty)
    }

    @Test func aStepThatGoesOnAfterItsErrorsIsEndedAllTheSame() throws {
        let writer = try prepared(.queue)
        let before = try Everything(of: writer)
        let cancellation = Cancellation()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [
                MigrationStep(identifier: "0004_stubborn", sourceFile: "") { db in
                    cancellation.cancel()
                    for number in 1...1000 {
                        try? db.execute(sql: "INSERT INTO item (name) VALUES ('\(number)')")
                    }
                }
            ]
        )
        #expect(throws: CancellationError.self) {
            try runner.migrate(in: writer, options: .init(cancellation: cancellation))
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func shortStatementsGiveSignsOfLife() throws {
        let writer = try prepared(.queue)
        let signs = Recorder<MigrationEvent>()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [
                MigrationStep(identifier: "0004_short", sourceFile: "") { db in
                    let start = ContinuousClock.now
                    while signs.values.isEmpty, .now - start < .seconds(20) {
                        try db.execute(sql: "INSERT INTO item (name) VALUES ('a')")
                    }
                }
            ]
        )
        try runner.migrate(
            in: writer,
            options: .init(observer: { event in
                if case .stepContinues = event { signs.append(event) }
            })
        )
        #expect(!signs.values.isEmpty)
    }

    @Test func runThatWaitsForAnotherProcessIsEnded() async throws {
        let writer = try prepared(.queue)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004", "CREATE TABLE a (id)")]
        )
        let holder = try store.holdMigrationLock()
        let (waiting, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await runner.asyncMigrate(
                in: writer,
                options: .init(
                    lockTimeout: 3600,
                    observer: { event in
                        if case .waiting = event { continuation.yield() }
                    }
                )
            )
        }
        for await _ in waiting { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try runner.pendingMigrationIdentifiers(in: writer) == ["0004"])
        #expect(try holder.finish().status == 0)
    }

    @Test func runThatWasCancelledBeforehandAppliesNothing() throws {
        let writer = try store.open()
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(throws: CancellationError.self) {
            try GRDBMigrationRunner(steps: itemSteps())
                .migrate(in: writer, options: .init(cancellation: cancellation))
        }
        #expect(try writer.tables().isEmpty)
    }

    // MARK: - The Asynchronous Forms

    @Test func theyDoWhatTheBlockingOnesDo() async throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        #expect(try await runner.asyncMigrate(in: writer, upTo: "0001_items").steps.count == 1)
        #expect(try await asyncRun { try runner.dryRun(in: writer) }.steps.count == 2)
        #expect(try await runner.asyncMigrate(in: writer, steps: 1).steps.count == 1)
        let undone = try await asyncRun {
            try runner.rollbackMigrations(in: writer, downTo: "0001_items")
        }
        #expect(undone.steps.count == 1)
        #expect(try await runner.asyncMigrate(in: writer).steps.count == 2)
        #expect(try await asyncRun { try runner.hasCompletedMigrations(in: writer) })
        await #expect(throws: MigrationKitError.unknownMigrationTarget("x")) {
            try await runner.asyncMigrate(in: writer, upTo: "x")
        }
    }

    @Test func nothingIsBegunForATaskThatIsCancelled() async throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await asyncRun { try runner.hasPendingMigrations(in: writer) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [true, false])
    func aCallWithItsOwnCancellationIsEndedByEither(_ cancelsTask: Bool) async throws {
        let writer = try prepared(.queue)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004_endless", Self.endless)]
        )
        let (signs, continuation) = AsyncStream.makeStream(of: Void.self)
        let cancellation = Cancellation()
        let options = MigrationOptions(
            cancellation: cancellation,
            observer: { event in
                if case .stepContinues = event { continuation.yield() }
            }
        )
        let task = Task { try await asyncRun { try runner.migrate(in: writer, options: options) } }
        for await _ in signs { break }
        if cancelsTask { task.cancel() } else { cancellation.cancel() }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(cancellation.isCancelled != cancelsTask)
    }

    /// A call that takes no options is ended, and what it makes its own options for.
    @Test func aCallWithoutOptionsIsEnded() async throws {
        let writer = try store.open()
        let runs = Recorder<Void>()
        let (signs, continuation) = AsyncStream.makeStream(of: Void.self)
        let endless = MigrationStep<Database>(identifier: "0001", sourceFile: "") { db in
            runs.append(())
            try db.execute(sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)")
            guard runs.values.count > 1 else { return }
            continuation.yield()
            try db.execute(sql: Self.endless)
        }
        let runner = try GRDBMigrationRunner(steps: [endless])
        try runner.migrate(in: writer)
        // It runs the steps again.
        let task = Task { try await asyncRun { try runner.hasSchemaChanges(in: writer) } }
        for await _ in signs { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

extension GRDBMigrationRunner {
    /// Records a step as applied that never ran.
    fileprivate func baselineAlready(
        _ step: MigrationStep<Database>,
        in writer: any DatabaseWriter
    ) throws {
        try writer.write { db in
            try db.execute(
                sql: "INSERT INTO grdb_migrations VALUES (?)",
                arguments: [step.identifier]
            )
        }
    }
}
