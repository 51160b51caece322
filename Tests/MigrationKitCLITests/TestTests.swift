import Foundation
import TestSupport
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// `test`: its formats, the folder of tests, and files that can't be used.
/// `FolderTestTests` has the faults that it finds.
@Suite struct TestTests {
    private var tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_users",
            up: "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);",
            down: "DROP TABLE users;"
        )
        try tool.write(
            "0002_name",
            up: "CREATE INDEX users_name ON users (name);",
            down: "SELECT 1;"
        )
    }

    private func test(_ arguments: String...) throws -> ProcessResult {
        try tool.run(["test", "--migrations", tool.migrations] + arguments)
    }

    private func write(_ test: String, in folder: String = "tests") throws {
        if tool.folder.mode(folder) == nil { try tool.folder.makeFolder(folder) }
        try tool.folder.write("\(folder)/own.sql", test.utf8)
    }

    // MARK: - Formats

    @Test func failingTestIsShownWithItsPlaceAndWhatToDo() throws {
        let result = try test()
        #expect(result.status == 3, "\(result)")
        #expect(
            result.stdout.contains(
                """
                /migrations/0002_name.sql:5:1: failed: the rollback of '0002_name' doesn't restore the \
                schema of the version before it [rollback]
                  Found (+) instead of expected (-):
                  + CREATE INDEX users_name ON users (name)
                  Make the rollback undo everything that the migration does, in reverse order.
                """
            ),
            "\(result)"
        )
        #expect(result.stdout.contains("Tested 2 migrations: 1 failed.\n  install 1, "))
        #expect(result.stderr.hasPrefix("error: 1 test failed\n"))
    }

    @Test func eachFormatHasTheFailure() throws {
        let document = try test("--json").json()
        #expect(document["failed"] as? Int == 1)
        let tests = try #require(document["tests"] as? [[String: Any]])
        let failed = try #require(tests.first { $0["outcome"] as? String == "failed" })
        #expect(failed["kind"] as? String == "rollback")
        #expect(failed["line"] as? Int == 5)
        #expect((failed["difference"] as? String)?.contains("users_name") == true)

        let github = try test("--format", "github").stdout
        #expect(github.hasPrefix("::error file="), "\(github)")
        #expect(github.contains(",line=5,col=1,title=test rollback (0002_name)::the rollback of"))

        for (arguments, text) in [
            (["test", "--format", "junit"], "users_name"), (["lint", "--format", "junit"], "lint"),
        ] {
            let xml = try tool.run(arguments + ["--migrations", tool.migrations]).stdout
            let parser = XMLParser(data: Data(xml.utf8))
            #expect(parser.parse(), "\(xml)")
            #expect(xml.contains(text))
        }
        let report = try test("--format", "junit").stdout
        #expect(report.contains(#"failures="1""#))
        #expect(report.contains(#"<testcase name="0002_name" classname="rollback""#))
    }

    /// That it keeps rows isn't known, and a file of tests can have some.
    @Test func migrationOfATableThatNoGeneratedRowFitsIsNamed() throws {
        try tool.write(
            "0001_users",
            up: "CREATE TABLE codes (code TEXT NOT NULL CHECK (code GLOB 'A[0-9][0-9][0-9]'));",
            down: "DROP TABLE codes;"
        )
        try tool.write(
            "0002_name",
            up: """
                CREATE TABLE new_codes (code TEXT NOT NULL CHECK (code GLOB 'A[0-9][0-9]*'));
                INSERT INTO new_codes SELECT code FROM codes WHERE code = '';
                DROP TABLE codes;
                ALTER TABLE new_codes RENAME TO codes;
                """
        )
        let result = try test()
        #expect(result.status == 0)
        #expect(
            result.stdout.hasSuffix(
                """
                  install 1, upgrade 2, again 1, rollback 1, older 1
                  not judged with rows, for which you can write a test:
                    0002_name: no generated row fits the constraints of codes

                """
            ),
            "\(result)"
        )
        try write(
            """
            -- migrate:at 1
            INSERT INTO codes VALUES ('A123');
            -- migrate:after 2
            SELECT code FROM codes;
            -- migrate:gives
            VALUES ('A123');
            """
        )
        #expect(try test().status == 3)
    }

    /// Two lists of values, and a parent of which no row can be generated.
    @Test func rowsFitTheListsOfTheirColumnsAndHaveTheirParents() throws {
        try tool.write(
            "0001_users",
            up: """
                CREATE TABLE users (
                    id INTEGER PRIMARY KEY,
                    state TEXT NOT NULL CHECK (state IN ('NORMAL', 'ARCHIVED')),
                    sight TEXT NOT NULL CHECK (sight IN ('PUBLIC', 'PRIVATE')),
                    pinned INTEGER NOT NULL CHECK (pinned IN (0, 1))
                );
                CREATE TABLE codes (code TEXT PRIMARY KEY CHECK (code GLOB 'A[0-9][0-9][0-9]'));
                CREATE TABLE uses (code TEXT NOT NULL REFERENCES codes (code));
                """,
            down: "DROP TABLE uses; DROP TABLE codes; DROP TABLE users;"
        )
        try tool.write(
            "0002_name",
            up:
                "UPDATE users SET pinned = 0 WHERE id < 0; UPDATE uses SET code = 'A123' WHERE false;"
        )
        let result = try test()
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("0002_name: no generated row fits the constraints of uses"))
        try tool.write("0002_name", up: "UPDATE users SET pinned = 0 WHERE id < 0;")
        #expect(try !test().stdout.contains("not judged"))
    }

    @Test func sinceTestsOnlyWhatComesAfter() throws {
        #expect(try test("--since", "0002").status == 0)
        #expect(try test("--since", "0001").status == 3)
        #expect(try test("--since", "1", "--json").json()["migrations"] as? Int == 1)
        #expect(try test("--since", "7").status == 64)
        #expect(try test("--since", "1", "--base", "main").status == 64)
    }

    /// What reads the report must not find it empty.
    @Test func unusableFolderIsInEachReport() throws {
        try tool.folder.write("migrations/0003_bad.sql", "-- migrate:up\nSELECT (1;\n".utf8)
        let result = try test("--format", "junit")
        #expect(result.status == 65)
        #expect(result.stdout.contains("0003_bad.sql"), "\(result)")
        #expect(try test("--json").stdout.contains(#""outcome":"failed""#))
    }

    // MARK: - The Author's Tests

    @Test func bothResultsAreShown() throws {
        try tool.write("0002_name", up: "UPDATE users SET name = upper(name);", down: "SELECT 1;")
        try write(
            """
            -- migrate:at 1
            INSERT INTO users VALUES (1, 'Ada'), (2, NULL);
            -- migrate:after 0002_name
            SELECT id, name FROM users ORDER BY id;
            -- migrate:gives
            VALUES (1, 'Ada'), (2, NULL);
            """
        )
        let result = try test()
        #expect(result.status == 3)
        #expect(
            result.stdout.contains(
                """
                /tests/own.sql:4: failed: the query gives other rows after 0002_name [tests]
                  Found (+) instead of expected (-):
                  - (1, 'Ada')
                  + (1, 'ADA')
                """
            ),
            "\(result)"
        )
    }

    @Test(arguments: [
        ("-- migrate:at 9\n", 1, "there is no migration '9'"),
        ("-- migrate:at\nSELECT 1;", 1, "names no version"),
        ("-- migrate:after 2\nSELECT 1;\n", 1, "no '-- migrate:gives'"),
        ("-- migrate:after 2\nSELECT 1;\n-- migrate:at 2\n", 1, "no '-- migrate:gives'"),
        ("-- migrate:after 2\n-- migrate:gives\nSELECT 1;", 1, "there is no query"),
        ("-- migrate:gives\nSELECT 1;", 1, "no '-- migrate:after'"),
        (
            "-- migrate:after 2\nSELECT 1;\n-- migrate:gives\nSELECT 1; SELECT 2;", 3,
            "more or fewer"
        ),
        ("-- migrate:after 2\nDELETE FROM users;\n-- migrate:gives\nSELECT 1;", 2, "no query"),
        ("-- migrate:at 2\nATTACH 'x' AS y;", 2, "can't contain ATTACH"),
        ("-- migrate:at 2\nSELECT 1\n-- migrate:at 2\nSELECT 2;", 2, "no semicolon"),
        ("-- migrate:at 2\n-- migrate:at 1\n", 2, "later version"),
        ("-- migrate:at 2\n-- migrate:afer 2\n", 2, "misspelled marker"),
        ("SELECT 1;\n-- migrate:at 2", 1, "before the first marker"),
        ("-- nothing\n", 1, "no test in this file"),
        ("-- migrate:at 2\nSELECT (1;\n", 2, "never closed"),
    ])
    func fileThatCanNotBeUsedIsRefused(_ text: String, _ line: Int, _ reason: String) throws {
        try write(text)
        let result = try test()
        #expect(result.status == 65, "\(result)")
        #expect(result.stderr.contains("/tests/own.sql:\(line):"), "\(result)")
        #expect(result.stderr.contains(reason), "\(result)")
        #expect(result.stdout.isEmpty)
    }

    @Test func folderOfTestsIsNamedAsThatOfChecks() throws {
        var tool = tool
        try tool.useSettings()
        for name in ["tests", "file", "environment", "option"] {
            try tool.folder.makeFolder(name)
            try tool.folder.write(
                "\(name)/own.sql",
                "-- migrate:after 1\nSELECT 1;\n-- migrate:gives\nSELECT '\(name)';".utf8
            )
        }
        func named(_ arguments: String...) throws -> String? {
            let result = try tool.run(["test", "--migrations", tool.migrations] + arguments)
            return result.stdout.split(separator: "\n").first { $0.hasPrefix("  - ('") }
                .map { String($0.dropFirst(6).dropLast(2)) }
        }
        #expect(try named() == "tests")
        try tool.writeSettings("tests = 'file'")
        #expect(try named() == "file")
        tool.environment["MIGRATIONKIT_TESTS"] = tool.folder.path("environment")
        #expect(try named() == "environment")
        #expect(try named("--tests", tool.folder.path("option")) == "option")
        try tool.folder.makeFolder("none")
        let none = try tool.run(
            "test",
            "--migrations",
            tool.migrations,
            "--tests",
            tool.folder.path("none"),
            "--quiet"
        )
        #expect(none.status == 66, "\(none)")
    }

    /// A change that is tested may have them.
    @Test func noLinkLeavesTheRepository() throws {
        try tool.folder.makeFolder(".git")
        try tool.folder.makeFolder("tests")
        let other = try TemporaryFolder(["own.sql": "SELECT 'geheim';"])
        try FileManager.default.createSymbolicLink(
            atPath: tool.folder.path("tests/own.sql"),
            withDestinationPath: other.path("own.sql")
        )
        let result = try test()
        #expect(result.status == 77, "\(result)")
        #expect(!"\(result)".contains("geheim"))
    }
}
