import Foundation
import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// A schema that was changed behind the runner's back.
@Suite struct DriftTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    private static let steps: [GRDBMigrationRunner.Step] = [
        step(
            "1",
            """
            CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE);
            CREATE TABLE note (
                id INTEGER PRIMARY KEY, author INTEGER REFERENCES author ON DELETE CASCADE,
                title TEXT CHECK (length(title) > 0), size INTEGER DEFAULT 1
            );
            CREATE INDEX note_title ON note (title);
            CREATE TRIGGER shrink AFTER UPDATE ON note BEGIN SELECT 1; END;
            CREATE VIEW titles AS SELECT title FROM note;
            """
        ),
        MigrationStep(identifier: "2") { db in
            try db.create(table: "tag") { table in
                table.primaryKey("name", .text)
                table.column("note", .integer).references("note")
            }
        },
        step(
            "3",
            "CREATE VIRTUAL TABLE search USING fts5 (title); INSERT INTO search VALUES ('a')"
        ),
    ]

    @discardableResult
    private func migrated(
        _ steps: [GRDBMigrationRunner.Step] = steps
    ) throws -> GRDBMigrationRunner {
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer)
        return runner
    }

    private func execute(_ sql: String) throws {
        try writer.writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    /// What was done, and what is said about it.
    static let drifts = [
        ("CREATE TABLE own (id)", "table own comes from no applied migration"),
        ("DROP TABLE tag", "table tag is missing"),
        ("ALTER TABLE tag ADD COLUMN n TEXT", "column tag.n comes from no applied migration"),
        ("DROP INDEX note_title", "table note: index note_title is missing"),
        ("CREATE INDEX own ON tag (note)", "table tag: index own comes from no applied migration"),
        ("DROP TRIGGER shrink", "table note: trigger shrink is missing"),
        (
            "CREATE TRIGGER own AFTER INSERT ON tag BEGIN SELECT 1; END",
            "table tag: trigger own comes from no applied migration"
        ),
        (
            "DROP TRIGGER shrink; CREATE TRIGGER shrink AFTER UPDATE ON note BEGIN SELECT 2; END",
            "table note: trigger shrink differs from that of the migrations"
        ),
        ("DROP VIEW titles", "view titles is missing"),
        ("CREATE VIEW own AS SELECT 1", "view own comes from no applied migration"),
        (
            "DROP VIEW titles; CREATE VIEW titles AS SELECT size FROM note",
            "view titles differs from that of the migrations"
        ),
        ("DROP TABLE search", "table search is missing"),
    ]

    @Test(arguments: drifts)
    func everyDriftIsFound(_ sql: String, _ text: String) throws {
        let runner = try migrated()
        #expect(try runner.drift(in: writer).isSame)
        try execute(sql)
        #expect(try runner.drift(in: writer).texts == [text])
        let checks = try runner.verificationChecks(in: writer, options: .withSchema)
        let check = try #require(checks.last)
        #expect(check.name == "schema")
        #expect(!check.ok)
        #expect(check.findings.map(\.text) == [text])
    }

    /// Changes that SQLite's statements for schemas can't make.
    @Test(arguments: [
        ("length(title) > 0", "length(title) > 1"),
        ("COLLATE NOCASE", "COLLATE RTRIM"), ("TEXT NOT NULL COLLATE", "TEXT COLLATE"),
        ("DEFAULT 1", "DEFAULT 2"), ("ON DELETE CASCADE", "ON DELETE SET NULL"),
        ("size INTEGER", "size REAL"),
    ])
    func everyChangedDefinitionIsFound(_ old: String, _ new: String) throws {
        let runner = try migrated()
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA writable_schema = 1")
            try db.execute(
                sql: "UPDATE sqlite_master SET sql = replace(sql, ?, ?)",
                arguments: [old, new]
            )
            try db.execute(sql: "PRAGMA writable_schema = RESET")
        }
        let drift = try runner.drift(in: writer)
        #expect(!drift.changes.isEmpty)
        #expect(Set(drift.changes.map(\.table)).isSubset(of: ["note", "author"]))
    }

    /// SQLite reads its schema as text, so it takes a root page or a name of any type.
    @Test(arguments: [
        "rootpage = CAST(printf('%08d', rootpage) AS BLOB)", "name = CAST(name AS BLOB)",
        "sql = CAST(sql AS BLOB)",
    ])
    func schemaThatIsStoredInAnotherFormIsReadAsSQLiteReadsIt(_ change: String) throws {
        let runner = try migrated()
        let text = try writer.read(GRDBSchemaSnapshotProvider.snapshot)
        try execute(
            """
            PRAGMA writable_schema = 1;
            UPDATE sqlite_schema SET \(change) WHERE name IN ('note', 'note_title');
            PRAGMA writable_schema = RESET;
            """
        )
        #expect(try runner.drift(in: writer).changes.isEmpty)
        #expect(try runner.dryRun(in: writer).steps.isEmpty)
        #expect(try writer.read(GRDBSchemaSnapshotProvider.snapshot) == text)
        #expect(try runner.migrate(in: writer).steps.isEmpty)
    }

    @Test func spellingIsNoDrift() throws {
        let runner = try migrated()
        try execute(
            """
            DROP INDEX note_title;
            create index "note_title"
                on note (title /* of the note */);
            """
        )
        #expect(try runner.drift(in: writer).isSame)
    }

    @Test func theDifferenceLeadsBack() throws {
        let runner = try migrated()
        try execute("DROP INDEX note_title; CREATE TABLE own (id)")
        guard case .differs(let difference) = try runner.drift(in: writer) else {
            Issue.record("nothing was found")
            return
        }
        let actions = difference.changes.map { "\($0.action) \($0.name)" }.sorted()
        #expect(actions == ["added note_title", "dropped own"])
    }

    // MARK: - Healthy Databases

    @Test func pendingAndRolledBackStepsAreNoDrift() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("1", "CREATE TABLE a (id)", down: "DROP TABLE a"),
            step("2", "CREATE TABLE b (id)", down: "DROP TABLE b"),
            step("3", "CREATE TABLE c (id)", down: "DROP TABLE c"),
        ])
        try runner.migrate(in: writer, steps: 2)
        #expect(try runner.drift(in: writer).isSame)
        try runner.migrate(in: writer)
        try runner.rollbackMigrations(in: writer, steps: 2)
        #expect(try runner.drift(in: writer).isSame)
    }

    @Test func aBaselinedDatabaseIsComparedByItsSchema() throws {
        try execute("CREATE TABLE a (id); CREATE TABLE b (id)")
        let runner = try GRDBMigrationRunner(steps: [
            step("1", "CREATE TABLE a (id)"), step("2", "CREATE TABLE b (id)"),
        ])
        try runner.baseline(in: writer, upTo: "1")
        #expect(try runner.drift(in: writer).texts == ["table b comes from no applied migration"])
        #expect(try runner.drift(in: writer, ignoring: ["B"]).isSame)
    }

    @Test func stepsRunAsTheyDidOnTheDatabase() throws {
        let runner = try migrated(
            Self.steps + [
                // A rebuild needs foreign keys off, a setting needs no transaction.
                step(
                    "4",
                    """
                    INSERT INTO author VALUES (1, 'Ada'); INSERT INTO note (author) VALUES (1);
                    CREATE TABLE new (id INTEGER PRIMARY KEY, name TEXT);
                    INSERT INTO new SELECT * FROM author; DROP TABLE author;
                    ALTER TABLE new RENAME TO author;
                    """
                ),
                MigrationStep(identifier: "5", usesTransaction: false) { db in
                    try db.execute(sql: "VACUUM; CREATE TABLE outside (id)")
                },
                MigrationStep(identifier: "6", foreignKeyChecks: .immediate) { db in
                    let isOn = try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == true
                    try db.execute(sql: "CREATE TABLE \(isOn ? "immediate" : "deferred") (id)")
                },
                step(
                    "7",
                    """
                    PRAGMA writable_schema = 1;
                    UPDATE sqlite_master SET sql = replace(sql, '(id)', '(id TEXT)')
                        WHERE name = 'outside';
                    """
                ),
            ]
        )
        #expect(try writer.tables().contains("immediate"))
        #expect(try runner.drift(in: writer).isSame)
    }

    @Test func replacedStepsAreThoseOfTheStepThatReplacesThem() throws {
        try migrated([step("1", "CREATE TABLE a (id)"), step("2", "CREATE TABLE b (id)")])
        let merged = try GRDBMigrationRunner(steps: [
            MigrationStep(identifier: "3", merging: ["1", "2"]) { db, applied in
                if !applied.contains("1") { try db.execute(sql: "CREATE TABLE a (id)") }
                if !applied.contains("2") { try db.execute(sql: "CREATE TABLE b (id)") }
            }
        ])
        guard case .notCompared = try merged.drift(in: writer) else {
            Issue.record("the steps that are applied are no longer known")
            return
        }
        try merged.migrate(in: writer)
        #expect(try merged.drift(in: writer).isSame)
    }

    // MARK: - Hooks and Functions

    private func bootstrapping(recordsSteps: Bool) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(
            steps: [
                step("1", "ALTER TABLE base ADD COLUMN name TEXT"),
                step("2", "CREATE TABLE b (id)"),
            ],
            integration: .init(bootstrapSchema: { db in
                guard try !db.tableExists("base") else { return false }
                try db.execute(sql: "CREATE TABLE base (id)")
                guard recordsSteps else { return true }
                try db.execute(
                    sql: """
                        ALTER TABLE base ADD COLUMN name TEXT; CREATE TABLE b (id);
                        INSERT INTO grdb_migrations VALUES ('1'), ('2');
                        """
                )
                return true
            })
        )
    }

    @Test func whatTheBootstrapMakesIsNoDrift() throws {
        let runner = try bootstrapping(recordsSteps: false)
        try runner.migrate(in: writer, steps: 1)
        #expect(try runner.drift(in: writer).isSame)
        try execute("ALTER TABLE base DROP COLUMN name")
        #expect(try runner.drift(in: writer).texts == ["column base.name is missing"])
    }

    @Test func aBootstrapThatRecordsStepsIsComparedIfTheyAreApplied() throws {
        let runner = try bootstrapping(recordsSteps: true)
        try execute("CREATE TABLE base (id)")
        try runner.migrate(in: writer, steps: 1)
        guard case .notCompared(let reason) = try runner.drift(in: writer) else {
            Issue.record("a new database would have both steps")
            return
        }
        #expect(reason == "in a new database, the program itself records migrations as applied")
        try runner.migrate(in: writer)
        #expect(try runner.drift(in: writer).isSame)
    }

    @Test func functionsOfTheWriterAreThere() throws {
        let writer = try store.open { configuration in
            configuration.prepareDatabase { db in
                db.add(function: DatabaseFunction("who", argumentCount: 0) { _ in "Arthur" })
            }
        }
        let runner = try GRDBMigrationRunner(steps: [
            step("1", "CREATE TABLE player (name TEXT); INSERT INTO player VALUES (who())")
        ])
        try runner.migrate(in: writer)
        #expect(try runner.drift(in: writer).isSame)
        guard
            case .notCompared(let reason) = try runner.drift(
                in: writer,
                configuration: Configuration()
            )
        else {
            Issue.record("the function is missing there")
            return
        }
        #expect(reason == "1 can't run in an empty database: no such function: who")
    }

    // MARK: - Not Compared

    @Test func aStepThatNeedsRowsIsNoFailure() throws {
        try migrated([step("1", "CREATE TABLE a (id)")])
        try execute("INSERT INTO a VALUES (1)")
        let runner = try migrated([
            step("1", "CREATE TABLE a (id)"),
            MigrationStep(identifier: "2") { db in
                guard try Int.fetchOne(db, sql: "SELECT id FROM a") != nil else {
                    throw PlannedFailure()
                }
            },
        ])
        let checks = try runner.verificationChecks(in: writer, options: .withSchema)
        #expect(checks.last?.name == "schema")
        #expect(checks.last?.ok == true)
        #expect(checks.last?.note?.hasPrefix("not compared: 2 can't run in an empty data") == true)
    }

    @Test func withoutMigrationsNothingIsCompared() throws {
        try execute("CREATE TABLE a (id)")
        for runner in [
            try GRDBMigrationRunner(steps: Self.steps), try GRDBMigrationRunner(steps: []),
        ] {
            guard case .notCompared(let reason) = try runner.drift(in: writer) else {
                Issue.record("there is nothing to compare with")
                return
            }
            #expect(reason == "no migration is applied")
        }
    }

    @Test func unknownStepsAreNoFailure() throws {
        try migrated()
        let older = try GRDBMigrationRunner(steps: Array(Self.steps.prefix(2)))
        guard case .notCompared(let reason) = try older.drift(in: writer) else {
            Issue.record("the last step is unknown")
            return
        }
        #expect(reason == "unknown migrations are applied")
    }

    // MARK: - Ignored Tables

    @Test func ignoredTablesAreLeftOutWithAllThatIsOnThem() throws {
        let runner = try migrated()
        try execute(
            """
            CREATE TABLE cache_a (id); CREATE INDEX cache_a_id ON cache_a (id);
            CREATE TRIGGER cached AFTER INSERT ON cache_a BEGIN SELECT 1; END;
            CREATE VIEW Cache_all AS SELECT * FROM cache_a;
            DROP TABLE tag;
            """
        )
        #expect(try runner.drift(in: writer, ignoring: ["CACHE_*", "tag"]).isSame)
        #expect(
            try runner.drift(in: writer, ignoring: ["cache_*"]).texts == ["table tag is missing"]
        )
        #expect(try runner.drift(in: writer, ignoring: ["cache_", "tag"]).changes.count == 4)
    }

    // MARK: - Other Forms

    @Test(arguments: WriterKind.allCases)
    func itAnswersTheSameAsynchronously(_ kind: WriterKind) async throws {
        let runner = try migrated()
        try execute("DROP TABLE tag")
        let writer = try kind.open(store)
        let found = try await asyncRun { try runner.drift(in: writer) }
        #expect(try found.texts == runner.drift(in: writer).texts)
        #expect(found.texts == ["table tag is missing"])
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await asyncRun { try runner.drift(in: writer) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func nothingIsWritten() throws {
        let runner = try migrated()
        try execute("DROP TABLE tag")
        let before = try Everything(of: writer)
        #expect(try !runner.drift(in: writer).isSame)
        #expect(try Everything(of: writer) == before)
        try writer.close()
        let reader = try store.open { $0.readonly = true }
        #expect(try runner.drift(in: reader).texts == ["table tag is missing"])
    }

    @Test func theStepsRunOnTheirOwnDatabase() throws {
        let runs = Recorder<String>()
        let runner = try migrated([
            MigrationStep(identifier: "1") { db in
                runs.append("1")
                try db.execute(sql: "CREATE TABLE a (id)")
            }
        ])
        #expect(try runner.drift(in: writer).isSame)
        #expect(runs.values.count == 2)
        // Without asking for it, a verification runs no step.
        _ = try runner.verificationChecks(in: writer)
        #expect(runs.values.count == 2)
    }
}

extension VerificationOptions {
    fileprivate static var withSchema: VerificationOptions {
        var options = VerificationOptions()
        options.drift = DriftOptions()
        return options
    }
}
