import Foundation
import TestSupport
import Testing

/// What was changed behind the tool's back is found on encrypted files.
@Suite struct DriftTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_notes",
            up: """
                CREATE TABLE folders (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE);
                CREATE TABLE notes (
                    id INTEGER PRIMARY KEY, folder INTEGER REFERENCES folders,
                    title TEXT CHECK (length(title) > 0)
                );
                CREATE VIRTUAL TABLE search USING fts5 (title);
                INSERT INTO search VALUES ('a');
                """,
            down: "DROP TABLE search; DROP TABLE notes; DROP TABLE folders;"
        )
        try tool.write(
            "0002_title",
            up: """
                CREATE INDEX notes_title ON notes (title);
                CREATE VIEW titles AS SELECT title FROM notes;
                CREATE TRIGGER shrink AFTER UPDATE ON notes BEGIN SELECT 1; END;
                """,
            down: "DROP TRIGGER shrink; DROP VIEW titles; DROP INDEX notes_title;"
        )
    }

    private func migrate(_ arguments: String...) throws {
        let result = try tool.run(
            ["migrate"] + tool.opening + ["--migrations", tool.migrations] + arguments
        )
        try #require(result.status == 0, "\(result)")
    }

    /// The check `schema` of 'verify'.
    private func check(
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String: Any] {
        let result = try tool.run(
            ["verify", "--json"] + tool.opening + ["--migrations", tool.migrations] + arguments
        )
        let checks = try #require(try result.json()["checks"] as? [[String: Any]])
        let check = try #require(checks.first { $0["name"] as? String == "schema" })
        let ok = check["ok"] as? Bool == true
        #expect(result.status == (ok ? 0 : 2), "\(result)", sourceLocation: sourceLocation)
        if !ok {
            #expect(try result.jsonError()["code"] as? String == "verificationFailed")
        }
        return check
    }

    private func expectHealthy(
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let options = tool.opening + ["--migrations", tool.migrations] + arguments
        let verified = try tool.run(["verify"] + options)
        #expect(verified.status == 0, "\(verified)", sourceLocation: sourceLocation)
        #expect(verified.stdout.contains("ok      schema\n"), sourceLocation: sourceLocation)
        #expect(!verified.stdout.contains("not compared"), sourceLocation: sourceLocation)
        let full = try tool.run(["verify", "--full", "--json"] + options)
        #expect(full.status == 0, "\(full)", sourceLocation: sourceLocation)
        let status = try tool.run(["status", "--json"] + options)
        #expect(try (status.json()["drift"] as? [Any])?.count == 0, sourceLocation: sourceLocation)
    }

    // MARK: - Drift

    private static let drifts = [
        ("CREATE TABLE own (id);", "table own comes from no applied migration"),
        ("DROP TABLE search;", "table search is missing"),
        (
            "ALTER TABLE folders ADD COLUMN color TEXT;",
            "column folders.color comes from no applied migration"
        ),
        ("DROP INDEX notes_title;", "table notes: index notes_title is missing"),
        (
            "CREATE UNIQUE INDEX own ON notes (folder);",
            "table notes: index own comes from no applied migration"
        ),
        ("DROP TRIGGER shrink;", "table notes: trigger shrink is missing"),
        (
            "CREATE TRIGGER own AFTER INSERT ON notes BEGIN SELECT 1; END;",
            "table notes: trigger own comes from no applied migration"
        ),
        ("DROP VIEW titles;", "view titles is missing"),
        ("CREATE VIEW own AS SELECT 1;", "view own comes from no applied migration"),
        (
            "DROP VIEW titles; CREATE VIEW titles AS SELECT id FROM notes;",
            "view titles differs from that of the migrations"
        ),
    ]

    @Test(arguments: drifts)
    func everyDriftIsFound(_ sql: String, _ text: String) throws {
        try migrate()
        _ = try tool.shell(sql)
        let check = try check()
        #expect(check["ok"] as? Bool == false)
        let findings = try #require(check["findings"] as? [[String: Any]])
        #expect(findings.map { $0["text"] as? String } == [text])
        let verified = try tool.onStore("verify")
        #expect(verified.stdout.contains("FAILED  schema\n"))
        #expect(verified.stdout.contains("        - \(text)\n"))
        #expect(verified.stderr.contains("repair"))
        #expect(try tool.onStore("verify", "--full").status == 2)

        let status = try tool.onStore("status")
        #expect(status.status == 0)
        #expect(status.stdout.contains("\n  - \(text)\n"))
        #expect(try tool.onStore("status", "--exit-code").status == 2)
        let document = try tool.onStore("status", "--json").json()
        let drift = try #require(document["drift"] as? [[String: Any]])
        #expect(drift.map { $0["text"] as? String } == [text])
    }

    @Test(arguments: [
        ("name TEXT COLLATE RTRIM CHECK (name <> '')", "give TEXT NOT NULL"),
        ("name TEXT NOT NULL COLLATE NOCASE CHECK (name <> '')", "COLLATE NOCASE"),
        ("name TEXT NOT NULL COLLATE RTRIM CHECK (name <> ' ')", "CHECK"),
        ("name TEXT NOT NULL COLLATE RTRIM", "CHECK"),
        ("name ANY NOT NULL COLLATE RTRIM CHECK (name <> '')", "ANY"),
    ])
    func everyChangedDefinitionIsFound(_ definition: String, _ words: String) throws {
        try tool.write(
            "0003_tags",
            up: "CREATE TABLE tags (name TEXT NOT NULL COLLATE RTRIM CHECK (name <> ''));"
        )
        try migrate()
        _ = try tool.shell("DROP TABLE tags; CREATE TABLE tags (\(definition));")
        let findings = try #require(check()["findings"] as? [[String: Any]])
        #expect(findings.contains { ($0["text"] as? String)?.contains(words) == true })
        #expect(findings.allSatisfy { $0["table"] as? String == "tags" })
        let drift = try tool.onStore("status", "--json").json()["drift"] as? [[String: Any]]
        #expect(drift?.count == findings.count)
    }

    @Test func pendingComesBeforeDrift() throws {
        try migrate("--to", "0001")
        _ = try tool.shell("CREATE TABLE own (id);")
        #expect(try tool.onStore("status", "--exit-code").status == 3)
        #expect(try check()["ok"] as? Bool == false)
        // A run is not asked about it.
        try migrate()
    }

    // MARK: - Healthy Databases

    @Test func migratedDatabasesAreHealthy() throws {
        try migrate("--to", "0001")
        try expectHealthy()
        try migrate()
        try expectHealthy()
        #expect(try tool.onStore("rollback").status == 0)
        try expectHealthy()
        try migrate("--all-or-nothing")
        _ = try tool.shell("ANALYZE;")
        try expectHealthy()
        #expect(try tool.onStore("status", "--exit-code").status == 0)
    }

    @Test func theExampleIsHealthy() throws {
        let options = tool.opening + ["--migrations", PackageFolder.notesMigrations]
        #expect(try tool.run(["migrate"] + options).status == 0)
        let verified = try tool.run(["verify", "--full"] + options)
        #expect(verified.status == 0, "\(verified)")
        #expect(verified.stdout.contains("ok      schema  "))
        #expect(!verified.stdout.contains("not compared"))
    }

    @Test func loadedDatabasesAreHealthy() throws {
        let dump = tool.folder.path("schema.sql")
        let written = try tool.run(
            "schema-dump",
            "--migrations",
            tool.migrations,
            "--output",
            dump
        )
        #expect(written.status == 0, "\(written)")
        let loaded = try tool.run(
            ["schema-load", dump] + tool.opening + ["--migrations", tool.migrations]
        )
        #expect(loaded.status == 0, "\(loaded)")
        try expectHealthy()
    }

    @Test func baselinedDatabasesAreComparedByTheirSchema() throws {
        try migrate()
        _ = try tool.shell("DROP TABLE grdb_migrations; DROP TABLE grdb_migrationkit_journal;")
        #expect(try check()["note"] as? String == "not compared: no migration is applied")
        #expect(try !tool.onStore("status").stdout.contains("compared"))
        #expect(try tool.onStore("baseline", "0002").status == 0)
        try expectHealthy()
    }

    @Test func recordsOfOtherToolsAreNoDrift() throws {
        try migrate()
        _ = try tool.shell(
            """
            CREATE TABLE schema_migrations (version); CREATE TABLE alembic_version (version_num);
            CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT);
            CREATE TABLE flyway_schema_history (installed_rank INT);
            CREATE INDEX flyway_schema_history_s_idx ON flyway_schema_history (installed_rank);
            CREATE TABLE __diesel_schema_migrations (version); CREATE TABLE _sqlx_migrations (v);
            CREATE TABLE refinery_schema_history (version);
            CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE);
            CREATE TABLE _yoyo_migration (migration_hash VARCHAR(64), PRIMARY KEY (migration_hash));
            CREATE TABLE _yoyo_log (id VARCHAR(36), PRIMARY KEY (id));
            CREATE TABLE _yoyo_version (version INT NOT NULL PRIMARY KEY);
            CREATE TABLE yoyo_lock (locked INT DEFAULT 1, PRIMARY KEY (locked));
            """
        )
        try expectHealthy()
    }

    /// `migrations` is what an app may call a table of its own.
    @Test func laravelsRecordIsKnownByItsColumns() throws {
        try migrate()
        _ = try tool.shell(
            """
            CREATE TABLE "migrations" ("id" integer primary key autoincrement not null, \
            "migration" varchar not null, "batch" integer not null);
            """
        )
        try expectHealthy()
        let written = try tool.run(
            ["schema-dump", "--migrations", tool.migrations]
                + ["--output", tool.folder.path("schema.sql")]
        )
        #expect(written.status == 0, "\(written)")
        let key = tool.opening
        let compared = try tool.run(
            ["schema-dump", "--check", tool.folder.path("schema.sql")] + key
        )
        #expect(compared.status == 0, "\(compared)")
        _ = try tool.shell("ALTER TABLE migrations ADD COLUMN moved_at TEXT;")
        #expect(try check()["ok"] as? Bool == false)
    }

    @Test func theDatabaseOfAnotherToolIsHealthyOnceItIsAdopted() throws {
        let plain = [
            "--db-path", tool.database, "--no-encryption", "--migrations", tool.migrations,
        ]
        _ = try SQLiteShell.run(
            tool.database,
            """
            CREATE TABLE schema_migrations (version varchar(128) primary key);
            INSERT INTO schema_migrations VALUES ('0001');
            """
                + String(
                    contentsOfFile: "\(tool.migrations)/0001_notes.sql",
                    encoding: .utf8
                ).components(separatedBy: "-- migrate:down")[0]
        )
        let verified = try tool.run(["verify"] + plain)
        #expect(verified.status == 0, "\(verified)")
        #expect(verified.stdout.contains("(not compared: no migration is applied)"))
        #expect(try tool.run(["migrate", "--adopt", "dbmate"] + plain).status == 0)
        let adopted = try tool.run(["verify"] + plain)
        #expect(adopted.stdout.contains("ok      schema\nThe database is sound."), "\(adopted)")
    }

    // MARK: - Not Compared

    @Test func whatCannotBeToldIsNoFailure() throws {
        try migrate()
        _ = try tool.shell("INSERT INTO grdb_migrations VALUES ('0009_newer');")
        #expect(try check()["note"] as? String == "not compared: unknown migrations are applied")
        let status = try tool.onStore("status", "--json").json()
        #expect(status["drift"] == nil)
        #expect(status["driftNote"] as? String == "unknown migrations are applied")
        let repair = try tool.onStore("repair", "--schema", "--json")
        #expect(repair.status == 65)
        #expect(try repair.jsonError()["code"] as? String == "schemaNotCompared")
    }

    /// As if the database had been migrated by another program.
    private func loseTheRecord() throws {
        _ = try tool.shell("DELETE FROM grdb_migrationkit_journal WHERE event = 'schema';")
    }

    @Test func aMigrationThatNeedsRowsIsNoFailure() throws {
        try migrate()
        _ = try tool.shell("INSERT INTO notes (title) VALUES ('a');")
        try tool.write(
            "0003_needs_rows",
            up: """
                CREATE TABLE counts (n INTEGER NOT NULL);
                INSERT INTO counts SELECT (SELECT id FROM notes);
                """
        )
        try migrate()
        try loseTheRecord()
        let note = try #require(check()["note"] as? String)
        #expect(note.hasPrefix("not compared: 0003_needs_rows can't run in an empty database: "))
        #expect(note.hasSuffix("NOT NULL constraint failed: counts.n"))
        let status = try tool.onStore("status")
        #expect(status.stdout.contains("The schema is not compared: 0003_needs_rows can't run"))
        #expect(try tool.onStore("status", "--exit-code").status == 0)
    }

    @Test func anAppliedDraftIsNoFailure() throws {
        try migrate()
        try tool.write("0002_title", up: "", down: "")
        #expect((try check()["note"] as? String)?.contains("0002_title can't run") == true)
    }

    // MARK: - Ignored Tables

    @Test func ignoredTablesAreLeftOut() throws {
        try migrate()
        _ = try tool.shell(
            """
            CREATE TABLE cache_a (id); CREATE INDEX cache_i ON cache_a (id);
            CREATE TABLE own (id);
            """
        )
        #expect((try check()["findings"] as? [Any])?.count == 3)
        try expectHealthy("--ignore-table", "cache_*", "--ignore-table", "OWN")

        let settings = tool.folder.path("own.toml")
        try tool.folder.write("own.toml", #"ignore-table = ["cache_*"]"#.utf8)
        let rest = try check("--config", settings)["findings"] as? [[String: Any]]
        #expect(rest?.map { $0["table"] as? String } == ["own"])
        try expectHealthy("--config", settings, "--ignore-table", "own")

        let shown = try tool.onStore("status", "--show-settings", "--config", settings)
        #expect(shown.stdout.contains(/ignore-table +cache_\* +/))
        try tool.folder.write("own.toml", "ignore-table = [1]".utf8)
        let refused = try tool.onStore("status", "--config", settings)
        #expect(refused.status == 64)
        #expect(refused.stderr.contains("must be an array of non-empty strings"))
    }

    // MARK: - Dumps

    @Test(arguments: ["sql", "json", "mermaid", "dot"])
    func aHealthyDatabaseIsDumpedAsItsMigrationsAre(_ format: String) throws {
        try migrate()
        let options = ["schema-dump", "--format", format]
        let live = try tool.run(options + tool.opening)
        let folder = try tool.run(options + ["--migrations", tool.migrations])
        #expect(live.status == 0, "\(live)")
        #expect(live.stdout == folder.stdout)
    }

    @Test func aDumpOfADatabaseHasItsOwnObjects() throws {
        try migrate("--to", "0001")
        _ = try tool.shell("CREATE TABLE own (id);")
        let before = try tool.folder.data("store.db")
        let dump = try tool.run(["schema-dump"] + tool.opening).stdout
        #expect(dump.contains("CREATE TABLE own (id);"))
        #expect(!dump.contains("notes_title"))
        #expect(!dump.contains("search_content"))
        #expect(!dump.contains("journal"))
        #expect(
            dump.hasSuffix("INSERT INTO grdb_migrations (identifier) VALUES\n    ('0001_notes');\n")
        )

        let file = tool.folder.path("live.sql")
        #expect(try tool.run(["schema-dump", "--output", file] + tool.opening).status == 0)
        #expect(try tool.run(["schema-dump", "--check", file] + tool.opening).status == 0)
        _ = try tool.shell("DROP TABLE own;")
        let differs = try tool.run(["schema-dump", "--check", file] + tool.opening)
        #expect(differs.status == 3)
        #expect(differs.stdout.contains("\n-CREATE TABLE own (id);\n"))
        #expect(differs.stderr.contains("differs from the schema of the database"))
        #expect(differs.stderr.contains("schema-dump --db-path \(tool.database) --output"))
        #expect(try tool.folder.data("store.db").count == before.count)
    }

    @Test func onlyTheCommandLineNamesADatabaseToDump() throws {
        try migrate()
        var keyless = tool
        keyless.environment["MIGRATIONKIT_DB_PATH"] = tool.folder.path("missing.db")
        let dump = try keyless.run("schema-dump", "--migrations", tool.migrations)
        #expect(dump.status == 0, "\(dump)")
        for option in [["--raw-key"], ["--no-encryption"], ["--keychain-service", "x"]] {
            let refused = try tool.run(["schema-dump", "--migrations", tool.migrations] + option)
            #expect(refused.status == 64)
            #expect(refused.stderr.contains("\(option[0]) needs --db-path"))
        }
        #expect(try tool.run("schema-dump", "--db-path", "missing.db", "--no-prompt").status == 64)
        #expect(try tool.run(["schema-dump"] + tool.opening.dropLast()).status == 77)
    }

    // MARK: - Repair

    @Test func aHealthySchemaNeedsNoRepair() throws {
        try migrate()
        let repair = try tool.onStore("repair", "--schema")
        #expect(repair.stdout == "The schema is that of the applied migrations.\n")
        let file = tool.folder.path("repair.sql")
        #expect(try tool.onStore("repair", "--schema", "--output", file).status == 0)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func theRepairIsWrittenAndBringsTheSchemaBack() throws {
        try migrate()
        _ = try tool.shell(
            """
            INSERT INTO folders VALUES (1, 'a'), (2, 'b');
            ALTER TABLE folders ADD COLUMN color TEXT; DROP INDEX notes_title;
            CREATE TABLE own (id); INSERT INTO own VALUES (1), (2), (3);
            CREATE TABLE kept (id); DROP TRIGGER shrink;
            """
        )
        let before = try tool.folder.data("store.db")
        let options = ["--ignore-table", "kept"]
        let all = ["repair", "--schema"] + tool.opening + ["--migrations", tool.migrations]
        let repair = try tool.run(all + options)
        #expect(repair.status == 0, "\(repair)")
        #expect(repair.stdout.contains("-- - table own comes from no applied migration\n"))
        #expect(repair.stdout.contains("(3 rows)"))
        #expect(repair.stdout.contains(/-- - drop-table: .*own/))

        let file = tool.folder.path("repair.sql")
        let written = try tool.run(all + options + ["--output", file, "--json"])
        #expect(written.status == 0, "\(written)")
        let document = try written.json()
        #expect(document["output"] as? String == file)
        #expect((document["drift"] as? [Any])?.count == 4)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text == repair.stdout)
        // Nothing has changed yet.
        #expect(try tool.folder.data("store.db") == before)

        #expect(try tool.shell(text) == "")
        try expectHealthy("--ignore-table", "kept")
        #expect(try tool.shell("SELECT name FROM folders ORDER BY id;") == "a\nb")
        #expect(try tool.shell("SELECT count(*) FROM kept;") == "0")
    }

    /// The shell goes on after an error, and would drop the table, unless the script ends it.
    @Test func aRowThatTheRepairRefusesKeepsTheTable() throws {
        try migrate()
        _ = try tool.shell(
            """
            DROP TRIGGER shrink; DROP VIEW titles; DROP INDEX notes_title;
            CREATE TABLE other (id INTEGER PRIMARY KEY, folder INTEGER, title TEXT);
            INSERT INTO other VALUES (1, NULL, 'a'), (2, NULL, '');
            DROP TABLE notes; ALTER TABLE other RENAME TO notes;
            """
        )
        let file = tool.folder.path("repair.sql")
        try #require(tool.onStore("repair", "--schema", "--output", file).status == 0)
        let input = "PRAGMA key = \"x'\(tool.password)'\";\n.read \(file)\nCOMMIT;\n"
        let result = try run("sqlcipher", ["-batch", tool.database], input: input.utf8)
        #expect(result.stderr.contains("CHECK constraint failed"), "\(result)")
        #expect(try tool.shell("SELECT count(*) FROM notes;") == "2")
    }

    @Test func aRowWithoutAParentKeepsTheRepairFromBeingCommitted() throws {
        try migrate()
        _ = try tool.shell(
            "INSERT INTO notes VALUES (1, 7, 'a'); DROP INDEX notes_title; DROP TRIGGER shrink;"
        )
        let file = tool.folder.path("repair.sql")
        try #require(tool.onStore("repair", "--schema", "--output", file).status == 0)
        let input = "PRAGMA key = \"x'\(tool.password)'\";\n.read \(file)\nCOMMIT;\n"
        let result = try run("sqlcipher", ["-batch", tool.database], input: input.utf8)
        #expect(result.stderr.contains("constraint failed"), "\(result)")
        #expect(try tool.shell("SELECT count(*) FROM sqlite_schema WHERE name = 'shrink';") == "0")
    }

    @Test func aRequiredColumnThatIsMissingGetsEmptyValues() throws {
        try migrate()
        _ = try tool.shell(
            "INSERT INTO folders VALUES (1, 'a'); ALTER TABLE folders DROP COLUMN name;"
        )
        let repair = try tool.onStore("repair", "--schema")
        try #require(repair.status == 0, "\(repair)")
        #expect(repair.stdout.contains("Missing columns are added again without their old values."))
        #expect(try tool.shell(repair.stdout) == "")
        try expectHealthy()
        #expect(try tool.shell("SELECT id, quote(name) FROM folders;") == "1|''")
    }

    @Test func theRepairOfTheSchemaStandsAlone() throws {
        try migrate()
        for arguments in [
            ["0001", "--schema"], ["--schema", "--forget", "0001"], ["0001", "--output", "x"],
            ["0001", "--ignore-table", "x"],
        ] {
            let refused = try tool.run(["repair"] + tool.opening + arguments)
            #expect(refused.status == 64, "\(refused)")
        }
    }
}
