import Foundation
import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// A store goes from GRDB's own migrator to the runner and back.
@Suite struct LedgerInteroperabilityTests {
    let queue: DatabaseQueue
    let steps = itemSteps()

    init() throws {
        queue = try DatabaseQueue()
    }

    private func migrator(_ steps: [MigrationStep<Database>]) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for step in steps {
            migrator.registerMigration(step.identifier, migrate: step.apply)
        }
        return migrator
    }

    @Test func continuesWhatGRDBMigratorBegan() throws {
        try migrator(Array(steps.prefix(2))).migrate(queue)
        let report = try GRDBMigrationRunner(steps: steps).migrate(in: queue)
        #expect(report.steps.map(\.identifier) == ["0003_tag_index"])
    }

    @Test func leavesNothingToDoForGRDBMigrator() throws {
        try GRDBMigrationRunner(steps: steps).migrate(in: queue)
        let migrator = migrator(steps)
        try queue.read { (db: Database) throws in
            #expect(try migrator.hasCompletedMigrations(db))
            #expect(try !migrator.hasBeenSuperseded(db))
            #expect(try !migrator.hasSchemaChanges(db))
        }
        let before = try Contents(of: queue)
        try migrator.migrate(queue)
        #expect(try Contents(of: queue) == before)
    }

    @Test func rollsBackWhatGRDBMigratorApplied() throws {
        try migrator(steps).migrate(queue)
        try GRDBMigrationRunner(steps: steps).rollbackLastMigration(in: queue)
        #expect(
            try queue.read(migrator(steps).completedMigrations) == ["0001_items", "0002_tags"]
        )
    }

    @Test func runnersAtOneMomentApplyEveryStepOnce() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("store.db")

        let steps =
            [step("0000", "CREATE TABLE counter (step)")]
            + (1..<40).map { number in
                let identifier = String(format: "%04d", number)
                return step(identifier, "INSERT INTO counter VALUES (\(number))")
            }
        let runner = try GRDBMigrationRunner(steps: steps)
        // Each has a connection of its own, as another process would.
        let reports = try await withThrowingTaskGroup(of: MigrationReport.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var configuration = Configuration()
                    configuration.busyMode = .timeout(60)
                    let queue = try DatabaseQueue(path: path, configuration: configuration)
                    defer { try? queue.close() }
                    return try runner.migrate(in: queue)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let applied = reports.flatMap { $0.steps.map(\.identifier) }
        #expect(applied.sorted() == runner.migrationIdentifiers)
        #expect(reports.allSatisfy { $0.pending.isEmpty })
        let queue = try DatabaseQueue(path: path)
        #expect(
            try await queue.read {
                try Int.fetchAll($0, sql: "SELECT step FROM counter ORDER BY rowid")
            } == Array(1..<40)
        )
    }
}
