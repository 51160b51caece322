import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// What the asynchronous forms answer is what the blocking ones do.
@Suite struct AsynchronousFormTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue
    private let runner: GRDBMigrationRunner

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
        runner = try GRDBMigrationRunner(steps: itemSteps())
    }

    @Test func queriesAnswerTheSame() async throws {
        try runner.migrate(in: writer, steps: 1)
        #expect(
            try await runner.asyncMigrationStatus(in: writer) == runner.migrationStatus(in: writer)
        )
        let pending = try await runner.asyncPendingMigrationIdentifiers(in: writer)
        #expect(try pending == runner.pendingMigrationIdentifiers(in: writer))
        #expect(try await runner.asyncHasPendingMigrations(in: writer))
        #expect(try await !runner.asyncHasCompletedMigrations(in: writer))
        #expect(try await !runner.asyncHasBeenSuperseded(in: writer))
        #expect(try await !runner.asyncHasSchemaChanges(in: writer))
        let applied = try await runner.asyncAppliedMigrationIdentifiers(in: writer)
        #expect(applied.count == 1)
        #expect(try await runner.asyncCompletedMigrationIdentifiers(in: writer) == Array(applied))
        #expect(try await runner.asyncMigrationRecords(in: writer).keys.sorted() == Array(applied))
        #expect(try await runner.asyncChangedMigrationIdentifiers(in: writer) == [])
        #expect(try await runner.asyncMissingMigrationIdentifiers(in: writer) == [])
        #expect(try await runner.asyncOverview(of: writer) == runner.overview(of: writer))
        let history = try await GRDBMigrationRunner.asyncHistory(in: writer)
        #expect(try history == GRDBMigrationRunner.history(in: writer))
        #expect(try await runner.asyncPlannedSteps(in: writer).map(\.identifier) == pending)
    }

    @Test func whatChangesTheDatabaseDoesTheSame() async throws {
        let all = runner.migrationIdentifiers
        let chosen = [all[0]]
        // The tables are there, and the ledger isn't.
        try runner.steps[0].apply(writer)
        let recorded = try await runner.asyncBaseline(in: writer) { _ in chosen }
        #expect(recorded == chosen)
        try await runner.asyncMigrate(in: writer)
        let (undone, redone) = try await runner.asyncRedoMigrations(in: writer)
        #expect(undone.steps.map(\.identifier) == [all[all.count - 1]])
        #expect(redone.steps.map(\.identifier) == [all[all.count - 1]])
        #expect(try await runner.asyncRepairMigrations(all, in: writer) == [])
        try await runner.asyncRunPostMigrationChecks(in: writer)
        try await GRDBMigrationVerifier.asyncRunPostMigrationChecks(in: writer)

        let copy = store.folder.path("copy.db")
        try await MigrationBackup.asyncCopy(writer, to: copy)
        #expect(FileManager.default.fileExists(atPath: copy))
        let runner = runner
        let provider = GRDBSchemaSnapshotProvider(migrate: { try runner.migrate(in: $0) })
        let snapshot = try await provider.asyncGenerateCanonicalSnapshot()
        #expect(try snapshot == provider.generateCanonicalSnapshot())
    }

    @Test func nothingIsBegunForATaskThatIsCancelled() async throws {
        let task = Task { [runner, writer] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await runner.asyncHasPendingMigrations(in: writer)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

extension MigrationStep<Database> {
    fileprivate func apply(_ writer: DatabaseQueue) throws {
        try writer.write { try apply($0) }
    }
}
