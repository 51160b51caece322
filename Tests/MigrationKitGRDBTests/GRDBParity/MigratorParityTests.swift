import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

// What GRDB's own tests of its migrator cover, and where it is covered here. Each test runs on an
// encrypted file. Where the runner behaves otherwise on purpose, "(!)" says so.
//
// | GRDB's case                                                   | the runner's |
// | ------------------------------------------------------------- | ------------ |
// | MigrateAnyDatabaseWriter                                      | migratesAnyDatabaseWriter |
// | EmptyMigratorSync                                             | noStepsChangeNothing |
// | EmptyMigratorAsync                                            | noStepsChangeNothingAsynchronously |
// | EmptyMigratorPublisher                                        | the same (!): an async function is the runner's form of a publisher |
// | NonEmptyMigratorSync                                          | newStepsAreAppliedToAMigratedStore |
// | NonEmptyMigratorAsync                                         | newStepsAreAppliedAsynchronously |
// | NonEmptyMigratorPublisher                                     | the same (!) |
// | EmptyMigratorPublisherIsAsynchronous                          | asynchronousFormDoesNotHoldTheCaller |
// | NonEmptyMigratorPublisherIsAsynchronous                       | the same |
// | MigratorPublisherDefaultScheduler                             | asynchronousFormComesBackToItsCaller (!): to the caller, not to the main queue |
// | MigratorPublisherCustomScheduler                              | the same |
// | MigrateUpTo                                                   | migratesUpToATarget; (!) the two traps are errors |
// | MigrationFailureTriggersRollback                              | failingStepIsUndoneAndTheOnesBeforeStay |
// | ForeignKeyViolation                                           | ForeignKeyParityTests.rebuildKeepsChildrenAndALaterOrphanIsUndone |
// | AppliedMigrations                                             | appliedStepsAreTold |
// | CompletedMigrations                                           | completedStepsAreTold |
// | Superseded                                                    | storeOfThisProgramIsNotSuperseded |
// | MergedMigrators                                               | stepBetweenAppliedOnesIsAppliedWhereAllowed; (!) an error unless allowed |
// | EraseDatabaseOnSchemaChangeDoesNotDeadLockOnTargetQueue       | SchemaChangeParityTests.targetQueueIsNoDeadlock |
// | EraseDatabaseOnSchemaChangeDoesNotDeadLockOnWriteTargetQueue  | the same |
// | HasSchemaChangesWorksWithReadonlyConfig                       | SchemaChangeParityTests.schemaChangesAreFoundOnAReadOnlyConnection |
// | EraseDatabaseOnSchemaChange                                   | SchemaChangeParityTests.changedStepErasesTheStoreWhenAsked (!): by a call of its own |
// | ManualEraseDatabaseOnSchemaChange                             | SchemaChangeParityTests.storeCanBeErasedByHand |
// | EraseDatabaseOnSchemaChangeWithConfiguration                  | SchemaChangeParityTests.stepsFindTheFunctionsOfTheConfiguration |
// | EraseDatabaseOnSchemaChangeDoesNotEraseDatabaseOnAddedMigration | SchemaChangeParityTests.addedStepErasesNothing |
// | EraseDatabaseOnSchemaChangeIgnoresInternalSchemaObjects       | SchemaChangeParityTests.statisticsEraseNothing |
// | EraseDatabaseOnSchemaChangeWithRenamedMigration               | SchemaChangeParityTests.renamedStepErases |
// | Migrations                                                    | registeredStepsAreTold |
// | MigrationForeignKeyChecks                                     | ForeignKeyParityTests.deferredChecksSeeTheEnd, .immediateChecksSeeEveryStatement |
// | DisablingDeferredForeignKeyChecks                             | ForeignKeyParityTests.checksThatAreOffLeaveItToTheVerification (!) |
// | disablingDeferredForeignKeyChecks_applies_to_newly_registered_migrations_only | ForeignKeyParityTests.checksAreOffForOneStepOnly |
// | schemaSource_is_disabled_during_migrations                    | schemaSourceIsOffInSteps |
// | schemaSource_can_be_restored_during_migrations                | schemaSourceCanBeTurnedOnInAStep |
// | merged_migrations_named_like_the_last                         | MergingParityTests.mergedStepNamedLikeTheLast |
// | merged_migrations_named_like_the_last_that_includes_itself_in_the_list_of_merged_migrations | MergingParityTests.mergedStepThatNamesItself |
// | merged_migrations_with_a_new_name                             | MergingParityTests.mergedStepWithANewName |

/// Running, telling, stopping.
@Suite struct MigratorParityTests {
    let store: EncryptedStore
    let people = [
        step("0001_persons", "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)"),
        step(
            "0002_pets",
            """
            CREATE TABLE pet (
                id INTEGER PRIMARY KEY,
                ownerId INTEGER NOT NULL REFERENCES person (id) ON DELETE CASCADE,
                name TEXT
            )
            """
        ),
    ]
    let withoutPets = step("0003_no_pets", "DROP TABLE pet")

    init() throws {
        store = try EncryptedStore()
    }

    /// Steps that do nothing, but after which GRDB's answer about newer programs is the runner's, too.
    private func empty(_ identifiers: String...) -> [MigrationStep<Database>] {
        identifiers.map {
            MigrationStep(identifier: $0, older: .fail(reasons: ["it says so"]), apply: { _ in })
        }
    }

    // MARK: - Running

    @Test(arguments: WriterKind.allCases)
    func migratesAnyDatabaseWriter(_ kind: WriterKind) throws {
        let writer: any DatabaseWriter = try kind.open(store)
        let report = try GRDBMigrationRunner(steps: people).migrate(in: writer)
        #expect(report.steps.count == 2)
        #expect(try store.isEncrypted)
    }

    @Test(arguments: WriterKind.allCases)
    func noStepsChangeNothing(_ kind: WriterKind) throws {
        let writer = try kind.open(store)
        #expect(try GRDBMigrationRunner(steps: []).migrate(in: writer).steps.isEmpty)
        #expect(try Everything(of: writer).schema.isEmpty)
    }

    @Test(arguments: WriterKind.allCases)
    func noStepsChangeNothingAsynchronously(_ kind: WriterKind) async throws {
        let writer = try kind.open(store)
        #expect(try await GRDBMigrationRunner(steps: []).asyncMigrate(in: writer).steps.isEmpty)
        try await writer.write { try $0.execute(sql: "CREATE TABLE t (a)") }
        #expect(try writer.tables() == ["t"])
    }

    @Test(arguments: WriterKind.allCases)
    func newStepsAreAppliedToAMigratedStore(_ kind: WriterKind) throws {
        let writer = try kind.open(store)
        try GRDBMigrationRunner(steps: people).migrate(in: writer)
        #expect(try writer.tables() == ["person", "pet"])
        let report = try GRDBMigrationRunner(steps: people + [withoutPets]).migrate(in: writer)
        #expect(report.steps.map(\.identifier) == ["0003_no_pets"])
        #expect(try writer.tables() == ["person"])
    }

    @Test(arguments: WriterKind.allCases)
    func newStepsAreAppliedAsynchronously(_ kind: WriterKind) async throws {
        let writer = try kind.open(store)
        try await GRDBMigrationRunner(steps: people).asyncMigrate(in: writer)
        #expect(try writer.tables() == ["person", "pet"])
        try await GRDBMigrationRunner(steps: people + [withoutPets]).asyncMigrate(in: writer)
        #expect(try writer.tables() == ["person"])
    }

    @Test(arguments: [true, false])
    func asynchronousFormDoesNotHoldTheCaller(_ isEmpty: Bool) async throws {
        let writer = try store.open()
        let goOn = DispatchSemaphore(value: 0)
        let began = AsyncStream.makeStream(of: Void.self)
        let waiting = GRDBMigrationRunner.Integration(bootstrapSchema: { _ in
            began.continuation.yield()
            goOn.wait()
            return false
        })
        let runner = try GRDBMigrationRunner(steps: isEmpty ? [] : people, integration: waiting)
        async let report = runner.asyncMigrate(in: writer)
        // This line is reached, and only then may the run go on.
        for await _ in began.stream { break }
        goOn.signal()
        #expect(try await report.steps.count == (isEmpty ? 0 : 2))
    }

    @MainActor @Test func asynchronousFormComesBackToItsCaller() async throws {
        actor Host {
            func migrate(_ writer: any DatabaseWriter, _ runner: GRDBMigrationRunner) async throws {
                try await runner.asyncMigrate(in: writer)
                assertIsolated()
            }
        }
        let writer = try store.open()
        try await GRDBMigrationRunner(steps: people).asyncMigrate(in: writer)
        MainActor.assertIsolated()
        try await Host().migrate(writer, GRDBMigrationRunner(steps: people + [withoutPets]))
        #expect(try writer.tables() == ["person"])
    }

    @Test(arguments: WriterKind.allCases)
    func migratesUpToATarget(_ kind: WriterKind) throws {
        let writer = try kind.open(store)
        let runner = try GRDBMigrationRunner(
            steps: ["a", "b", "c"].map { step($0, "CREATE TABLE \($0) (id INTEGER PRIMARY KEY)") }
        )
        try runner.migrate(in: writer, upTo: "a")
        #expect(try writer.tables() == ["a"])
        #expect(try runner.migrate(in: writer, upTo: "a").steps.isEmpty)
        try runner.migrate(in: writer, upTo: "c")
        #expect(try writer.tables() == ["a", "b", "c"])
        #expect(try runner.migrate(in: writer, upTo: "c").steps.isEmpty)
        #expect(try runner.migrate(in: writer).steps.isEmpty)

        let before = try Everything(of: writer)
        #expect(throws: MigrationKitError.unknownMigrationTarget("missing")) {
            try runner.migrate(in: writer, upTo: "missing")
        }
        #expect(
            throws: MigrationKitError.targetBehindDatabase(target: "b", latestApplied: "c")
        ) {
            try runner.migrate(in: writer, upTo: "b")
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func failingStepIsUndoneAndTheOnesBeforeStay() async throws {
        let steps = [
            people[0], people[1],
            step("0003_arthur", "INSERT INTO person (name) VALUES ('Arthur')"),
            step(
                "0004_orphan",
                """
                INSERT INTO person (name) VALUES ('Barbara');
                INSERT INTO pet (ownerId, name) VALUES (123, 'Bobby');
                """
            ),
            step("0005_never", "CREATE TABLE never (id)"),
        ]
        let runner = try GRDBMigrationRunner(steps: steps)
        let writer = try store.open()
        let blocking = #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
        #expect(blocking?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
        let asynchronous = await #expect(throws: DatabaseError.self) {
            try await runner.asyncMigrate(in: writer)
        }
        #expect(asynchronous?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
        #expect(try writer.strings("SELECT name FROM person") == ["Arthur"])
        #expect(
            try Everything(of: writer).ledger == ["0001_persons", "0002_pets", "0003_arthur"]
        )
    }

    // MARK: - Telling

    @Test func registeredStepsAreTold() throws {
        #expect(try GRDBMigrationRunner(steps: []).migrationIdentifiers.isEmpty)
        #expect(try GRDBMigrationRunner(steps: empty("foo")).migrationIdentifiers == ["foo"])
        let unordered = try GRDBMigrationRunner(
            steps: empty("foo", "bar"),
            enforceLexicographicOrder: false
        )
        #expect(unordered.migrationIdentifiers == ["foo", "bar"])
    }

    @Test func appliedStepsAreTold() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: empty("1", "2"))
        #expect(
            try GRDBMigrationRunner(steps: []).appliedMigrationIdentifiers(in: writer).isEmpty
        )
        #expect(try runner.appliedMigrationIdentifiers(in: writer).isEmpty)
        try runner.migrate(in: writer, upTo: "1")
        #expect(try runner.appliedMigrationIdentifiers(in: writer) == ["1"])
        try runner.migrate(in: writer, upTo: "2")
        #expect(try runner.appliedMigrationIdentifiers(in: writer) == ["1", "2"])
    }

    @Test func completedStepsAreTold() throws {
        let writer = try store.open()
        let none = try GRDBMigrationRunner(steps: [])
        #expect(try none.completedMigrationIdentifiers(in: writer).isEmpty)
        #expect(try none.hasCompletedMigrations(in: writer))

        let runner = try GRDBMigrationRunner(steps: empty("1", "2"))
        #expect(try runner.completedMigrationIdentifiers(in: writer).isEmpty)
        #expect(try !runner.hasCompletedMigrations(in: writer))
        try runner.migrate(in: writer, upTo: "1")
        #expect(try runner.completedMigrationIdentifiers(in: writer) == ["1"])
        #expect(try !runner.hasCompletedMigrations(in: writer))
        try runner.migrate(in: writer, upTo: "2")
        #expect(try runner.completedMigrationIdentifiers(in: writer) == ["1", "2"])
        #expect(try runner.hasCompletedMigrations(in: writer))
    }

    @Test func storeOfThisProgramIsNotSuperseded() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: empty("1", "2"))
        #expect(try !GRDBMigrationRunner(steps: []).hasBeenSuperseded(in: writer))
        #expect(try !runner.hasBeenSuperseded(in: writer))
        for target in ["1", "2"] {
            try runner.migrate(in: writer, upTo: target)
            #expect(try !runner.hasBeenSuperseded(in: writer))
        }
        #expect(try GRDBMigrationRunner(steps: empty("1")).hasBeenSuperseded(in: writer))
    }

    @Test func stepBetweenAppliedOnesIsAppliedWhereAllowed() throws {
        let writer = try store.open()
        let first = try GRDBMigrationRunner(steps: empty("1", "3"))
        try first.migrate(in: writer)
        #expect(try first.completedMigrationIdentifiers(in: writer) == ["1", "3"])

        // Two branches of development meet: "2" comes in between.
        let strict = try GRDBMigrationRunner(steps: empty("1", "2", "3"))
        #expect(
            throws: MigrationKitError.pendingBeforeApplied(pending: ["2"], latestApplied: "3")
        ) {
            try strict.migrate(in: writer)
        }
        let second = try GRDBMigrationRunner(steps: empty("1", "2", "3"), allowsOutOfOrder: true)
        #expect(try second.completedMigrationIdentifiers(in: writer) == ["1"])
        #expect(try !second.hasCompletedMigrations(in: writer))
        #expect(try !second.hasBeenSuperseded(in: writer))
        #expect(try second.migrate(in: writer).steps.map(\.identifier) == ["2"])
        #expect(try second.completedMigrationIdentifiers(in: writer) == ["1", "2", "3"])
        #expect(try first.completedMigrationIdentifiers(in: writer) == ["1", "3"])
        #expect(try first.hasCompletedMigrations(in: writer))
        #expect(try first.hasBeenSuperseded(in: writer))

        // And one behind the last.
        let third = try GRDBMigrationRunner(steps: empty("1", "2", "3", "4"))
        #expect(try !third.hasCompletedMigrations(in: writer))
        #expect(try third.migrate(in: writer).steps.map(\.identifier) == ["4"])
        #expect(try third.hasCompletedMigrations(in: writer))
        #expect(try second.hasBeenSuperseded(in: writer))
        #expect(
            try first.appliedMigrationIdentifiers(in: writer) == ["1", "2", "3", "4"]
        )
    }

    // MARK: - The Source of Schemas

    private struct Source: DatabaseSchemaSource {
        func columnsForPrimaryKey(
            _ db: Database,
            inView view: DatabaseObjectID
        ) throws -> [String]? { ["id"] }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func schemaSourceIsOffInSteps(_ transaction: MigrationTransaction) throws {
        let writer = try store.open { $0.schemaSource = Source() }
        func looking(_ identifier: String, _ sql: String) -> MigrationStep<Database> {
            MigrationStep(identifier: identifier, sourceFile: "") { db in
                try db.execute(sql: sql)
                #expect(db.schemaSource == nil)
                #expect(throws: (any Error).self) { try db.primaryKey("v") }
            }
        }
        let first = looking("A", "CREATE VIEW v AS SELECT 1 AS id")
        let options = MigrationOptions(transaction: transaction)
        try GRDBMigrationRunner(steps: [first]).migrate(in: writer, options: options)
        try writer.inDatabase { db in
            #expect(db.schemaSource != nil)
            _ = try db.primaryKey("v")
        }
        try GRDBMigrationRunner(steps: [first, looking("B", "")])
            .migrate(in: writer, options: options)
    }

    @Test func schemaSourceCanBeTurnedOnInAStep() throws {
        let writer = try store.open { $0.schemaSource = Source() }
        let step = MigrationStep<Database>(identifier: "A", sourceFile: "") { db in
            try db.execute(sql: "CREATE VIEW v AS SELECT 1 AS id")
            try db.withSchemaSource(Source()) { _ = try db.primaryKey("v") }
        }
        #expect(try GRDBMigrationRunner(steps: [step]).migrate(in: writer).steps.count == 1)
    }
}
