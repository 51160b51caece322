import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// What a run that fails leaves: what each mode promises, on encrypted files.
@Suite struct UndoTests {
    /// What goes wrong in, or behind, the last step of a run.
    enum Fault: CaseIterable {
        case stepThrows, stepIsRefused, stepCommits, orphan, requiredIndex, verifyIntegrity
        case verifyBeforeCommit
    }

    private static let options = [MigrationTransaction.perStep, .allOrNothing]

    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    /// The steps up to the last one, with rows that the steps move.
    private static func soundSteps() -> [MigrationStep<Database>] {
        [
            itemSteps()[0],
            step("0001_rows", "INSERT INTO item VALUES (1, 'a'), (2, 'b')", down: ""),
            itemSteps()[1],
            step("0002_tags_rows", "INSERT INTO tag (itemId) VALUES (1), (2)", down: ""),
            itemSteps()[2],
        ]
    }

    private static func runner(_ fault: Fault) throws -> GRDBMigrationRunner {
        let change = """
            CREATE TABLE extra (id);
            INSERT INTO extra VALUES (1);
            UPDATE item SET name = 'changed';
            DELETE FROM tag WHERE itemId = 2;
            """
        let last = MigrationStep<Database>(identifier: "0004_last", sourceFile: "") { db in
            try db.execute(sql: change)
            switch fault {
            case .stepThrows: throw PlannedFailure()
            case .stepIsRefused: try db.execute(sql: "INSERT INTO nowhere VALUES (1)")
            case .stepCommits: try db.execute(sql: "COMMIT")
            case .orphan: try db.execute(sql: "INSERT INTO tag (itemId) VALUES (99)")
            case .requiredIndex: try db.execute(sql: "DROP INDEX tag_itemId")
            case .verifyIntegrity, .verifyBeforeCommit: break
            }
        }
        let invariant: @Sendable (Database) throws -> Void = { db in
            guard try !db.tableExists("extra") else { throw PlannedFailure() }
        }
        return try GRDBMigrationRunner(
            steps: soundSteps() + [last],
            integration: .init(
                verifyIntegrity: fault == .verifyIntegrity ? invariant : nil,
                verifyBeforeCommit: fault == .verifyBeforeCommit ? invariant : nil
            ),
            requiredIndexes: [RequiredIndexSpec(table: "tag", index: "tag_itemId")]
        )
    }

    private func expectFailure(_ fault: Fault, _ run: () throws -> Void) {
        switch fault {
        case .stepThrows, .verifyIntegrity, .verifyBeforeCommit:
            #expect(throws: PlannedFailure(), performing: run)
        case .stepIsRefused:
            #expect(throws: DatabaseError.self, performing: run)
        case .stepCommits:
            let error = MigrationKitError.stepEndedTransaction("0004_last")
            #expect(throws: error, performing: run)
        case .orphan:
            #expect(throws: (any Error).self, performing: run)
        case .requiredIndex:
            let error = GRDBMigrationVerificationError.missingIndex(
                table: "tag",
                index: "tag_itemId"
            )
            #expect(throws: error, performing: run)
        }
    }

    private func expectUsable(_ writer: any DatabaseWriter) throws {
        #expect(try writer.number("PRAGMA foreign_keys") == 1)
        try writer.write { try $0.execute(sql: "CREATE TABLE usable (id); DROP TABLE usable") }
    }

    @Test(arguments: Fault.allCases, WriterKind.allCases)
    func allOrNothingLeavesSchemaRowsAndLedgerAsBeforeTheRun(
        _ fault: Fault,
        _ kind: WriterKind
    ) throws {
        let writer = try kind.open(store)
        let runner = try Self.runner(fault)
        try GRDBMigrationRunner(steps: Array(Self.soundSteps().prefix(2))).migrate(in: writer)
        let before = try Everything(of: writer)
        expectFailure(fault) {
            try runner.migrate(in: writer, options: .init(transaction: .allOrNothing))
        }
        #expect(try Everything(of: writer) == before)
        try expectUsable(writer)
    }

    @Test(arguments: Fault.allCases, WriterKind.allCases)
    func allOrNothingLeavesANewStoreEmpty(_ fault: Fault, _ kind: WriterKind) throws {
        let writer = try kind.open(store)
        expectFailure(fault) {
            try Self.runner(fault).migrate(in: writer, options: .init(transaction: .allOrNothing))
        }
        #expect(try Everything(of: writer).schema.isEmpty)
    }

    @Test(arguments: Fault.allCases, WriterKind.allCases)
    func stepByStepLeavesSchemaRowsAndLedgerAsBeforeTheLastStep(
        _ fault: Fault,
        _ kind: WriterKind
    ) throws {
        let reference = try EncryptedStore()
        let sound = try reference.open()
        try GRDBMigrationRunner(steps: Self.soundSteps()).migrate(in: sound)
        let before = try Everything(of: sound)

        let writer = try kind.open(store)
        expectFailure(fault) { try Self.runner(fault).migrate(in: writer) }
        #expect(try Everything(of: writer) == before)
        #expect(before.ledger.count == 5)
        try expectUsable(writer)
    }

    @Test(arguments: options)
    func whatFailedCanBeMendedAndContinued(_ transaction: MigrationTransaction) throws {
        let writer = try store.open()
        let options = MigrationOptions(transaction: transaction)
        expectFailure(.stepThrows) {
            try Self.runner(.stepThrows).migrate(in: writer, options: options)
        }
        let mended = Self.soundSteps() + [step("0004_last", "CREATE TABLE extra (id)")]
        let report = try GRDBMigrationRunner(steps: mended).migrate(in: writer, options: options)
        #expect(report.steps.count == (transaction == .perStep ? 1 : 6))
        #expect(report.pending.isEmpty)
    }

    @Test(arguments: Fault.allCases, options)
    func runnerAndAppSeeTheSchemaThatIsThereAfterwards(
        _ fault: Fault,
        _ transaction: MigrationTransaction
    ) throws {
        // GRDB caches what it has seen of a schema, and keeps it where that is rolled back.
        let writer = try store.open()
        let runner = try Self.runner(fault)
        for _ in 1...2 {
            expectFailure(fault) {
                try runner.migrate(in: writer, options: .init(transaction: transaction))
            }
            #expect(try writer.read { try $0.tableExists("extra") } == false)
            #expect(try writer.read { try $0.tableExists("tag") } == (transaction == .perStep))
        }
    }

    // MARK: - Back

    @Test(arguments: options, [true, false])
    func rollbackThatFailsLeavesWhatItsModePromises(
        _ transaction: MigrationTransaction,
        _ inVerification: Bool
    ) throws {
        var steps = Self.soundSteps()
        if !inVerification {
            steps[1] = MigrationStep(
                identifier: "0001_rows",
                sourceFile: "",
                apply: steps[1].apply,
                rollback: { db in
                    try db.execute(sql: "DELETE FROM item")
                    throw PlannedFailure()
                }
            )
        }
        let runner = try GRDBMigrationRunner(
            steps: steps,
            integration: .init(verifyBeforeCommit: { db in
                if inVerification, try !db.tableExists("tag") { throw PlannedFailure() }
            })
        )
        let writer = try store.open()
        try runner.migrate(in: writer)
        let applied = try Everything(of: writer)

        // Three rollbacks: of the index, of nothing, of the table; the fourth is the one that fails.
        let count = inVerification ? 3 : 4
        #expect(throws: PlannedFailure()) {
            try runner.rollbackMigrations(
                in: writer,
                steps: count,
                options: .init(transaction: transaction)
            )
        }
        let left = try Everything(of: writer)
        switch transaction {
        case .allOrNothing:
            #expect(left == applied)
        case .perStep:
            #expect(left.ledger == Array(applied.ledger.prefix(5 - count + 1)))
            #expect(try writer.number("SELECT count(*) FROM item") == 2)
        }
        try expectUsable(writer)
    }

    @Test func allOrNothingRollsBackInOneTransaction() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try runner.migrate(in: writer, options: .init(transaction: .allOrNothing))
        let report = try runner.rollbackMigrations(
            in: writer,
            steps: 9,
            options: .init(transaction: .allOrNothing)
        )
        #expect(report.steps.map(\.identifier) == runner.migrationIdentifiers.reversed())
        #expect(report.pending == runner.migrationIdentifiers)
        #expect(report.verified)
        #expect(try writer.tables().isEmpty)
    }

    // MARK: - Hooks

    @Test(arguments: options)
    func bootstrapIsUndoneWithTheRunThatItBelongsTo(_ transaction: MigrationTransaction) throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(
            steps: [step("0001", "ALTER TABLE base ADD COLUMN name"), step("0002", "nonsense")],
            integration: .init(bootstrapSchema: { db in
                guard try !db.tableExists("base") else { return false }
                try db.execute(sql: "CREATE TABLE base (id)")
                return true
            })
        )
        #expect(throws: DatabaseError.self) {
            try runner.migrate(in: writer, options: .init(transaction: transaction))
        }
        #expect(try writer.tables() == (transaction == .perStep ? ["base"] : []))
    }

    @Test(arguments: options)
    func bootstrapMayRecordStepsAsApplied(_ transaction: MigrationTransaction) throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(bootstrapSchema: { db in
                guard try !db.tableExists("grdb_migrations") else { return false }
                try db.execute(
                    sql: """
                        CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
                        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                        INSERT INTO grdb_migrations VALUES ('0001_items');
                        """
                )
                return true
            })
        )
        let report = try runner.migrate(in: writer, options: .init(transaction: transaction))
        #expect(report.steps.map(\.identifier) == ["0002_tags", "0003_tag_index"])
    }

    @Test(arguments: options)
    func whatRunsAfterTheCommitCanNotUndoIt(_ transaction: MigrationTransaction) throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(verifyPostMigration: { _ in throw PlannedFailure() })
        )
        #expect(throws: PlannedFailure()) {
            try runner.migrate(in: writer, options: .init(transaction: transaction))
        }
        #expect(try Everything(of: writer).ledger == runner.migrationIdentifiers)
    }
}
