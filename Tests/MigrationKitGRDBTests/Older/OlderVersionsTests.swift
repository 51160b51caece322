import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// What a step means for versions of a program that don't know it: judged when it is applied, kept in
/// the database, and found there by such a version.
@Suite struct OlderVersionsTests {
    let store: EncryptedStore
    let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    private static let first = step(
        "0001",
        """
        CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
        CREATE TABLE tag (id INTEGER PRIMARY KEY, note REFERENCES note ON DELETE CASCADE, name);
        CREATE INDEX note_title ON note (title);
        CREATE VIEW titles AS SELECT title FROM note;
        CREATE VIEW names AS SELECT name FROM note JOIN tag ON tag.note = note.id;
        CREATE VIEW all_tags AS SELECT * FROM tag;
        CREATE TABLE words_list (word);
        CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT);
        CREATE TRIGGER note_gone AFTER DELETE ON note BEGIN SELECT 1; END;
        CREATE VIRTUAL TABLE words USING fts5(body);
        INSERT INTO note (title) VALUES ('a'), ('b');
        """
    )

    private static func step(
        _ identifier: String,
        _ sql: String,
        older: OlderVersions? = nil,
        down: String? = nil
    ) -> MigrationStep<Database> {
        MigrationStep(
            identifier: identifier,
            checksum: sql,
            older: older,
            rollbackSQL: down,
            apply: { try $0.execute(sql: sql) }
        )
    }

    private func runner(_ steps: MigrationStep<Database>...) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: [Self.first] + steps)
    }

    /// An index without texts of its own.
    private static let titlesOfNotes =
        "CREATE VIRTUAL TABLE w USING fts5 (title, content = note, content_rowid = id); "
    private static let titleIsGone = """
        CREATE TRIGGER t AFTER DELETE ON note BEGIN
        INSERT INTO w (w, rowid, title) VALUES ('delete', old.id, old.title); END;
        """

    private static let rebuild = """
        DROP VIEW titles; DROP VIEW names;
        CREATE TABLE n (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
        INSERT INTO n SELECT * FROM note; DROP TABLE note; ALTER TABLE n RENAME TO note;
        CREATE INDEX note_title ON note (title);
        CREATE TRIGGER note_gone AFTER DELETE ON note BEGIN SELECT 1; END;
        CREATE VIEW titles AS SELECT title FROM note;
        CREATE VIEW names AS SELECT name FROM note JOIN tag ON tag.note = note.id;
        """

    private static let judgements: [(sql: String, reasons: [String])] = [
        ("CREATE TABLE other (id INTEGER PRIMARY KEY, a UNIQUE, CHECK (a > 0))", []),
        ("CREATE TABLE other (note REFERENCES note (id) ON DELETE CASCADE)", []),
        ("CREATE TABLE other (note REFERENCES note (id) ON DELETE SET NULL)", []),
        ("ALTER TABLE note ADD COLUMN done", []),
        ("ALTER TABLE note ADD done INTEGER NOT NULL DEFAULT 0; UPDATE note SET done = 1", []),
        ("ALTER TABLE note ADD COLUMN a CHECK (a > 0)", []),
        ("ALTER TABLE note ADD COLUMN a; CREATE UNIQUE INDEX i ON note (title, a)", []),
        ("ALTER TABLE note ADD COLUMN low AS (lower(title))", []),
        ("CREATE INDEX i ON note (body); CREATE INDEX j ON note (lower(body))", []),
        ("CREATE VIEW v AS SELECT 1; INSERT INTO note (title) VALUES ('c')", []),
        ("DROP INDEX note_title; CREATE INDEX \"note_title\" ON note(title)", []),
        ("CREATE VIRTUAL TABLE w USING fts5(a); INSERT INTO w VALUES ('x')", []),
        ("ALTER TABLE note ADD a TEXT CHECK (a IN ('title', 'body'))", []),
        ("ALTER TABLE note ADD a INT CHECK (a > 0 AND a <= 9)", []),
        ("ALTER TABLE note ADD a INT NOT NULL DEFAULT 0 CHECK (a IN (0, 1))", []),
        ("ALTER TABLE note ADD a TEXT NOT NULL DEFAULT 'x' CHECK (a IN ('x', 'title'))", []),
        ("ALTER TABLE note ADD a REAL DEFAULT -1.5 CHECK (a BETWEEN -2 AND 2 AND a <> 0)", []),
        ("CREATE TABLE x (a); UPDATE x SET a = 1; DELETE FROM x; DROP TABLE x", []),
        ("SELECT 1", []),
        (
            "ALTER TABLE note ADD a DEFAULT (1) COLLATE NOCASE; CREATE INDEX i ON note (a)",
            []
        ),
        (
            "CREATE TABLE log (id INTEGER PRIMARY KEY, note, at TEXT DEFAULT CURRENT_TIMESTAMP); "
                + "CREATE TRIGGER t AFTER INSERT ON note BEGIN "
                + "INSERT INTO log (note) VALUES (lower(new.title)); END",
            []
        ),
        (
            "ALTER TABLE note ADD COLUMN low; CREATE TRIGGER t AFTER INSERT ON note BEGIN "
                + "UPDATE note SET low = lower(title) WHERE id = new.id; END",
            []
        ),

        ("DROP TABLE tag", ["table 'tag' is gone"]),
        ("DROP TABLE words", ["table 'words' is gone"]),
        (
            "ALTER TABLE tag RENAME TO label",
            [
                "table 'tag' is gone", "view 'all_tags' has another definition",
                "view 'names' has another definition",
            ]
        ),
        ("DROP INDEX note_title", ["index 'note_title' is gone"]),
        ("DROP VIEW titles", ["view 'titles' is gone"]),
        ("DROP TRIGGER note_gone", ["trigger 'note_gone' is gone"]),
        (
            "DROP VIEW titles; CREATE VIEW titles AS SELECT body FROM note",
            ["view 'titles' has another definition"]
        ),
        (
            "ALTER TABLE note RENAME COLUMN body TO text",
            ["column 'body' of table 'note' is gone"]
        ),
        ("ALTER TABLE note DROP COLUMN body", ["column 'body' of table 'note' is gone"]),
        (
            "ALTER TABLE note DROP COLUMN body; ALTER TABLE note ADD COLUMN body TEXT",
            ["column 'body' of table 'note' was created again, without its values"]
        ),
        (
            "DROP TABLE tag; CREATE TABLE tag "
                + "(id INTEGER PRIMARY KEY, note REFERENCES note ON DELETE CASCADE, name)",
            ["table 'tag' was created again, and its rows may have changed"]
        ),
        (rebuild, ["table 'note' was created again, and its rows may have changed"]),
        (
            "ALTER TABLE tag RENAME TO old; CREATE TABLE tag "
                + "(id INTEGER PRIMARY KEY, note REFERENCES note ON DELETE CASCADE, name)",
            [
                "table 'tag' was created again, and its rows may have changed",
                "view 'all_tags' has another definition", "view 'names' has another definition",
            ]
        ),
        (
            "ALTER TABLE tag RENAME TO s; UPDATE s SET name = 1; ALTER TABLE s RENAME TO tag",
            ["table 'tag' was created again, and its rows may have changed"]
        ),
        ("DROP TABLE words_list", ["table 'words_list' is gone"]),
        ("INSERT INTO words VALUES ('x')", ["the content of table 'words' was changed"]),
        (
            "UPDATE note SET rowid = rowid + 10",
            ["values of column 'rowid' of table 'note' were changed"]
        ),
        (
            "ALTER TABLE words_list ADD c INT DEFAULT 5 CHECK (c < 3)",
            ["the new column 'c' of table 'words_list' may refuse rows"]
        ),
        (
            "ALTER TABLE words_list ADD c TEXT DEFAULT 'a' CHECK (c <> 'b')",
            ["the new column 'c' of table 'words_list' may refuse rows"]
        ),
        (
            "ALTER TABLE words_list ADD c CHECK (c IS 'x')",
            ["the new column 'c' of table 'words_list' may refuse rows"]
        ),
        (
            "ALTER TABLE note ADD c AS (body -> '$.x')",
            ["the new column 'c' of table 'note' may refuse rows"]
        ),
        (
            "ALTER TABLE note ADD COLUMN oid",
            ["the new column 'oid' of table 'note' hides the key"]
        ),
        (
            "ALTER TABLE words_list ADD COLUMN a; CREATE UNIQUE INDEX i ON words_list (a IS NULL)",
            ["the new index 'i' may refuse rows of table 'words_list'"]
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO nowhere VALUES (1); END",
            ["the new trigger 't' may refuse changes of 'note'"]
        ),
        (
            "CREATE TABLE other (n NOT NULL REFERENCES note (id) ON DELETE SET NULL)",
            [
                "the new table 'other' may keep rows of table 'note' from being changed or deleted"
            ]
        ),
        (
            "CREATE TABLE other (a, b, FOREIGN KEY (a) REFERENCES tag (id) ON DELETE CASCADE "
                + "FOREIGN KEY (b) REFERENCES note (id))",
            [
                "the new table 'other' may keep rows of table 'note' from being changed or deleted"
            ]
        ),
        (
            "CREATE TABLE other (id INTEGER PRIMARY KEY REFERENCES note ON DELETE SET NULL)",
            [
                "the new table 'other' may keep rows of table 'note' from being changed or deleted"
            ]
        ),
        (
            "ALTER TABLE note ADD a INT DEFAULT ((-1)) CHECK (a < 0) NOT NULL",
            []
        ),
        (
            "CREATE INDEX i ON note (body); PRAGMA writable_schema = ON; "
                + "UPDATE sqlite_schema SET sql = replace(sql, 'TEXT NOT NULL', 'TEXT          ') "
                + "WHERE name = 'note'; PRAGMA writable_schema = OFF",
            [
                "column 'title' of table 'note' has another definition",
                "the schema was written without SQLite's own statements",
            ]
        ),
        (
            "CREATE UNIQUE INDEX i ON note (title)",
            ["the new index 'i' may refuse rows of table 'note'"]
        ),
        (
            "CREATE INDEX i ON note (json_extract(body, '$.a'))",
            ["the new index 'i' may refuse rows of table 'note'"]
        ),
        (
            "ALTER TABLE note ADD COLUMN a CHECK (title <> '')",
            ["the new column 'a' of table 'note' may refuse rows"]
        ),
        (
            "ALTER TABLE note ADD COLUMN parent REFERENCES note",
            [
                "the new column 'parent' of table 'note' may keep rows of a table from being changed"
            ]
        ),
        (
            "CREATE TABLE other (note REFERENCES note (id))",
            [
                "the new table 'other' may keep rows of table 'note' from being changed or deleted"
            ]
        ),
        (
            "CREATE TRIGGER t BEFORE INSERT ON note BEGIN SELECT RAISE(ABORT, 'no'); END",
            ["the new trigger 't' may refuse changes of 'note'"]
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO tag (name) VALUES (1); END",
            ["the new trigger 't' may change rows of table 'tag'"]
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON note BEGIN UPDATE note SET title = 'x'; END",
            ["the new trigger 't' may change rows of table 'note'"]
        ),
        (
            "CREATE TABLE log (note UNIQUE); "
                + "CREATE TRIGGER t AFTER INSERT ON note BEGIN INSERT INTO log VALUES (1); END",
            ["the new trigger 't' may refuse changes of 'note'"]
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON note WHEN json_extract(new.body, '$.a') = 1 "
                + "BEGIN SELECT 1; END",
            ["the new trigger 't' may refuse changes of 'note'"]
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON note BEGIN SELECT json(new.body); END",
            ["the new trigger 't' may refuse changes of 'note'"]
        ),
        (
            "CREATE VIRTUAL TABLE w USING fts5 (title); CREATE TRIGGER t AFTER DELETE ON note BEGIN "
                + "DELETE FROM w WHERE rowid = old.id; END",
            []
        ),
        (titlesOfNotes + titleIsGone + "INSERT INTO w (w) VALUES ('rebuild')", []),
        (
            "CREATE VIRTUAL TABLE w USING fts5 (id, content = counted, content_rowid = id); "
                + "CREATE TRIGGER t AFTER DELETE ON counted BEGIN "
                + "INSERT INTO w (w, rowid, id) VALUES ('delete', old.id, old.id); END",
            ["the new trigger 't' may refuse changes of 'counted'"]
        ),
        (
            titlesOfNotes
                + "INSERT INTO w (w) VALUES ('rebuild'); CREATE TRIGGER t AFTER UPDATE ON note "
                + "BEGIN UPDATE w SET title = new.title WHERE rowid = new.id; END",
            ["the new trigger 't' may refuse changes of 'note'"]
        ),
        (
            "CREATE VIRTUAL TABLE w USING rtree (id, low, high); CREATE TRIGGER t AFTER INSERT ON note "
                + "BEGIN INSERT INTO w VALUES (new.id, new.title, new.body); END",
            ["the new trigger 't' may refuse changes of 'note'"]
        ),
        (
            "CREATE INDEX i ON note (body ->> '$.a')",
            ["the new index 'i' may refuse rows of table 'note'"]
        ),
        (
            "ALTER TABLE note ADD COLUMN name",
            ["view 'names' may mean something else with the new columns"]
        ),
        (
            "ALTER TABLE tag ADD COLUMN a",
            ["view 'all_tags' may mean something else with the new columns"]
        ),
        ("PRAGMA user_version = 7", ["user_version or application_id was changed"]),
        (
            "DELETE FROM sqlite_sequence",
            ["the ids of new rows were changed"]
        ),
        ("UPDATE note SET title = 'x'", ["values of column 'title' of table 'note' were changed"]),
        ("DELETE FROM tag", ["rows of table 'tag' were deleted"]),
        (
            "INSERT INTO note (id, title) VALUES (1, 'x') ON CONFLICT DO UPDATE SET title = 'y'",
            ["values of column 'title' of table 'note' were changed"]
        ),
        (
            "CREATE TRIGGER t AFTER INSERT ON tag BEGIN DELETE FROM note; END; "
                + "INSERT INTO tag (name) VALUES (1)",
            [
                "the new trigger 't' may change rows of table 'note'",
                "rows of table 'note' were deleted",
            ]
        ),
    ]

    @Test(arguments: judgements, [MigrationTransaction.perStep, .allOrNothing])
    func stepIsJudged(
        _ judged: (sql: String, reasons: [String]),
        _ transaction: MigrationTransaction
    ) throws {
        #expect(try runner().migrate(in: writer).steps.map(\.older) == [.work])
        let report = try runner(Self.step("0002", judged.sql)).migrate(
            in: writer,
            options: MigrationOptions(transaction: transaction)
        )
        let expected: OlderVersions =
            judged.reasons.isEmpty ? .work : .fail(reasons: judged.reasons)
        #expect(report.steps.map(\.older) == [expected])
        let records = try runner().newerMigrations(in: writer)
        #expect(records.map(\.older) == [expected])
        #expect(try runner().hasBeenSuperseded(in: writer) == !judged.reasons.isEmpty)
    }

    /// What versions don't know, they can't miss.
    private static let filled: [(sql: String, reason: String)] = [
        (
            "UPDATE note SET done = 1",
            "values of column 'done' of table 'note' were changed (added by 0002)"
        ),
        (
            "UPDATE mark SET b = 1",
            "values of column 'b' of table 'mark' were changed (added by 0002)"
        ),
        ("DELETE FROM mark", "rows of table 'mark' were deleted (added by 0002)"),
    ]

    @Test(arguments: filled, [MigrationTransaction.perStep, .allOrNothing])
    func fillingWhatAnEarlierStepHasAddedCountsOnlyForThoseThatKnowIt(
        _ filled: (sql: String, reason: String),
        _ transaction: MigrationTransaction
    ) throws {
        let second = Self.step("0002", "ALTER TABLE note ADD done; CREATE TABLE mark (a, b)")
        let report = try runner(second, Self.step("0003", filled.sql)).migrate(
            in: writer,
            options: MigrationOptions(transaction: transaction)
        )
        #expect(report.steps.map(\.older) == [.work, .work, .fail(reasons: [filled.reason])])
        #expect(try runner().newerMigrations(in: writer).map(\.older) == [.work, .work])
        #expect(try !runner().hasBeenSuperseded(in: writer))
        #expect(try runner().migrate(in: writer).newer == ["0002", "0003"])
        #expect(try runner(second).hasBeenSuperseded(in: writer))
        #expect(throws: MigrationKitError.self) { try runner(second).migrate(in: writer) }
    }

    @Test func batchesThatFillANewColumnLockNobodyOut() throws {
        let second = Self.step("0002", "ALTER TABLE note ADD done")
        let third = MigrationStep<Database>(
            identifier: "0003",
            batched: [MigrationBatch("UPDATE note SET done = 1 WHERE done IS NULL")]
        )
        try runner(second, third).migrate(in: writer)
        #expect(try runner().migrate(in: writer).newer == ["0002", "0003"])
        #expect(try runner(second).hasBeenSuperseded(in: writer))
    }

    @Test(
        arguments: [
            // The values of a known column, too.
            "UPDATE note SET done = 1, title = 'x'",
            // Triggers of known tables may need them.
            "DROP TABLE mark", "CREATE UNIQUE INDEX i ON mark (a)",
            "CREATE TRIGGER t AFTER INSERT ON mark BEGIN DELETE FROM note; END",
        ]
    )
    func whatElseHappensToAnAdditionCounts(_ sql: String) throws {
        let second = Self.step("0002", "ALTER TABLE note ADD done; CREATE TABLE mark (a, b)")
        try runner(second, Self.step("0003", sql)).migrate(in: writer)
        #expect(try runner().hasBeenSuperseded(in: writer))
    }

    /// Older versions see the rows by a view with the old name.
    @Test(
        arguments: [
            "ALTER TABLE tag RENAME TO label; CREATE VIEW tag AS SELECT * FROM label",
            "CREATE TABLE label AS SELECT * FROM tag; DROP TABLE tag; CREATE VIEW tag AS SELECT * FROM label",
        ]
    )
    func aTableUnderANewNameIsNoAddition(_ sql: String) throws {
        let second = Self.step("0002", "DROP VIEW names; DROP VIEW all_tags; \(sql)", older: .work)
        try runner().migrate(in: writer)
        try runner(second, Self.step("0003", "DELETE FROM label")).migrate(in: writer)
        #expect(try runner().hasBeenSuperseded(in: writer))
    }

    @Test func authorOverrulesTheJudgement() throws {
        let breaks = OlderVersions.fail(reasons: ["the app counts the notes"])
        let report = try runner(
            Self.step("0002", "DELETE FROM tag", older: .work),
            Self.step("0003", "CREATE TABLE x (a)", older: breaks)
        ).migrate(in: writer)
        #expect(report.steps.map(\.older) == [.work, .work, breaks])
        #expect(try runner().newerMigrations(in: writer).map(\.older) == [.work, breaks])
    }

    @Test func stepOutsideOfATransactionIsNotJudged() throws {
        let step = MigrationStep<Database>(
            identifier: "0002",
            usesTransaction: false,
            apply: { try $0.execute(sql: "VACUUM") }
        )
        try runner(step).migrate(in: writer)
        #expect(OlderVersions(text: OlderVersions.fail(reasons: ["work"]).text) != .work)
        #expect(try runner().newerMigrations(in: writer).map(\.older) == [nil])
        #expect(throws: MigrationKitError.self) { try runner().migrate(in: writer) }
    }

    @Test func olderProgramWorksWithANewerStoreAsLongAsItMay() throws {
        let second = Self.step("0002", "CREATE TABLE x (a)")
        let third = Self.step("0003", "DROP TABLE tag")
        try runner(second).migrate(in: writer)
        let older = try runner()
        let before = try Everything(of: writer)
        let report = try older.migrate(in: writer)
        #expect(report.newer == ["0002"] && report.steps.isEmpty && report.pending.isEmpty)
        #expect(try Everything(of: writer) == before)
        #expect(try !older.hasBeenSuperseded(in: writer))
        #expect(try older.oldestWorking(in: writer) == nil)

        // With a step of its own to apply, it is another branch.
        let branch = try runner(Self.step("0001_b", "CREATE TABLE y (a)"))
        #expect(throws: MigrationKitError.self) { try branch.migrate(in: writer) }

        try GRDBMigrationRunner(steps: [Self.first, second, third], appVersion: "2.0")
            .migrate(in: writer)
        #expect(try older.hasBeenSuperseded(in: writer))
        #expect(try older.oldestWorking(in: writer)?.identifier == "0003")
        let refusal = #expect(throws: MigrationKitError.self) { try older.migrate(in: writer) }
        guard case .databaseIsNewer(["0002", "0003"], let steps) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(steps.map(\.appVersion) == [nil, "2.0"])
        #expect(refusal?.code.name == "databaseIsNewer")
        #expect(refusal?.recoverySuggestion?.contains("Use version 2.0 or a later one") == true)
    }

    @Test func journalOfTheFirstReleaseGetsTheColumns() throws {
        try writer.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                    CREATE TABLE grdb_migrationkit_journal (
                        id INTEGER PRIMARY KEY, identifier TEXT NOT NULL, event TEXT NOT NULL,
                        checksum TEXT, time TEXT NOT NULL, seconds REAL
                    );
                    INSERT INTO grdb_migrations VALUES ('0000');
                    INSERT INTO grdb_migrationkit_journal VALUES
                        (1, '0000', 'applied', NULL, '2024-01-01 00:00:00', 0.5);
                    """
            )
        }
        let zero = Self.step("0000", "SELECT 1")
        let old = try GRDBMigrationRunner(steps: [zero])
        #expect(try old.migrationRecords(in: writer)["0000"]?.seconds == 0.5)
        #expect(try old.migrationRecords(in: writer)["0000"]?.older == nil)
        try GRDBMigrationRunner(steps: [zero, Self.first], appVersion: "1").migrate(in: writer)
        let records = try old.newerMigrations(in: writer)
        #expect(records.map(\.identifier) == ["0001"] && records[0].appVersion == "1")
        // A row of the first release, which doesn't name the columns.
        try writer.write { db in
            try db.execute(
                sql: """
                    INSERT INTO grdb_migrationkit_journal (identifier, event, time)
                    VALUES ('0001', 'repaired', '2024-01-01 00:00:00')
                    """
            )
        }
        #expect(try old.newerMigrations(in: writer).map(\.appVersion) == ["1"])
    }

    // MARK: - Random

    /// What an older version runs works on the new schema with the same result, if the step is judged
    /// so. The engine decides, on two databases: one with the step, one without.
    @Test(arguments: 0..<300)
    func statementsOfTheOlderVersionGiveTheSame(_ seed: Int) throws {
        var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(seed))
        func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
        let columns = [
            "TEXT", "NOT NULL DEFAULT 1", "UNIQUE", "CHECK (body IS NULL)", "REFERENCES note",
            "REFERENCES note ON DELETE SET NULL", "AS (title)", "AS (json(body))",
        ]
        let keys = ["title", "body", "lower(title)", "json(body)", "abs(body)"]
        let actions = ["", "ON DELETE CASCADE", "ON DELETE RESTRICT"]
        let events = ["INSERT", "DELETE", "UPDATE"]
        let changes = (0..<Int.random(in: 1...3, using: &random)).map { number in
            pick([
                "ALTER TABLE note ADD COLUMN c\(number) \(pick(columns))",
                "ALTER TABLE note RENAME COLUMN body TO b\(number)",
                "ALTER TABLE tag DROP COLUMN name",
                "CREATE \(pick(["", "UNIQUE "])) INDEX i\(number) ON note (\(pick(keys)))",
                "CREATE INDEX i\(number) ON note (title) WHERE \(pick(["body > 1", "json(body)"]))",
                "CREATE TABLE t\(number) (n REFERENCES note (id) \(pick(actions)))",
                "CREATE TRIGGER g\(number) AFTER \(pick(events)) ON note "
                    + "BEGIN SELECT \(pick(["1", "RAISE(ABORT, 'x')"])); END",
                "DROP TABLE tag", "DROP VIEW titles", "UPDATE note SET title = 'z' WHERE id = 1",
                "DELETE FROM tag WHERE id = 1", "CREATE VIEW v\(number) AS SELECT * FROM note",
            ])
        }
        // Rows of the newer version refer to those that were there.
        let sql = changes.joined(separator: "; ")
        let queues = try (0..<2).map { _ in
            let queue = try DatabaseQueue()
            try runner().migrate(in: queue)
            try queue.write {
                try $0.execute(sql: "INSERT INTO tag (note, name) VALUES (1, 'x'), (2, 'y')")
            }
            return queue
        }
        let judgement: OlderVersions?
        do {
            judgement = try runner(Self.step("0002", sql)).migrate(in: queues[1]).steps.last?.older
        } catch is DatabaseError {
            return
        }
        guard judgement == .work else { return }
        try queues[1].write { db in
            for number in 0..<3 where try db.tableExists("t\(number)") {
                try db.execute(sql: "INSERT INTO t\(number) VALUES (1), (2)")
            }
        }
        let statements = [
            "INSERT INTO note (id, title, body) VALUES (7, 'q', '{')",
            "INSERT INTO note (title) VALUES ('a'), ('a')",
            "INSERT INTO tag (note, name) VALUES (7, 1)",
            "SELECT id, title, body FROM note ORDER BY id",
            "SELECT note, name FROM tag ORDER BY id",
            "SELECT title FROM titles ORDER BY 1", "UPDATE note SET body = title, title = 'x'",
            "DELETE FROM note WHERE id < 3", "UPDATE tag SET name = 2", "DELETE FROM tag",
            "SELECT id, title, body FROM note ORDER BY id", "DELETE FROM note",
            "SELECT count(*) FROM note",
        ]
        for statement in statements {
            let results = try queues.map { queue in
                try queue.write { db in
                    try Row.fetchAll(db, sql: statement).map { Array($0.databaseValues) }
                }
            }
            #expect(results[0] == results[1], "seed \(seed): \(sql): \(statement)")
        }
    }
}
