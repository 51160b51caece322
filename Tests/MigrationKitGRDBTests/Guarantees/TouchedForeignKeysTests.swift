import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// After a run's first step, only the foreign keys that a step of SQL can have violated are checked.
@Suite struct TouchedForeignKeysTests {
    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    private func step(
        _ identifier: String,
        _ sql: String,
        _ checks: MigrationForeignKeyChecks = .deferred
    ) -> MigrationStep<Database> {
        MigrationStep(
            identifier: identifier,
            sourceFile: "",
            foreignKeyChecks: checks,
            checksum: identifier
        ) { try $0.execute(sql: sql) }
    }

    private var first: MigrationStep<Database> {
        step(
            "0001",
            """
            CREATE TABLE item (id INTEGER PRIMARY KEY, code TEXT UNIQUE);
            CREATE TABLE tag (
                id INTEGER PRIMARY KEY,
                itemId INTEGER REFERENCES Item (id),
                code TEXT REFERENCES item (code)
            );
            CREATE TABLE other (id INTEGER PRIMARY KEY, number INTEGER);
            CREATE TRIGGER other_gone AFTER DELETE ON other
            BEGIN DELETE FROM item WHERE id = OLD.number; END;
            INSERT INTO item VALUES (1, 'a'), (2, 'b');
            INSERT INTO tag VALUES (1, 1, 'a'), (2, 2, 'b');
            INSERT INTO other VALUES (1, 1);
            """
        )
    }

    private static let violations = [
        "DELETE FROM item WHERE id = 1",
        "DELETE FROM ITEM",
        "UPDATE item SET id = 5 WHERE id = 1",
        "WITH x AS (SELECT 1) UPDATE Item SET code = 'z' WHERE id = 2",
        "UPDATE tag SET itemId = 7 WHERE id = 1",
        "INSERT INTO TAG (itemId) VALUES (9)",
        // The row with that code makes way.
        "INSERT OR REPLACE INTO item VALUES (3, 'a')",
        "DELETE FROM other",
        """
        CREATE VIEW items AS SELECT 1 AS id;
        CREATE TRIGGER items_new INSTEAD OF INSERT ON items BEGIN DELETE FROM item; END;
        INSERT INTO items VALUES (1)
        """,
        "DROP TABLE item",
        "DROP TABLE item; CREATE TABLE item (id INTEGER PRIMARY KEY, code TEXT UNIQUE)",
        "PRAGMA legacy_alter_table = ON; ALTER TABLE item RENAME TO thing",
        "CREATE TABLE more (itemId REFERENCES item (id)); INSERT INTO more VALUES (8)",
        // Its codes are no longer unique.
        """
        DROP TRIGGER other_gone;
        CREATE TABLE copy (id INTEGER PRIMARY KEY, code TEXT);
        INSERT INTO copy SELECT * FROM item;
        DROP TABLE item;
        ALTER TABLE copy RENAME TO item
        """,
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, 'Item (id)', 'other (id)') WHERE name = 'tag'
        """,
    ]

    @Test(arguments: violations, [MigrationTransaction.perStep, .allOrNothing])
    func laterStepMayNotViolate(_ sql: String, _ transaction: MigrationTransaction) throws {
        let writer = try store.open()
        let harmless = step("0002", "INSERT INTO other VALUES (3, 9)")
        let runner = try GRDBMigrationRunner(steps: [first, harmless, step("0003", sql)])
        let error = #expect(throws: DatabaseError.self) {
            try runner.migrate(in: writer, options: .init(transaction: transaction))
        }
        #expect(error?.isOfForeignKeyCheck == true, "\(String(describing: error))")
        #expect(
            try runner.appliedMigrationIdentifiers(in: writer)
                == (transaction == .perStep ? ["0001", "0002"] : [])
        )
    }

    /// What it leaves is the next step's fault, as it would be in a run of its own.
    @Test func stepWithoutACheckIsNotTrusted() throws {
        let writer = try store.open()
        let steps = [
            first, step("0002", "INSERT INTO tag (itemId) VALUES (9)", .off),
            step("0003", "INSERT INTO other VALUES (3, 9)"),
        ]
        #expect(throws: DatabaseError.self) {
            try GRDBMigrationRunner(steps: steps).migrate(in: writer)
        }
    }

    /// A step whose keys are enforced doesn't look at other rows.
    @Test func violationFromBeforeIsFoundAfterAStepWithEnforcedKeys() throws {
        let writer = try store.open()
        try GRDBMigrationRunner(steps: [first]).migrate(in: writer)
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try db.execute(sql: "INSERT INTO tag (itemId) VALUES (9)")
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
        let steps = [
            first, step("0002", "INSERT INTO other VALUES (3, 9)", .immediate),
            step("0003", "INSERT INTO other VALUES (4, 9)"),
        ]
        #expect(throws: DatabaseError.self) {
            try GRDBMigrationRunner(steps: steps).migrate(in: writer)
        }
    }

    @Test(arguments: [
        "ALTER TABLE other ADD COLUMN more", "UPDATE other SET number = 3",
        "CREATE TABLE fresh (id INTEGER PRIMARY KEY)",
        "CREATE INDEX other_number ON other (number)",
        "DROP TRIGGER other_gone",
    ])
    func whatCannotBeViolatedIsNotChecked(_ sql: String) throws {
        let checks = Recorder<String>()
        let writer = try store.open { configuration in
            configuration.prepareDatabase { db in
                db.trace { event in
                    if "\(event)".contains("foreign_key_check") { checks.append("\(event)") }
                }
            }
        }
        try GRDBMigrationRunner(steps: [first, step("0002", sql)]).migrate(in: writer)
        #expect(checks.values.count == 1, "\(checks.values)")
    }
}
