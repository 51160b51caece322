import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// When foreign keys are checked. See the table in `MigratorParityTests.swift`.
@Suite struct ForeignKeyParityTests {
    let store: EncryptedStore
    let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    private func orphan(
        _ identifier: String,
        _ checks: MigrationForeignKeyChecks,
        isTransient: Bool = false
    ) -> MigrationStep<Database> {
        MigrationStep(identifier: identifier, sourceFile: "", foreignKeyChecks: checks) { db in
            try db.execute(
                sql: """
                    CREATE TABLE parent (id INTEGER NOT NULL PRIMARY KEY);
                    CREATE TABLE child (parentId INTEGER REFERENCES parent (id));
                    INSERT INTO child (parentId) VALUES (1);
                    \(isTransient ? "DELETE FROM child" : "")
                    """
            )
        }
    }

    private func migrate(
        _ steps: MigrationStep<Database>...,
        transaction: MigrationTransaction = .perStep
    ) throws {
        try GRDBMigrationRunner(steps: steps)
            .migrate(in: writer, options: .init(transaction: transaction))
    }

    @Test func rebuildKeepsChildrenAndALaterOrphanIsUndone() throws {
        let steps = [
            step(
                "1",
                """
                CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, tmp TEXT);
                CREATE TABLE pet (ownerId INTEGER NOT NULL REFERENCES person (id), name TEXT);
                INSERT INTO person (name) VALUES ('Arthur');
                INSERT INTO pet VALUES (1, 'Bobby');
                """
            ),
            step(
                "2",
                """
                CREATE TABLE new_person (id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO new_person SELECT id, name FROM person;
                DROP TABLE person;
                ALTER TABLE new_person RENAME TO person;
                """
            ),
            step(
                "3",
                "INSERT INTO person (name) VALUES ('Barbara'); INSERT INTO pet VALUES (123, 'Rex')"
            ),
        ]
        // The last step of a run is no other than the one before it.
        for steps in [steps, steps + [step("4", "")]] {
            let error = #expect(throws: DatabaseError.self) {
                try GRDBMigrationRunner(steps: steps).migrate(in: writer)
            }
            #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
        }
        #expect(try writer.strings("SELECT name FROM person") == ["Arthur"])
        #expect(try writer.read { try $0.columns(in: "person").map(\.name) } == ["id", "name"])
        #expect(try writer.strings("SELECT name FROM pet") == ["Bobby"])
        #expect(try Everything(of: writer).ledger == ["1", "2"])
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func deferredChecksSeeTheEnd(_ transaction: MigrationTransaction) throws {
        let error = #expect(throws: DatabaseError.self) {
            try migrate(orphan("A", .deferred), step("B", ""), transaction: transaction)
        }
        #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
        #expect(try writer.tables().isEmpty)

        try migrate(orphan("A", .deferred, isTransient: true), transaction: transaction)
        #expect(try writer.tables() == ["child", "parent"])
        #expect(try writer.number("PRAGMA foreign_keys") == 1)
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing], [true, false])
    func immediateChecksSeeEveryStatement(
        _ transaction: MigrationTransaction,
        _ isTransient: Bool
    ) throws {
        let error = #expect(throws: DatabaseError.self) {
            try migrate(
                orphan("A", .immediate, isTransient: isTransient),
                transaction: transaction
            )
        }
        #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
        #expect(try writer.tables().isEmpty)
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func checksThatAreOffFindNothing(_ transaction: MigrationTransaction) throws {
        // As GRDB's. Neither the step nor the run looks, a verification does.
        try migrate(orphan("A", .off), transaction: transaction)
        #expect(try writer.tables() == ["child", "parent"])
        #expect(throws: GRDBMigrationVerificationError.foreignKeyViolations(count: 1)) {
            try GRDBMigrationVerifier.runPostMigrationChecks(in: writer)
        }
    }

    @Test func checksThatAreOffCanStayOffForAHostThatVerifiesItself() throws {
        let runner = try GRDBMigrationRunner(
            steps: [orphan("A", .off)],
            integration: .init(verifyIntegrity: { _ in })
        )
        try runner.migrate(in: writer)
        #expect(throws: DatabaseError.self) { try writer.read { try $0.checkForeignKeys() } }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func checksAreOffForOneStepOnly(_ transaction: MigrationTransaction) throws {
        let never = MigrationStep<Database>(
            identifier: "B",
            sourceFile: "",
            foreignKeyChecks: .off
        ) { _ in
            Issue.record("this step is behind one that fails")
        }
        let error = #expect(throws: DatabaseError.self) {
            try migrate(orphan("A", .deferred), never, transaction: transaction)
        }
        #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
    }

    @Test func immediateAndDeferredChecksCanNotShareATransaction() throws {
        let steps = [step("A", "CREATE TABLE a (id)"), orphan("B", .immediate, isTransient: true)]
        #expect(throws: MigrationKitError.notForAllOrNothing("B", .mixedForeignKeyChecks)) {
            try migrate(steps[0], steps[1], transaction: .allOrNothing)
        }
        #expect(try Everything(of: writer).schema.isEmpty)
    }
}
