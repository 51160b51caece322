import GRDB
import MigrationKit
import MigrationKitSchema
import Synchronization
import TestSupport
import Testing

/// The record with which steps needn't run again to compare a schema.
@Suite struct SchemaRecordTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue
    private let runs = Runs()

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    /// How often steps ran.
    private final class Runs: Sendable {
        let count = Mutex(0)
    }

    private func step(
        _ identifier: String,
        checksum: String? = "a",
        usesTransaction: Bool = true,
        _ more: @escaping @Sendable () throws -> Void = {}
    ) -> GRDBMigrationRunner.Step {
        MigrationStep(
            identifier: identifier,
            usesTransaction: usesTransaction,
            checksum: checksum
        ) { [runs] db in
            runs.count.withLock { $0 += 1 }
            try db.execute(sql: "CREATE TABLE t\(identifier) (id INTEGER PRIMARY KEY)")
            try more()
        } rollback: { db in
            try db.execute(sql: "DROP TABLE t\(identifier)")
        }
    }

    /// Whether the schema is the same, and how many steps ran to find out.
    private func comparison(
        _ runner: GRDBMigrationRunner
    ) throws -> (isSame: Bool, runs: Int) {
        runs.count.withLock { $0 = 0 }
        let isSame = try runner.drift(in: writer).isSame
        return (isSame, runs.count.withLock { $0 })
    }

    private func execute(_ sql: String) throws {
        try writer.writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func stepsDoNotRunAgainAfterRunsThatAloneMadeTheSchema(
        _ transaction: MigrationTransaction
    ) throws {
        let options = MigrationOptions(transaction: transaction)
        let runner = try GRDBMigrationRunner(steps: ["1", "2", "3"].map { step($0) })
        try runner.migrate(in: writer, upTo: "2", options: options)
        #expect(try comparison(runner) == (true, 0))
        try runner.migrate(in: writer, options: options)
        #expect(try comparison(runner) == (true, 0))
        try runner.rollbackMigrations(in: writer, steps: 2, options: options)
        #expect(try comparison(runner) == (true, 0))
        try runner.migrate(in: writer, options: options)
        #expect(try comparison(runner) == (true, 0))
    }

    @Test func aChangeOfTheSchemaIsFoundBeforeAndAfterTheNextRun() throws {
        let first = try GRDBMigrationRunner(steps: [step("1")])
        try first.migrate(in: writer)
        try execute("CREATE TABLE own (id)")
        #expect(try comparison(first) == (false, 1))

        let second = try GRDBMigrationRunner(steps: [step("1"), step("2")])
        try second.migrate(in: writer)
        #expect(try comparison(second) == (false, 2))
        try execute("DROP TABLE own")
        #expect(try comparison(second) == (true, 2))
    }

    @Test func aTableThatWasThereBeforeTheFirstRunIsFound() throws {
        try execute("CREATE TABLE own (id)")
        let runner = try GRDBMigrationRunner(steps: [step("1")])
        try runner.migrate(in: writer)
        #expect(try comparison(runner) == (false, 1))
    }

    @Test func whatAnotherConnectionDoesDuringARunIsFound() throws {
        let other = try store.open()
        let meanwhile = { @Sendable in
            try other.writeWithoutTransaction {
                try $0.execute(sql: "CREATE TABLE IF NOT EXISTS own (id)")
            }
        }
        let runner = try GRDBMigrationRunner(steps: [
            step("1"), step("2", usesTransaction: false, meanwhile), step("3"),
        ])
        try runner.migrate(in: writer)
        #expect(try comparison(runner) == (false, 3))
    }

    @Test func stepsRunAgainIfTheyMayHaveBeenChanged() throws {
        let runner = try GRDBMigrationRunner(steps: [step("1"), step("2", checksum: nil)])
        try runner.migrate(in: writer)
        #expect(try comparison(runner) == (true, 2))

        let changed = try GRDBMigrationRunner(steps: [step("1", checksum: "b"), step("2")])
        #expect(try comparison(changed) == (true, 2))
    }

    @Test func stepsRunAgainIfTheProgramMakesItsOwnTables() throws {
        let runner = try GRDBMigrationRunner(
            steps: [step("1")],
            integration: MigrationHostIntegration(bootstrapSchema: { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS base (id)")
                return true
            })
        )
        try runner.migrate(in: writer)
        #expect(try comparison(runner) == (true, 1))
    }
}
