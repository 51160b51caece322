import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitTestSupport
import TestSupport
import Testing

/// Lists of steps that pass a look, and that a check catches.
@Suite struct BrokenStepsTests {
    private func failure(
        _ check: (MigrationCheck) throws -> Void,
        of steps: [Step],
        integration: GRDBMigrationRunner.Integration = .init(),
        requiredIndexes: [RequiredIndexSpec] = []
    ) -> MigrationCheckError? {
        #expect(throws: MigrationCheckError.self) {
            try check(
                MigrationCheck(
                    steps: steps,
                    integration: integration,
                    requiredIndexes: requiredIndexes
                )
            )
        }
    }

    // MARK: - Fresh Install

    @Test func stepThatFailsIsNamed() throws {
        let steps = soundSteps() + [step("0006_typo", "CREATE TABEL x (id)")]
        for check in [{ try $0.freshInstall() }, { _ = try $0.everything() }]
            as [(MigrationCheck) throws -> Void]
        {
            guard case .freshInstallFailed("0006_typo", let reason) = failure(check, of: steps)
            else {
                Issue.record("expected the step with the mistake to fail")
                return
            }
            #expect(reason.contains("TABEL"))
        }
    }

    @Test func missingIndexIsCaughtInTheLastStep() throws {
        let found = failure(
            { try $0.freshInstall() },
            of: Array(soundSteps().prefix(4)),
            requiredIndexes: [RequiredIndexSpec(table: "tag", index: "tag_itemId")]
        )
        #expect(
            found
                == .freshInstallFailed(
                    step: "0004_seed",
                    reason: "the index 'tag_itemId' on the table 'tag' is missing"
                )
        )
    }

    @Test func seededOrphanIsCaught() throws {
        let steps = soundSteps() + [step("0006_orphan", "INSERT INTO tag (itemId) VALUES (99)")]
        guard
            case .freshInstallFailed("0006_orphan", let reason) =
                failure({ try $0.freshInstall() }, of: steps)
        else {
            Issue.record("expected the orphan to be found")
            return
        }
        #expect(
            reason.hasSuffix(
                "from tag(itemId) to item(id), in 1 row: rowid 1 (0006_orphan.sql)"
            )
        )
    }

    // MARK: - Every Upgrade

    /// Adds a function to the connection, which outlives the step.
    private func stepAdding(_ function: String, _ sql: String) -> Step {
        Step(identifier: "0001", sourceFile: "") { db in
            db.add(function: DatabaseFunction(function, argumentCount: 0) { _ in 1 })
            try db.execute(sql: sql)
        }
    }

    @Test func stepThatNeedsAFunctionOfAnEarlierOneIsCaught() throws {
        let steps = [
            stepAdding("scratch", "CREATE TABLE a (id)"),
            step("0002", "INSERT INTO a SELECT scratch()"),
        ]
        try MigrationCheck(steps: steps).freshInstall()
        guard
            case .upgradeFailed(from: "0001", step: "0002", let reason) =
                failure({ try $0.everyUpgrade() }, of: steps)
        else {
            Issue.record("expected the upgrade from 0001 to fail")
            return
        }
        #expect(reason.contains("no such function: scratch"))
    }

    @Test func upgradeThatLeadsElsewhereIsCaught() throws {
        let steps = [
            stepAdding("is_new", "CREATE TABLE a (id)"),
            Step(identifier: "0002", sourceFile: "") { db in
                let sql = "SELECT 1 FROM pragma_function_list WHERE name = 'is_new'"
                if try Bool.fetchOne(db, sql: sql) == true {
                    try db.execute(sql: "ALTER TABLE a ADD COLUMN name TEXT")
                }
            },
        ]
        let found = failure({ try $0.everyUpgrade() }, of: steps)
        #expect(
            found
                == .upgradeLeadsElsewhere(
                    from: "0001",
                    difference: "  table a\n-   name TEXT"
                )
        )
    }

    // MARK: - Second Run

    @Test func bootstrapThatCanNotBeRepeatedIsCaught() throws {
        let seeding = GRDBMigrationRunner.Integration(bootstrapSchema: { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS base (id INTEGER PRIMARY KEY)")
            try db.execute(sql: "INSERT INTO base DEFAULT VALUES")
            return true
        })
        #expect(
            failure({ try $0.secondRun() }, of: soundSteps(), integration: seeding)
                == .secondRunChanges(difference: "- table base: 1 row\n+ table base: 2 rows")
        )

        let creating = GRDBMigrationRunner.Integration(bootstrapSchema: { db in
            try db.execute(sql: "CREATE TABLE base (id)")
            return true
        })
        guard
            case .secondRunFailed(nil, let reason) =
                failure({ try $0.secondRun() }, of: soundSteps(), integration: creating)
        else {
            Issue.record("expected the second run to fail")
            return
        }
        #expect(reason.contains("table base already exists"))
    }

    @Test func hookThatChangesValuesIsCaught() throws {
        let counting = GRDBMigrationRunner.Integration(bootstrapSchema: { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS runs (n PRIMARY KEY)")
            try db.execute(
                sql: "INSERT OR IGNORE INTO runs SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM runs)"
            )
            try db.execute(sql: "UPDATE runs SET n = n + 1")
            return false
        })
        #expect(
            failure({ try $0.secondRun() }, of: soundSteps(), integration: counting)
                == .secondRunChanges(difference: "  table runs: its rows have other values")
        )
    }

    // MARK: - Every Rollback

    @Test func rollbackThatForgetsAColumnIsCaught() throws {
        let steps = [
            step("0001", "CREATE TABLE item (id INTEGER PRIMARY KEY)", down: "DROP TABLE item"),
            step(
                "0002",
                """
                ALTER TABLE item ADD COLUMN name TEXT NOT NULL DEFAULT '';
                ALTER TABLE item ADD COLUMN size INTEGER;
                CREATE INDEX item_name ON item (name);
                """,
                down: "ALTER TABLE item DROP COLUMN size"
            ),
        ]
        let found = try #require(failure({ try $0.everyRollback() }, of: steps))
        #expect(
            found
                == .rollbackLeavesOtherSchema(
                    step: "0002",
                    difference: """
                        + CREATE INDEX item_name ON item (name)
                          table item
                        +   name TEXT NOT NULL DEFAULT ''
                        """
                )
        )
        // What a framework for tests prints.
        #expect(
            "\(found)".hasPrefix(
                """
                the rollback of '0002' doesn't restore the schema of the version before it
                Found (+) instead of expected (-):
                + CREATE INDEX item_name ON item (name)
                """
            )
        )
    }

    @Test func rollbackThatFailsIsNamed() throws {
        var steps = soundSteps()
        steps[1] = step("0002_tags", "CREATE TABLE tag (itemId)", down: "DROP TABLE tags")
        guard
            case .rollbackFailed("0002_tags", let reason) =
                failure({ try $0.everyRollback() }, of: steps)
        else {
            Issue.record("expected the rollback to fail")
            return
        }
        #expect(reason.contains("no such table: tags"))
    }

    @Test func rollbackThatLeavesTheSeedIsCaught() throws {
        let steps = [
            step("0001", "CREATE TABLE kind (name TEXT UNIQUE)", down: "DROP TABLE kind"),
            step("0002", "INSERT INTO kind VALUES ('note')", down: "SELECT 1"),
        ]
        guard
            case .reapplicationFailed("0002", let reason) =
                failure({ try $0.everyRollback() }, of: steps)
        else {
            Issue.record("expected the second application to fail")
            return
        }
        #expect(reason.contains("UNIQUE"))
    }

    @Test func stepThatComesToAnotherSchemaTheSecondTimeIsCaught() throws {
        let steps = [
            step("0001", "CREATE TABLE log (id INTEGER PRIMARY KEY)", down: "DROP TABLE log"),
            Step(
                identifier: "0002",
                sourceFile: "",
                apply: { db in
                    let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM log") ?? 0
                    try db.execute(sql: "INSERT INTO log DEFAULT VALUES")
                    try db.execute(sql: "CREATE TABLE t\(count) (id)")
                },
                rollback: { try $0.execute(sql: "DROP TABLE t0") }
            ),
        ]
        #expect(
            failure({ try $0.everyRollback() }, of: steps)
                == .reapplicationLeadsElsewhere(
                    step: "0002",
                    difference: "- CREATE TABLE t0 (id)\n+ CREATE TABLE t1 (id)"
                )
        )
    }

    // MARK: - Rows

    @Test func childrenThatGoWithTheirParentAreCaught() throws {
        // With foreign keys on, dropping the old table deletes its rows, and theirs with them.
        let rebuild = Step(
            identifier: "0006_rebuild",
            sourceFile: "",
            foreignKeyChecks: .immediate
        ) { db in
            try db.execute(
                sql: """
                    CREATE TABLE item_new (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
                    INSERT INTO item_new SELECT * FROM item;
                    DROP TABLE item;
                    ALTER TABLE item_new RENAME TO item;
                    """
            )
        }
        struct Lost: Error, Equatable {
            let count: Int?
        }
        let check = MigrationCheck(steps: soundSteps() + [rebuild])
        try check.everything()
        #expect(throws: Lost(count: 0)) {
            try check.rows(
                plantedAt: "0002_tags",
                plant: { db in
                    try db.execute(sql: "INSERT INTO item VALUES (1, 'a')")
                    try db.execute(sql: "INSERT INTO tag VALUES (1, 1)")
                },
                survive: { db in
                    let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM tag")
                    guard count == 1 else { throw Lost(count: count) }
                }
            )
        }
    }

    @Test func oddRowThatStopsAStepIsCaught() throws {
        let unique = step("0006_unique", "CREATE UNIQUE INDEX item_name ON item (name)")
        let check = MigrationCheck(steps: soundSteps() + [unique])
        try check.everything()
        let found = #expect(throws: MigrationCheckError.self) {
            try check.rows(
                plantedAt: "0001_items",
                plant: { try $0.execute(sql: "INSERT INTO item (name) VALUES ('a'), ('a')") },
                survive: { _ in }
            )
        }
        guard case .upgradeFailed(from: "0001_items", step: "0006_unique", let reason) = found
        else {
            Issue.record("expected the index to fail, got \(String(describing: found))")
            return
        }
        #expect(reason.contains("UNIQUE"))
    }

    // MARK: - Text

    @Test(arguments: [
        MigrationCheckError.freshInstallFailed(step: nil, reason: "why"),
        .upgradeFailed(from: nil, step: "0002", reason: "why"),
        .upgradeLeadsElsewhere(from: "0001", difference: "+ a"),
        .secondRunFailed(step: "0001", reason: "why"),
        .secondRunChanges(difference: "+ a"),
        .rollbackFailed(step: "0001", reason: "why"),
        .rollbackLeavesOtherSchema(step: "0001", difference: "+ a"),
        .reapplicationFailed(step: "0001", reason: "why"),
        .reapplicationLeadsElsewhere(step: "0001", difference: "+ a"),
    ])
    func errorSaysWhatIsWrongAndWhatToDo(_ error: MigrationCheckError) throws {
        let line = try #require(error.errorDescription)
        #expect(!line.contains("\n"))
        #expect(line.first?.isLowercase == true)
        let advice = try #require(error.recoverySuggestion)
        #expect(error.difference == nil || advice.contains("\n+ a\n"))
        #expect("\(error)" == line + "\n" + advice)
    }
}
