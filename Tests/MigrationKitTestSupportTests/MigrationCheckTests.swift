import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher
import MigrationKitTestSupport
import TestSupport
import Testing

/// Lists of steps that pass.
@Suite struct MigrationCheckTests {
    @Test func soundStepsPassEveryCheckAndThoseWithoutRollbackAreNamed() throws {
        let report = try MigrationCheck(steps: soundSteps()).everything()
        #expect(report.steps == soundSteps().map(\.identifier))
        #expect(report.withoutRollback == ["0004_seed"])
    }

    /// The step's author is wrong about each.
    @Test(arguments: [
        ("ALTER TABLE item RENAME COLUMN name TO title", "no such column: item.name"),
        ("ALTER TABLE item RENAME TO thing", "no such table: item"),
        (
            "CREATE TRIGGER t BEFORE INSERT ON item BEGIN SELECT RAISE(ABORT, 'no'); END", "no"
        ),
    ])
    func stepThatOlderVersionsDoNotWorkWithIsFound(_ sql: String, _ reason: String) throws {
        func step(_ identifier: String, _ sql: String, _ older: OlderVersions? = nil)
            -> MigrationStep<Database>
        {
            MigrationStep(
                identifier: identifier,
                older: older,
                apply: { try $0.execute(sql: sql) }
            )
        }
        let first = step(
            "0001",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name); INSERT INTO item VALUES (1, 'a')"
        )
        let run = { (db: Database) in try db.execute(sql: "INSERT INTO item (name) VALUES ('b')") }
        for older in [nil, OlderVersions.fail(reasons: ["it does"])] {
            let check = MigrationCheck(steps: [first, step("0002", sql, older)])
            try check.everyOlderVersion()
            try check.olderVersion("0001", works: run)
        }
        let check = MigrationCheck(steps: [first, step("0002", sql, .work)])
        for attempt in [check.everyOlderVersion, { try check.olderVersion("0001", works: run) }] {
            let error = #expect(throws: MigrationCheckError.self) { try attempt() }
            guard case .olderVersionFails("0002", _, let found) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(found.contains(reason) || found.contains("has no column named name"))
        }
    }

    /// The rename has left a foreign key to a table that is gone.
    @Test func tableThatFailsBeforeTheStepIsNotItsFault() throws {
        let steps = [
            step(
                "0001",
                """
                CREATE TABLE a (id INTEGER PRIMARY KEY);
                CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES gone (id));
                INSERT INTO b VALUES (1, NULL);
                """
            ),
            step("0002", "ALTER TABLE b ADD COLUMN c"),
        ]
        try MigrationCheck(steps: steps).everyOlderVersion()
    }

    @Test func noStepsPass() throws {
        let report = try MigrationCheck(steps: []).everything()
        #expect(report.steps.isEmpty)
        #expect(report.withoutRollback.isEmpty)
    }

    @Test func plantedRowsSurvive() throws {
        try MigrationCheck(steps: soundSteps()).rows(
            plantedAt: "0002_tags",
            plant: { db in
                try db.execute(sql: "INSERT INTO item VALUES (1, 'a'), (2, NULL)")
                try db.execute(sql: "INSERT INTO tag VALUES (10, 1), (20, 2)")
            },
            survive: { (db: Database) throws in
                #expect(
                    try String.fetchAll(db, sql: "SELECT name FROM item WHERE id > 0") == ["a", ""]
                )
                #expect(try Int.fetchAll(db, sql: "SELECT id FROM tag") == [10, 20])
            }
        )
    }

    @Test func theNotesExamplePasses() throws {
        var configuration = Configuration()
        configuration.prepareDatabase { $0.add(function: .uuid) }
        let check = MigrationCheck(
            steps: try MigrationFolder(path: PackageFolder.notesMigrations).steps,
            configuration: configuration
        )
        let report = try check.everything()
        #expect(report.steps.count >= 12)
        #expect(report.withoutRollback.isEmpty)
        try check.rows(
            plantedAt: "0004_add_note_labels",
            plant: { db in
                try db.execute(sql: "INSERT INTO folders (id, name) VALUES ('f', 'Mine')")
                try db.execute(
                    sql: """
                        INSERT INTO notes (id, folder_id, title, labels)
                        VALUES ('n', 'f', 'A title', 'one, two')
                        """
                )
            },
            survive: { (db: Database) throws in
                #expect(
                    try String.fetchOne(db, sql: "SELECT title FROM notes WHERE id = 'n'")
                        == "A title"
                )
                let tags = """
                    SELECT name FROM tags JOIN note_tags ON tag_id = tags.id
                    WHERE note_id = 'n' ORDER BY name
                    """
                #expect(try String.fetchAll(db, sql: tags) == ["one", "two"])
            }
        )
    }

    @Test func functionsOfTheConfigurationAreNeeded() throws {
        let steps = try MigrationFolder(path: PackageFolder.notesMigrations).steps
        let error = #expect(throws: MigrationCheckError.self) {
            try MigrationCheck(steps: steps).everything()
        }
        guard case .freshInstallFailed(_, let reason) = error else {
            Issue.record("expected a failing install, got \(String(describing: error))")
            return
        }
        #expect(reason.contains("uuid"))
    }

    @Test func databasesCanBeEncryptedOnesInMemory() throws {
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let key = try DatabaseKey.rawKey(bytes: bytes.withUnsafeBytes { Secret(copying: $0) })
        let steps =
            soundSteps() + [
                Step(
                    identifier: "0006_uuid",
                    sourceFile: "",
                    apply: { db in
                        #expect(try String.fetchOne(db, sql: "PRAGMA cipher_version") != nil)
                        try db.execute(sql: "INSERT INTO item (name) VALUES (uuid())")
                    },
                    rollback: { try $0.execute(sql: "DELETE FROM item WHERE length(name) = 36") }
                )
            ]
        let check = MigrationCheck(
            steps: steps,
            configuration: EncryptedDatabase.configuration(key: key)
        )
        #expect(try check.everything().withoutRollback == ["0004_seed"])
    }

    @Test func anAppsOwnRunnerIsCheckedWithItsHooks() throws {
        let runner = try GRDBMigrationRunner(
            steps: [step("0001", "INSERT INTO base VALUES (1)", down: "DELETE FROM base")],
            integration: .init(bootstrapSchema: { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS base (id INTEGER PRIMARY KEY)")
                return false
            })
        )
        try MigrationCheck(runner: runner).freshInstall()
        try MigrationCheck(runner: runner).secondRun()
    }

    @Test func whatTheClosuresThrowComesOutUnchanged() throws {
        struct Lost: Error, Equatable {}
        let check = MigrationCheck(steps: soundSteps())
        #expect(throws: Lost()) {
            try check.rows(plantedAt: "0001_items", plant: { _ in throw Lost() }, survive: { _ in })
        }
        #expect(throws: Lost()) {
            try check.rows(plantedAt: "0001_items", plant: { _ in }, survive: { _ in throw Lost() })
        }
        #expect(throws: MigrationKitError.unknownMigrationTarget("0009")) {
            try check.rows(plantedAt: "0009", plant: { _ in }, survive: { _ in })
        }
    }

    @Test func listThatCanNotBeRegisteredIsReported() throws {
        let check = MigrationCheck(steps: [step("0001", ""), step("0001", "")])
        #expect(throws: MigrationKitError.duplicateIdentifiers(["0001"])) {
            try check.freshInstall()
        }
    }
}
