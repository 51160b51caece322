import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Steps that take away what a run's promises rest on.
@Suite struct WeakenedConnectionTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: writer)
        try writer.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 2000)
                    INSERT INTO item SELECT i, hex(randomblob(100)) FROM c
                    """
            )
        }
    }

    /// Words that FTS keeps in memory until the commit are no damage to the schema that is read anew.
    @Test(arguments: ["fts5", "fts4"], [MigrationTransaction.perStep, .allOrNothing])
    func aLastStepMayFillAFullTextIndex(
        _ module: String,
        _ transaction: MigrationTransaction
    ) throws {
        let steps: [MigrationStep<Database>] = [
            MigrationStep(identifier: "0004_text") { db in
                try db.execute(
                    sql: """
                        CREATE VIRTUAL TABLE found USING \(module) (name);
                        INSERT INTO found (name) SELECT name FROM item;
                        PRAGMA writable_schema = ON;
                        UPDATE sqlite_schema SET sql = sql WHERE name = 'item';
                        """
                )
            },
            MigrationStep(
                identifier: "0005_words",
                apply: { try $0.execute(sql: "INSERT INTO found (name) VALUES ('one more word')") },
                rollback: { try $0.execute(sql: "DELETE FROM found WHERE name = 'one more word'") }
            ),
        ]
        let runner = try GRDBMigrationRunner(steps: itemSteps() + steps)
        var options = MigrationOptions()
        options.transaction = transaction
        try runner.migrate(in: writer, options: options)
        try writer.write { db in
            try db.execute(sql: "INSERT INTO found (found) VALUES ('integrity-check')")
            let count = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM found WHERE found MATCH 'word'"
            )
            #expect(count == 1)
        }
        try runner.rollbackLastMigration(in: writer)
        try runner.runPostMigrationChecks(in: writer)
    }

    private func weakening(_ pragma: String, usesTransaction: Bool) -> MigrationStep<Database> {
        MigrationStep(
            identifier: "0004_weak",
            sourceFile: "",
            usesTransaction: usesTransaction
        ) { try $0.execute(sql: pragma) }
    }

    private let failing = MigrationStep<Database>(identifier: "0005_failing", sourceFile: "") {
        try $0.execute(sql: "UPDATE item SET name = 'x'; PRAGMA cache_size = 10")
        try $0.execute(sql: "UPDATE item SET name = hex(randomblob(200))")
        throw PlannedFailure()
    }

    @Test(arguments: ["OFF", "MEMORY"], ["delete", "wal", "truncate"])
    func journalComesBackAfterAStepWithoutTransaction(_ mode: String, _ before: String) throws {
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = \(before)")
        }
        let rows = try Everything(of: writer).rows["item"]
        let weak = weakening("PRAGMA journal_mode = \(mode)", usesTransaction: false)
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [weak, failing])
        #expect(throws: PlannedFailure()) { try runner.migrate(in: writer) }
        #expect(try writer.strings("PRAGMA journal_mode") == [before])
        #expect(try Everything(of: writer).rows["item"] == rows)
        #expect(try writer.strings("PRAGMA quick_check") == ["ok"])
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func journalStaysWithinATransaction(_ transaction: MigrationTransaction) throws {
        let before = try Everything(of: writer)
        let failing = failing
        let weak = MigrationStep<Database>(identifier: "0004_weak", sourceFile: "") { db in
            try db.execute(sql: "PRAGMA journal_mode = OFF")
            try failing.apply(db)
        }
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [weak])
        #expect(throws: PlannedFailure()) {
            try runner.migrate(in: writer, options: .init(transaction: transaction))
        }
        #expect(try Everything(of: writer) == before)
        #expect(try writer.strings("PRAGMA quick_check") == ["ok"])
        #expect(try writer.strings("PRAGMA journal_mode") == ["delete"])
    }

    @Test(arguments: [
        ("synchronous", "OFF"), ("ignore_check_constraints", "ON"), ("writable_schema", "ON"),
        ("foreign_keys", "OFF"),
    ])
    func settingsComeBackAfterAStepWithoutTransaction(_ name: String, _ value: String) throws {
        let before = try writer.number("PRAGMA \(name)")
        let seen = Recorder<Int?>()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [
                weakening("PRAGMA \(name) = \(value)", usesTransaction: false),
                MigrationStep(identifier: "0005", sourceFile: "", usesTransaction: false) { db in
                    seen.append(try Int.fetchOne(db, sql: "PRAGMA \(name)"))
                },
            ]
        )
        try runner.migrate(in: writer)
        // A run's commits are synchronized more than the connection's are.
        #expect(seen.values == [name == "synchronous" ? 3 : before])
        #expect(try writer.number("PRAGMA \(name)") == before)
    }

    @Test(arguments: ["ignore_check_constraints", "writable_schema"])
    func settingsComeBackAfterAStep(_ name: String) throws {
        let seen = Recorder<Int?>()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [
                weakening("PRAGMA \(name) = ON", usesTransaction: true),
                MigrationStep(identifier: "0005", sourceFile: "") { db in
                    seen.append(try Int.fetchOne(db, sql: "PRAGMA \(name)"))
                },
            ]
        )
        try runner.migrate(in: writer)
        #expect(seen.values == [0])
        #expect(try writer.number("PRAGMA \(name)") == 0)
    }

    private static let settings = [
        ("query_only", "ON"), ("legacy_alter_table", "ON"), ("recursive_triggers", "ON"),
        ("reverse_unordered_selects", "ON"), ("automatic_index", "OFF"), ("trusted_schema", "OFF"),
        ("cell_size_check", "ON"), ("read_uncommitted", "ON"), ("count_changes", "ON"),
        ("short_column_names", "OFF"), ("full_column_names", "ON"), ("fullfsync", "ON"),
        ("empty_result_callbacks", "ON"), ("checkpoint_fullfsync", "ON"), ("secure_delete", "FAST"),
        ("analysis_limit", "7"), ("cache_size", "7"), ("cache_spill", "OFF"), ("threads", "3"),
        ("max_page_count", "12345"), ("journal_size_limit", "12345"), ("wal_autocheckpoint", "7"),
        ("locking_mode", "EXCLUSIVE"),
    ]

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing], [true, false])
    func everyStepBeginsWithTheSameConnection(
        _ transaction: MigrationTransaction,
        _ usesTransaction: Bool
    ) throws {
        guard usesTransaction || transaction == .perStep else { return }
        @Sendable func state(_ db: Database) throws -> [String] {
            try Self.settings.map { try String.fetchOne(db, sql: "PRAGMA \($0.0)") ?? "" }
                + String.fetchAll(db, sql: "SELECT 'a' LIKE 'A'")
                + String.fetchAll(db, sql: "SELECT group_concat(name) FROM temp.sqlite_master")
                + ["\(sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_COLUMN, -1))"]
        }
        try writer.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TEMP TABLE own (a);
                    CREATE TEMP TRIGGER own_trigger AFTER INSERT ON item BEGIN SELECT 1; END
                    """
            )
        }
        let before = try writer.writeWithoutTransaction(state)
        let seen = Recorder<[String]>()
        let changing: @Sendable (Database) throws -> Void = { db in
            seen.append(try state(db))
            try db.execute(
                sql: """
                    CREATE TEMP TABLE left_over (a PRIMARY KEY);
                    CREATE TEMP VIEW left_view AS SELECT 1;
                    CREATE TEMP TRIGGER left_trigger AFTER INSERT ON item BEGIN SELECT 1; END;
                    CREATE VIRTUAL TABLE temp.left_text USING fts5 (a);
                    CREATE INDEX temp.left_index ON own (a);
                    PRAGMA case_sensitive_like = ON
                    """
            )
            sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_COLUMN, 7)
            for (name, value) in Self.settings.reversed() {
                try db.execute(sql: "PRAGMA \(name) = \(value)")
            }
            let unchanged = try zip(state(db), before).enumerated().filter { $1.0 == $1.1 }
            #expect(unchanged.map(\.offset) == [])
        }
        let steps = ["0004", "0005"].map {
            MigrationStep<Database>(
                identifier: $0,
                sourceFile: "",
                usesTransaction: usesTransaction,
                apply: changing,
                rollback: changing
            )
        }
        let runner = try GRDBMigrationRunner(steps: itemSteps() + steps)
        try runner.migrate(in: writer, options: .init(transaction: transaction))
        try runner.rollbackMigrations(
            in: writer,
            steps: 2,
            options: .init(transaction: transaction)
        )
        #expect(seen.values == Array(repeating: before, count: 4))
        #expect(try writer.writeWithoutTransaction(state) == before)
    }

    /// Steps of one run and of two runs have the same result.
    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func aStepDependsOnNothingThatTheOneBeforeHasLeft(
        _ transaction: MigrationTransaction
    ) throws {
        let steps = [
            step("0004", "PRAGMA legacy_alter_table = ON; CREATE TEMP TABLE note (a)"),
            step("0005", "CREATE TABLE note (a)"),
            step("0006", "INSERT INTO note VALUES (1); ALTER TABLE item RENAME TO thing"),
        ]
        try GRDBMigrationRunner(steps: itemSteps() + steps)
            .migrate(in: writer, options: .init(transaction: transaction))
        #expect(try writer.number("SELECT count(*) FROM note") == 1)
        let parents = try writer.strings("SELECT \"table\" FROM pragma_foreign_key_list('tag')")
        #expect(parents == ["thing"])
    }

    @Test func aViolationThatAStepDefersIsFound() throws {
        let orphan = MigrationStep<Database>(
            identifier: "0004",
            sourceFile: "",
            foreignKeyChecks: .immediate
        ) { db in
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON; INSERT INTO tag VALUES (1, -1)")
        }
        #expect(throws: DatabaseError.self) {
            try GRDBMigrationRunner(steps: itemSteps() + [orphan]).migrate(in: writer)
        }
    }

    @Test func rowsThatIgnoreTheirConstraintsAreFound() throws {
        let step = step(
            "0004",
            """
            CREATE TABLE positive (n INTEGER CHECK (n > 0));
            PRAGMA ignore_check_constraints = ON;
            INSERT INTO positive VALUES (-1)
            """
        )
        #expect(throws: GRDBMigrationVerificationError.self) {
            try GRDBMigrationRunner(steps: itemSteps() + [step]).migrate(in: writer)
        }
        #expect(try writer.tables() == ["item", "tag"])
    }

    // MARK: - The Schema's Own Table

    private static let garbage = [
        "UPDATE sqlite_schema SET sql = 'garbage' WHERE name = 'item'",
        "UPDATE sqlite_schema SET rootpage = 10000 WHERE name = 'item'",
        """
        UPDATE sqlite_schema SET rootpage = \
        (SELECT rootpage FROM sqlite_schema WHERE name = 'tag') WHERE name = 'item'
        """,
        """
        INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) \
        VALUES ('table', 'odd', 'odd', 2, 'CREATE TABL odd (a)')
        """,
    ]

    @Test(arguments: garbage, [MigrationTransaction.perStep, .allOrNothing])
    func garbageInTheSchemaIsUndone(_ sql: String, _ transaction: MigrationTransaction) throws {
        let before = try Everything(of: writer)
        for further in [[], [step("0005", "CREATE TABLE later (id)")]] {
            let garbage = step(
                "0004",
                "PRAGMA writable_schema = ON; \(sql); PRAGMA writable_schema = OFF"
            )
            let runner = try GRDBMigrationRunner(steps: itemSteps() + [garbage] + further)
            let error = #expect(throws: (any Error).self) {
                try runner.migrate(in: writer, options: .init(transaction: transaction))
            }
            #expect(error is GRDBMigrationSchemaError || error is GRDBMigrationVerificationError)
            #expect(try Everything(of: writer) == before)
            #expect(try Everything(of: store.open()) == before)
        }
    }

    /// SQLite's own advice for adding a constraint without a rebuild, with a row that breaks it.
    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func schemaThatTheRowsDoNotFitIsNoDamage(_ transaction: MigrationTransaction) throws {
        let edit = step(
            "0004",
            """
            CREATE TABLE loose (id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO loose (name) VALUES (NULL);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT', 'name TEXT NOT NULL')
                WHERE name = 'loose';
            PRAGMA writable_schema = OFF
            """
        )
        let before = try Everything(of: writer)
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [edit])
        let error = #expect(throws: GRDBMigrationVerificationError.self) {
            try runner.migrate(in: writer, options: .init(transaction: transaction))
        }
        #expect(error == .schemaEditFailed(result: "NULL value in loose.name"))
        let text = "\(error?.errorDescription ?? "") \(error?.recoverySuggestion ?? "")"
        #expect(text.contains("the tables don't fit the schema that it wrote"))
        #expect(!text.contains("is damaged") && !text.contains("backup"), "\(text)")
        #expect(error?.code.name == "verificationFailed")
        #expect(try Everything(of: writer) == before)
    }

    @Test func garbageInTheSchemaIsUndoneInARollback() throws {
        let garbage = step(
            "0004",
            "CREATE TABLE a (id)",
            down: "PRAGMA writable_schema = ON; \(Self.garbage[0])"
        )
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [garbage])
        try runner.migrate(in: writer)
        let before = try Everything(of: writer)
        #expect(throws: GRDBMigrationSchemaError.self) {
            try runner.rollbackLastMigration(in: writer)
        }
        #expect(try Everything(of: store.open()) == before)
    }

    @Test func rowsThatAreTakenOutOfTheSchemaAreNoticed() throws {
        let orphan = step(
            "0004",
            """
            PRAGMA writable_schema = ON;
            DELETE FROM sqlite_schema WHERE name = 'tag';
            PRAGMA writable_schema = OFF
            """
        )
        let before = try Everything(of: writer)
        #expect(throws: GRDBMigrationSchemaError.self) {
            try GRDBMigrationRunner(steps: itemSteps() + [orphan]).migrate(in: writer)
        }
        #expect(try Everything(of: store.open()) == before)
    }

    @Test func garbageInTheSchemaIsReportedWithoutATransaction() throws {
        let garbage = MigrationStep<Database>(
            identifier: "0004",
            sourceFile: "",
            usesTransaction: false
        ) { try $0.execute(sql: "PRAGMA writable_schema = ON; \(Self.garbage[0])") }
        #expect(throws: GRDBMigrationSchemaError.self) {
            try GRDBMigrationRunner(steps: itemSteps() + [garbage]).migrate(in: writer)
        }
    }

    /// The last check before the commit is a host's, and so is this change.
    @Test func connectionThatHasNeverSeenTheSchemaReadsItInTheEnd() throws {
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004", "CREATE TABLE a (id)")],
            integration: .init(verifyBeforeCommit: { db in
                try db.execute(sql: "PRAGMA writable_schema = ON; \(Self.garbage[0])")
            })
        )
        #expect(throws: GRDBMigrationSchemaError.self) { try runner.migrate(in: writer) }
    }

    /// <https://www.sqlite.org/lang_altertable.html#otheralter>, the shorter procedure.
    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func schemaThatIsWrittenAsSQLiteDocumentsItIsThere(
        _ transaction: MigrationTransaction
    ) throws {
        let steps = [
            step(
                "0004",
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema
                SET sql = 'CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)'
                WHERE type = 'table' AND name = 'item';
                PRAGMA writable_schema = OFF
                """
            ),
            step("0005", "INSERT INTO item (name) VALUES ('b')"),
        ]
        try GRDBMigrationRunner(steps: itemSteps() + steps)
            .migrate(in: writer, options: .init(transaction: transaction))
        #expect(throws: DatabaseError.self) {
            try writer.write { try $0.execute(sql: "INSERT INTO item (name) VALUES (NULL)") }
        }
    }
}
