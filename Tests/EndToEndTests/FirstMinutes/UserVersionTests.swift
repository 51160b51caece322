import Foundation
import TestSupport
import Testing

/// Databases whose version an app's code counts in `PRAGMA user_version`.
@Suite struct UserVersionTests {
    private static let tables = """
        CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT AS (title || '!'));
        CREATE TABLE tag (note INTEGER REFERENCES note (id) ON DELETE CASCADE, name TEXT DEFAULT 'new');
        CREATE INDEX tag_name ON tag (name) WHERE name <> 'new';
        CREATE VIEW tagged AS SELECT title, name FROM note JOIN tag ON tag.note = note.id;
        CREATE TRIGGER first_tag AFTER INSERT ON note BEGIN INSERT INTO tag (note) VALUES (new.id); END;
        CREATE VIRTUAL TABLE search USING fts5 (title);
        INSERT INTO note (title) VALUES ('a'), ('b');
        """

    private let project: Project
    private let key: String

    init() throws {
        project = try Project()
        key = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        try project.folder.write("key", key.utf8)
        try make("notes.db", version: 7)
    }

    private func make(_ name: String, version: Int, besides sql: String = "") throws {
        _ = try shell(name, "\(Self.tables) \(sql) PRAGMA user_version = \(version);")
        // 'verify --full' names a file that others can read.
        try project.folder.write(name, project.folder.data(name))
    }

    private func shell(_ name: String, _ sql: String) throws -> String {
        try SQLCipherShell.run(project.folder.path(name), key: key, sql)
    }

    private func initProject(_ options: String...) throws -> ProcessResult {
        let arguments = ["--from-user-version", "--db-path", "notes.db", "--password-file", "key"]
        return try project.paste([
            "migrationkit-cli init \((arguments + options).joined(separator: " "))"
        ])
    }

    private func launch(_ name: String) throws -> ProcessResult {
        try project.run("migrate", "--adopt", "user_version", "--db-path", name, "--json")
    }

    private func addColumn() throws {
        let sql = "-- migrate:up\nALTER TABLE note ADD COLUMN pinned INTEGER;\n"
        try project.folder.write("migrations/0008_pinned.sql", sql.utf8)
    }

    /// Somebody began with the newest database, and users have older ones.
    @Test func whatWasForgottenIsTakenOverAgain() throws {
        #expect(try initProject().status == 0)
        for file in ["migrationkit.toml", "migrations/0007_schema.sql"] {
            try FileManager.default.removeItem(atPath: project.folder.path(file))
        }
        try make("old.db", version: 6, besides: "DROP INDEX tag_name;")
        let again = try project.paste([
            "migrationkit-cli init --from-user-version --db-path old.db --password-file key"
        ])
        #expect(again.status == 0, "\(again)")
        let sql = """
            -- migrate:up
            CREATE INDEX tag_name ON tag (name) WHERE name <> 'new';
            -- migrate:older works
            PRAGMA user_version = 7;
            """
        try project.folder.write("migrations/0007_index.sql", sql.utf8)
        let forgot = try project.run(
            "repair",
            "--forget",
            "0007_schema",
            "--yes",
            "--db-path",
            "notes.db"
        )
        #expect(forgot.status == 0, "\(forgot)")
        let refused = try project.run("migrate", "--db-path", "notes.db", "--json")
        #expect(try refused.jsonError()["code"] as? String == "notAdopted", "\(refused)")
        for name in ["notes.db", "old.db"] {
            let run = try launch(name)
            #expect(run.status == 0, "\(name): \(run)")
            #expect(try project.run("verify", "--full", "--db-path", name).status == 0)
        }
        #expect(try shell("notes.db", "SELECT count(*) FROM note;") == "2")
    }

    @Test func theSchemaBecomesTheFirstMigrationAndEachUsersDatabaseGoesOn() throws {
        try make("users.db", version: 7)
        let result = try initProject("--json")
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["recorded"] as? [String] == ["0007_schema"])
        #expect(
            try result.json()["created"] as? [String] == [
                "migrationkit.toml", "migrations", ".gitignore", "migrations/0007_schema.sql",
            ]
        )
        #expect(try project.run("verify", "--full").status == 0)

        try addColumn()
        for name in ["notes.db", "users.db", "new.db", "users.db"] {
            let run = try launch(name)
            #expect(run.status == 0, "\(name): \(run)")
            #expect(run.stderr.isEmpty)
            #expect(try project.run("verify", "--full", "--db-path", name).status == 0)
        }
        // Code that still counts finds its number in each.
        for name in ["notes.db", "users.db", "new.db"] {
            #expect(try shell(name, "PRAGMA user_version;") == "7")
            #expect(
                try shell(name, "SELECT count(pinned IS NULL) FROM note;")
                    == (name == "new.db" ? "0" : "2")
            )
        }
    }

    @Test func aLaunchThatFailedIsFollowedByOneThatWorks() throws {
        #expect(try initProject().status == 0)
        try project.folder.write(
            "migrations/0008_bad.sql",
            "-- migrate:up\nDROP TABLE none;\n".utf8
        )
        let file = "migrations/0007_schema.sql"
        let good = try project.text(file)
        try project.folder.write(file, good.replacing("CREATE VIEW", with: "CREATE VIE").utf8)
        #expect(try launch("new.db").status == 1)
        try project.folder.write(file, good.utf8)
        #expect(try launch("new.db").status == 1)
        try FileManager.default.removeItem(atPath: project.folder.path("migrations/0008_bad.sql"))
        #expect(try launch("new.db").status == 0)
        #expect(try project.run("verify", "--full", "--db-path", "new.db").status == 0)

        // Its schema is none of a version's after everything was rolled back.
        try project.folder.write(
            file,
            (good + "DROP VIEW tagged; DROP TABLE tag; DROP TABLE note; DROP TABLE search;").utf8
        )
        #expect(
            try project.run("repair", "0007_schema", "--db-path", "new.db", "--yes").status == 0
        )
        #expect(try project.run("rollback", "--all", "--db-path", "new.db").status == 0)
        #expect(try launch("new.db").status == 0)
    }

    @Test func launchesAtTheSameMomentAllGoOn() throws {
        #expect(try initProject().status == 0)
        try addColumn()
        try make("users.db", version: 7)
        for name in ["users.db", "new.db"] {
            let together = try project.paste([
                "for i in 1 2 3 4; do",
                "    migrationkit-cli migrate --adopt user_version --db-path \(name) -q || echo $? &",
                "done; wait",
            ])
            #expect(together.stdout.isEmpty, "\(name): \(together)")
            let status = try project.run("status", "--db-path", name, "--json").json()
            #expect((status["pending"] as? [String])?.isEmpty == true)
        }
    }

    @Test func onlyALaunchThatChangesSomethingWritesABackup() throws {
        #expect(try initProject().status == 0)
        try addColumn()
        try make("users.db", version: 7)
        for _ in 0..<2 {
            let result = try project.run(
                "migrate",
                "--adopt",
                "user_version",
                "--db-path",
                "users.db",
                "--backup",
                "old.db"
            )
            #expect(result.status == 0, "\(result)")
        }
        #expect(try shell("old.db", "SELECT count(*) FROM pragma_table_info('note');") == "2")
    }

    @Test func aFleetIsTakenOver() throws {
        #expect(try initProject().status == 0)
        try addColumn()
        for (number, version) in [7, 7, 9].enumerated() {
            try make("user\(number).db", version: version)
            try project.folder.write("user\(number).db.key", key.utf8)
        }
        func migrate(_ options: String...) throws -> [[String: Any]] {
            let fleet = try project.paste([
                "migrationkit-cli fleet migrate --stores 'user*.db' --key-file-suffix .key \\",
                "    --report \(options.count).jsonl \(options.joined(separator: " ")) || true",
                "cat \(options.count).jsonl",
            ])
            return try fleet.stdout.split(separator: "\n").filter {
                $0.hasPrefix("{") && !$0.contains("planned")
            }.map {
                try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }.sorted { "\($0["store"] ?? "")" < "\($1["store"] ?? "")" }
        }
        func codes(_ records: [[String: Any]]) -> [String] {
            records.map { ($0["error"] as? [String: Any])?["code"] as? String ?? "" }
        }
        #expect(try codes(migrate()).prefix(2) == ["notAdopted", "notAdopted"])
        let tried = try migrate("--adopt user_version", "--dry-run")
        #expect(codes(tried) == ["", "", "unknownVersions"])
        let done = try migrate("--adopt user_version")
        #expect(codes(done) == ["", "", "unknownVersions"])
        #expect(done.prefix(2).map { $0["from"] as? String } == ["0007_schema", "0007_schema"])
        #expect(done.prefix(2).map { $0["to"] as? String } == ["0008_pinned", "0008_pinned"])
    }

    @Test func aFolderThatHasMigrationsIsComparedWithTheDatabase() throws {
        try project.folder.makeFolder("migrations")
        try project.folder.write(
            "migrations/7_all.sql",
            "-- migrate:up\n\(Self.tables.replacing("'new'", with: "'old'"))".utf8
        )
        let before = try project.folder.names
        let refused = try initProject("--json")
        #expect(refused.status == 65)
        #expect(try refused.jsonError()["code"] as? String == "otherSchema")
        #expect(try refused.jsonError()["hint"] as? String ?? "" != "")
        #expect(refused.stderr.contains("tag.name"))
        #expect(try project.folder.names == before)

        try project.folder.write("migrations/7_all.sql", "-- migrate:up\n\(Self.tables)".utf8)
        #expect(try initProject("--json").json()["recorded"] as? [String] == ["7_all"])
    }

    @Test func aDatabaseOfAnotherSchemaIsLeftAsItIs() throws {
        #expect(try initProject().status == 0)
        try make("other.db", version: 7, besides: "ALTER TABLE tag ADD COLUMN weight;")
        let before = try project.folder.data("other.db")
        let refused = try launch("other.db")
        #expect(refused.status == 65)
        #expect(try refused.jsonError()["code"] as? String == "otherSchema")
        #expect(refused.stderr.contains("tag.weight"))
        #expect(try project.folder.data("other.db") == before)
    }

    @Test(arguments: [(0, "noUserVersion"), (6, "unknownVersions"), (8, "unknownVersions")])
    func aNumberThatTheFolderDoesNotHaveIsRefused(version: Int, code: String) throws {
        #expect(try initProject().status == 0)
        try make("other.db", version: version)
        let before = try project.folder.data("other.db")
        let refused = try launch("other.db")
        #expect(refused.status == 65)
        #expect(try refused.jsonError()["code"] as? String == code)
        #expect(try project.folder.data("other.db") == before)
    }

    /// Its migrations would run a second time: some change rows, and don't fail.
    @Test func aDatabaseThatCouldBeTakenOverIsNotMigratedWithout() throws {
        #expect(try initProject().status == 0)
        try make("users.db", version: 7)
        let before = try project.folder.data("users.db")
        let refused = try project.run("migrate", "--db-path", "users.db", "--json")
        #expect(refused.status == 65)
        #expect(try refused.jsonError()["code"] as? String == "notAdopted")
        #expect(refused.stderr.contains("'migrate --adopt user_version'"))
        let status = try project.run("status", "--db-path", "users.db", "--json").json()
        #expect(status["otherTools"] as? [[String: String]] == [["tool": "user_version"]])
        #expect(try project.folder.data("users.db") == before)

        // An app that uses the number for something else has other tables.
        _ = try shell("other.db", "CREATE TABLE setting (id); PRAGMA user_version = 7;")
        #expect(try project.run("migrate", "--db-path", "other.db").status == 0)
    }

    @Test func aRawKeyAndNoKeyAreTaken() throws {
        for (name, option) in [("raw.db", "--raw-key"), ("plain.db", "--no-encryption")] {
            let other = try Project()
            let digits = String(repeating: "0f", count: 32)
            try other.folder.write("key", digits.utf8)
            _ = try SQLCipherShell.run(
                other.folder.path(name),
                key: option == "--raw-key" ? "x'\(digits)'" : nil,
                "\(Self.tables) PRAGMA application_id = 77; PRAGMA user_version = 3;"
            )
            let result = try other.run(
                "init",
                "--from-user-version",
                "--db-path",
                name,
                "--password-file",
                "key",
                option,
                "--json"
            )
            #expect(result.status == 0, "\(result)")
            let next = try #require(result.json()["nextCommands"] as? [String])
            #expect(next.last == "migrationkit-cli migrate --adopt user_version \(option)")
            #expect(try other.text("migrations/0003_schema.sql").contains("application_id = 77"))
            #expect(try other.run("lint", "--level", "warning").status == 0)
        }
    }

    @Test func aRefusedProjectLeavesNothingAndASecondOneIsRefused() throws {
        let before = try project.folder.names
        // The file would have a marker in the middle of the statement.
        _ = try shell("notes.db", "CREATE TABLE odd (v,\n-- migrate:down\nw);")
        #expect(try initProject().status != 0)
        #expect(try project.folder.names.filter { $0 != "migrations" } == before)
        let migrations = project.folder.path("migrations")
        #expect(try FileManager.default.contentsOfDirectory(atPath: migrations).isEmpty)

        _ = try shell("notes.db", "DROP TABLE odd;")
        #expect(try initProject().status == 0)
        for option in ["--dry-run", "--quiet"] {
            let again = try initProject("--json", option)
            #expect(again.status == 64)
            #expect(try again.jsonError()["code"] as? String == "baselineOnMigratedDatabase")
        }
    }

    @Test func nothingIsWrittenIfTheDatabaseCannotBeTakenOver() throws {
        let before = try project.folder.names
        #expect(try initProject("--dry-run").status == 0)
        #expect(try project.folder.names == before)

        try project.folder.write("key", "another".utf8)
        #expect(try initProject().status == 77)
        try project.folder.write("key", key.utf8)
        _ = try shell("notes.db", "PRAGMA user_version = 0;")
        #expect(try initProject("--json").jsonError()["code"] as? String == "noUserVersion")
        _ = try shell(
            "notes.db",
            """
            PRAGMA user_version = 7; CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('v1');
            """
        )
        #expect(
            try initProject("--json").jsonError()["code"] as? String == "baselineOnMigratedDatabase"
        )
        #expect(try project.folder.names == before)
    }
}
