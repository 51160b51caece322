import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

@Suite struct LedgerVerificationTests {
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try runner().migrate(in: queue)
    }

    private func runner(
        dropping dropped: Set<String> = [],
        checksum: String = "one",
        outOfOrder: Bool = false
    ) throws -> GRDBMigrationRunner {
        let steps = itemSteps().filter { !dropped.contains($0.identifier) }.map {
            $0.identifier == "0002_tags" ? $0.withChecksum(checksum) : $0
        }
        let runner = try GRDBMigrationRunner(steps: steps)
        return outOfOrder ? runner.allowingOutOfOrder() : runner
    }

    private func ledger(_ runner: GRDBMigrationRunner) throws -> VerificationCheck {
        let checks = try runner.verificationChecks(in: queue, isFull: true)
        return try #require(checks.last { $0.name == "ledger" })
    }

    private func execute(_ sql: String) throws {
        try queue.write { try $0.execute(sql: sql) }
    }

    @Test func whatIsPendingIsNoFault() throws {
        #expect(try ledger(runner()) == .init(name: "ledger", note: "3 applied, 0 pending"))
        try runner().rollbackLastMigration(in: queue)
        #expect(try ledger(runner()) == .init(name: "ledger", note: "2 applied, 1 pending"))
        let empty = try DatabaseQueue()
        let checks = try runner().verificationChecks(in: empty, isFull: true)
        #expect(checks.last?.note == "0 applied, 3 pending")
        #expect(checks.last?.ok == true)
    }

    @Test func whatANewerProgramAppliedIsNamed() throws {
        try execute("INSERT INTO grdb_migrations VALUES ('0007_newer')")
        #expect(
            try ledger(runner()).findings.map(\.text)
                == ["'0007_newer' is applied, but unknown here"]
        )
    }

    @Test func whatIsAppliedAndGoneIsNamed() throws {
        #expect(
            try ledger(runner(dropping: ["0002_tags"])).findings.map(\.text)
                == ["'0002_tags' is applied, but missing from the migrations"]
        )
    }

    @Test func whatWasChangedSinceIsNamed() throws {
        #expect(
            try ledger(runner(checksum: "another")).findings.map(\.text)
                == ["'0002_tags' was changed after it was applied"]
        )
    }

    @Test func whatWasTakenOutOfTheLedgerIsNamed() throws {
        try execute("DELETE FROM grdb_migrations WHERE identifier = '0002_tags'")
        let texts = try ledger(runner()).findings.map(\.text)
        #expect(
            texts == [
                "'0002_tags' is pending, although a later one is applied",
                "'0002_tags' is applied in the journal, but not in the ledger",
            ]
        )
        #expect(try ledger(runner(outOfOrder: true)).findings.count == 1)
    }

    @Test func rowsThatAreNoEntriesAreNamed() throws {
        try execute(
            """
            INSERT INTO grdb_migrationkit_journal (id, identifier, event, time)
                VALUES (70, x'00', 'applied', '2020-01-01'), (71, '0001_items', 'applied', 'never');
            DROP TABLE grdb_migrations; CREATE TABLE grdb_migrations (identifier);
            INSERT INTO grdb_migrations VALUES ('0001_items'), ('0002_tags'), ('0003_tag_index'),
                ('0001_items'), (NULL), ('');
            """
        )
        let check = try ledger(runner())
        #expect(
            check.findings == [
                .init(
                    "row 5 of 'grdb_migrations' has no identifier",
                    table: "grdb_migrations",
                    rowID: 5
                ),
                .init(
                    "row 6 of 'grdb_migrations' has no identifier",
                    table: "grdb_migrations",
                    rowID: 6
                ),
                .init("'0001_items' is in 2 rows", table: "grdb_migrations"),
                .init(
                    "row 70 of 'grdb_migrationkit_journal' is not a valid journal entry",
                    table: "grdb_migrationkit_journal",
                    rowID: 70
                ),
                .init(
                    "row 71 of 'grdb_migrationkit_journal' is not a valid journal entry",
                    table: "grdb_migrationkit_journal",
                    rowID: 71
                ),
            ]
        )
    }

    @Test func aTableThatIsNoLedgerIsAFinding() throws {
        try execute("DROP TABLE grdb_migrations; CREATE TABLE grdb_migrations (other)")
        let check = try ledger(runner())
        #expect(!check.ok)
        #expect(check.detail?.contains("grdb_migrations") == true)
    }
}

extension MigrationStep {
    fileprivate func withChecksum(_ checksum: String) -> MigrationStep {
        MigrationStep(
            identifier: identifier,
            sourceFile: sourceFile,
            checksum: checksum,
            apply: apply,
            rollback: rollback
        )
    }
}
