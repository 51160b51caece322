import Foundation
import TestSupport
import Testing

@Suite struct SchemaLoadTests {
    let tool: Tool
    let dump: String

    init() throws {
        tool = try Tool(isRawKey: true)
        dump = tool.folder.path("schema.sql")
    }

    private func writeDump(of migrations: String) throws {
        let written = try tool.run("schema-dump", "--migrations", migrations, "--output", dump)
        #expect(written.status == 0, "\(written)")
    }

    private func load(_ arguments: String..., migrations: String? = nil) throws -> ProcessResult {
        let folder = ["--migrations", migrations ?? tool.migrations]
        return try tool.run(["schema-load", dump] + tool.opening + folder + arguments)
    }

    /// Expects that loading fails, and that nothing is there afterwards which was not before.
    private func expectRefusal(
        _ code: String,
        exit: Int,
        saying words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try tool.folder.names
        let result = try load("--json")
        #expect(result.status == Int32(exit), "\(result)", sourceLocation: sourceLocation)
        #expect(result.stdout.isEmpty, sourceLocation: sourceLocation)
        let error = try result.jsonError()
        #expect(error["code"] as? String == code, sourceLocation: sourceLocation)
        let text = "\(error["message"] ?? "") \(error["hint"] ?? "")"
        for word in words {
            #expect(text.contains(word), "\(text)", sourceLocation: sourceLocation)
        }
        #expect(try tool.folder.names == before, sourceLocation: sourceLocation)
    }

    @Test func aLoadedDatabaseIsLikeAMigratedOne() throws {
        try writeDump(of: PackageFolder.notesMigrations)
        let loaded = try load(migrations: PackageFolder.notesMigrations)
        #expect(loaded.status == 0, "\(loaded)")
        #expect(loaded.stdout.hasSuffix("Nothing is pending.\n"))
        #expect(loaded.stderr.isEmpty)
        #expect(tool.folder.mode("store.db") == 0o600)
        #expect(try tool.folder.names == ["migrations", "password", "schema.sql", "store.db"])
        #expect(try !tool.folder.data("store.db").starts(with: Array("SQLite format 3".utf8)))

        let other = try Tool(isRawKey: true)
        let options = other.opening + ["--migrations", PackageFolder.notesMigrations]
        #expect(try other.run(["migrate"] + options).status == 0)
        // Shadow tables, indexes of constraints and all.
        let schema = """
            SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name;
            SELECT identifier FROM grdb_migrations ORDER BY identifier;
            """
        #expect(try tool.shell(schema) == other.shell(schema))

        let again = try tool.run(
            ["migrate"] + tool.opening + ["--migrations", PackageFolder.notesMigrations]
        )
        #expect(again.stdout.hasPrefix("Nothing to apply."))
        let back = try tool.run(
            ["rollback", "--steps", "15"] + tool.opening
                + ["--migrations", PackageFolder.notesMigrations]
        )
        #expect(back.status == 0, "\(back)")
    }

    @Test func laterMigrationsArePendingAndFollow() throws {
        try tool.writeItems()
        try writeDump(of: tool.migrations)
        try tool.write("0004_late", up: "ALTER TABLE item ADD COLUMN late TEXT;")
        let document = try load("--json").json()
        #expect(document["database"] as? String == tool.database)
        #expect(document["recorded"] as? [String] == ["0001_items", "0002_row", "0003_tags"])
        #expect(document["pending"] as? [String] == ["0004_late"])
        let migrated = try tool.onStore("migrate", "--json").json()
        #expect((migrated["applied"] as? [[String: Any]])?.count == 1)
    }

    /// Other programs tell by these numbers what a file is.
    @Test func numbersOfTheHeaderAreKept() throws {
        try tool.write("0001_a", up: "CREATE TABLE a (x);\nPRAGMA user_version = 7;")
        try tool.write("0002_b", up: "PRAGMA application_id = -559038737;")
        try writeDump(of: tool.migrations)
        let text = try String(contentsOfFile: dump, encoding: .utf8)
        #expect(text.hasPrefix("PRAGMA user_version = 7;\n"), "\(text)")
        let loaded = try load()
        #expect(loaded.status == 0, "\(loaded)")
        #expect(
            try tool.shell("PRAGMA user_version; PRAGMA application_id;").contains(
                "7\n-559038737"
            )
        )
        for arguments in [["--migrations", tool.migrations], tool.opening] {
            let check = ["schema-dump", "--check", dump] + arguments
            #expect(try tool.run(check).status == 0)
            // An older version of this tool has left them out.
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("PRAGMA") }
            try tool.folder.write("schema.sql", lines.joined(separator: "\n").utf8)
            let compared = try tool.run(check)
            #expect(compared.status == 3, "\(compared)")
            #expect(compared.stdout.contains("+PRAGMA user_version = 7;"), "\(compared)")
            let difference = try tool.run(
                ["schema-diff", "--to", dump, "--exit-code", "--migrations", tool.migrations]
            )
            #expect(difference.status == 0, "\(difference)")
            // What is written by hand need not have them, as it need not have the migrations.
            try tool.folder.write("schema.sql", "create table a (x);".utf8)
            #expect(try tool.run(check).status == 0)
            try tool.folder.write("schema.sql", text.utf8)
        }
        let verified = try tool.onStore("verify")
        #expect(verified.status == 0, "\(verified)")
    }

    @Test func dumpOfAnOlderVersionStillLoads() throws {
        try tool.write("0001_a", up: "CREATE TABLE a (x);\nPRAGMA user_version = 7;")
        let old = """
            CREATE TABLE a (x);

            -- The migrations that have led here.
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations (identifier) VALUES
                ('0001_a');

            """
        try tool.folder.write("schema.sql", old.utf8)
        let loaded = try load()
        #expect(loaded.status == 0, "\(loaded)")
        #expect(try tool.shell("PRAGMA user_version;").contains("0"))
    }

    @Test func whatIsThereAlreadyStays() throws {
        try tool.writeItems()
        try writeDump(of: tool.migrations)
        #expect(try tool.onStore("migrate").status == 0)
        let before = try tool.folder.data("store.db")
        try expectRefusal("databaseExists", exit: 73, saying: "already exists")
        #expect(try tool.folder.data("store.db") == before)
    }

    @Test func migrationsThatTheFolderDoesNotHaveAreNamed() throws {
        try tool.writeItems()
        try tool.write("0004_gone", up: "CREATE TABLE gone (id);")
        try writeDump(of: tool.migrations)
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0004_gone.sql"))
        try expectRefusal("dumpMigrationsDiffer", exit: 65, saying: "0004_gone")
    }

    @Test func aDumpThatLacksAnEarlierMigrationIsRefused() throws {
        try tool.writeItems()
        try writeDump(of: tool.migrations)
        try tool.write("0000_late", up: "CREATE TABLE late (id);")
        try expectRefusal("dumpMigrationsDiffer", exit: 65, saying: "0000_late")
    }

    @Test(arguments: [
        ("", "doesn't list its migrations"),
        ("CREATE TABLE item (id INTEGER);", "doesn't list its migrations"),
        ("BEGIN; CREATE TABLE item (id INTEGER); COMMIT;", "BEGIN, COMMIT or ROLLBACK"),
        ("PRAGMA key = 'secret';", "PRAGMA about the key"),
        ("ATTACH 'x' AS y KEY 'secret';", "ATTACH"),
        ("CREATE TABLE item (id INTEGER); VACUUM;", "schema.sql:1:33: a dump can't contain VACUUM"),
    ])
    func anUnusableDumpIsRefused(_ sql: String, _ reason: String) throws {
        try tool.writeItems()
        try tool.folder.write("schema.sql", sql.utf8)
        try expectRefusal("unusableDump", exit: 65, saying: reason)
        #expect(try !load().stderr.contains("secret"))
    }

    @Test func aDumpThatIsNotThereIsToldBeforeAnyKeyIsAskedFor() throws {
        try tool.writeItems()
        try expectRefusal("noSuchFile", exit: 66, saying: "there is no file")
    }

    @Test func aStatementThatFailsLeavesNothing() throws {
        try tool.writeItems()
        try tool.folder.write("schema.sql", "CREATE TABLE a (id);\nCREATE TABEL b (id);".utf8)
        try expectRefusal("failed", exit: 1, saying: "schema.sql:2:8: near \"TABEL\"", "^")
    }

    @Test func aResultThatIsNotInOrderLeavesNothing() throws {
        try tool.writeItems()
        try tool.folder.write(
            "schema.sql",
            """
            CREATE TABLE item (id INTEGER PRIMARY KEY, other INTEGER REFERENCES item);
            INSERT INTO item VALUES (1, 99);
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('0001_items');
            """.utf8
        )
        try expectRefusal("verificationFailed", exit: 2)
    }

    @Test func aFolderThatIsNotThereIsToldByTheNameThatWasGiven() throws {
        try tool.writeItems()
        try writeDump(of: tool.migrations)
        let result = try tool.run(
            "schema-load",
            dump,
            "--migrations",
            tool.migrations,
            "--password-file",
            tool.folder.path("password"),
            "--db-path",
            tool.folder.path("none/store.db")
        )
        #expect(result.status == 73)
        #expect(result.stderr.hasPrefix("error: \(tool.folder.path("none/store.db")) can't be"))
    }

    @Test func aDatabaseInTheClearCanBeLoadedToo() throws {
        try tool.writeItems()
        try writeDump(of: tool.migrations)
        let result = try tool.run(
            "schema-load",
            dump,
            "--migrations",
            tool.migrations,
            "--no-encryption",
            "--db-path",
            tool.database
        )
        #expect(result.status == 0, "\(result)")
        #expect(
            try SQLCipherShell.run(tool.database, key: nil, "SELECT count(*) FROM grdb_migrations;")
                == "3"
        )
    }
}
