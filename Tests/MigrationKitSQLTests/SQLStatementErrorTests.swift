import GRDB
import MigrationKitSQL
import TestSupport
import Testing

/// What a step does when it runs.
@Suite struct SQLStatementErrorTests {
    /// The error with which the only step of a folder fails.
    private func failure(
        of text: String,
        in file: String = "0003_tags.up.sql",
        rollingBack: Bool = false
    ) throws -> SQLStatementError? {
        let step = try #require(try TemporaryFolder([file: text]).migrations().steps.first)
        do {
            try MigrationDatabase().run(rollingBack ? #require(step.rollback) : step.apply)
            return nil
        } catch let error as SQLStatementError {
            return error
        }
    }

    @Test func aBrokenStatementIsReportedWithFileAndLine() throws {
        let error = try #require(
            try failure(of: "-- Tags.\n\nCREATE TABLE a (x);\n\n/* one\n */ CREAT TABLE b (x);\n")
        )
        #expect(error.errorDescription == #"0003_tags.up.sql:6:5: near "CREAT": syntax error"#)
        #expect(error.column == 5)
        #expect(error.resultCode == .SQLITE_ERROR)
        #expect(error.recoverySuggestion == "6 |  */ CREAT TABLE b (x);\n  |     ^")
        #expect("\(error)" == error.errorDescription)
    }

    @Test func theLineIsThatOfTheTokenAndCountsInTheWholeFile() throws {
        let text = """
            -- migrate:up
            CREATE TABLE a (x);
            -- migrate:down

            DROP TABLE a;
            CREATE TABLE "größer" (
                "ä" TEXT, 'ö' TEXTT NOT NUL,
                y
            );
            """
        for lineEnd in ["\n", "\r\n"] {
            let file =
                "\u{FEFF}"
                + text.split(separator: "\n", omittingEmptySubsequences: false)
                .joined(separator: lineEnd)
            let step = try #require(try TemporaryFolder(["1_a.sql": file]).migrations().steps.first)
            let database = try MigrationDatabase()
            try database.apply(step)
            let error = #expect(throws: SQLStatementError.self) {
                try database.run(#require(step.rollback))
            }
            #expect(error?.line == 7)
            #expect(error?.column == 29)
            #expect(error?.sourceLine == #"    "ä" TEXT, 'ö' TEXTT NOT NUL,"#)
        }
    }

    @Test func aStatementWithoutAnEndIsReportedAtItsBeginning() throws {
        let error = try #require(try failure(of: "SELECT 1;\n\nCREATE TABLE\n    a\n"))
        #expect(error.errorDescription == "0003_tags.up.sql:3: incomplete input")
        #expect(error.column == nil)
        #expect(error.recoverySuggestion == "3 | CREATE TABLE")
    }

    @Test func theLineIsShownWithoutItsStrings() throws {
        let line = #"CREATE TABLE "a" (x DEFAULT 'it''s ä' NOT NUL);"#
        let error = try #require(try failure(of: line))
        #expect(error.sourceLine == line)
        #expect(
            error.recoverySuggestion?
                .hasPrefix(#"1 | CREATE TABLE "a" (x DEFAULT '*******' NOT NUL);"#) == true
        )
    }

    @Test func aRefusedRowIsReportedWithSQLitesCode() throws {
        let error = try #require(
            try failure(
                of: """
                    CREATE TABLE a (x UNIQUE);
                    -- The first one.
                    INSERT INTO a VALUES (1);

                    -- The second one.
                    INSERT INTO a
                    VALUES (1);
                    """
            )
        )
        #expect(error.errorDescription == "0003_tags.up.sql:6: UNIQUE constraint failed: a.x")
        #expect(error.resultCode == .SQLITE_CONSTRAINT_UNIQUE)
        #expect(error.resultCode.primaryResultCode == .SQLITE_CONSTRAINT)
        #expect(error.column == nil)
    }

    @Test func aFullDatabaseIsToldFromAMistake() throws {
        let error = try #require(
            try failure(
                of: "CREATE TABLE a (x);\nPRAGMA max_page_count = 3;\n"
                    + "INSERT INTO a VALUES (zeroblob(100000));"
            )
        )
        #expect(error.line == 3)
        #expect(error.resultCode == .SQLITE_FULL)
    }

    @Test func everyStatementIsCompiledAfterTheOneBeforeItRan() throws {
        let error = try failure(
            of: """
                CREATE TABLE a (x);
                ALTER TABLE a RENAME TO b;
                INSERT INTO b SELECT 1;
                CREATE TRIGGER t AFTER INSERT ON b BEGIN
                    UPDATE b SET x = CASE WHEN x = ';' THEN 2 END;
                    DELETE FROM b WHERE x IS NULL;
                END;
                ;;
                PRAGMA user_version = 7;
                PRAGMA table_info(b);
                SELECT * FROM b; -- Rows are nobody's business.
                DROP TABLE b
                -- No semicolon
                """
        )
        #expect(error == nil)
    }

    @Test func aStatementThatGivesRowsIsRunToItsEnd() throws {
        let folder = try TemporaryFolder([
            "1_a.up.sql": """
            CREATE TABLE a (x);
            WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO a SELECT i FROM n RETURNING x;
            """
        ])
        let database = try MigrationDatabase()
        try database.apply(folder.migrations().steps[0])
        #expect(try database.integers("SELECT count(*) FROM a") == [1000])
        // And the last row of a query counts as much as its first.
        let error = try failure(
            of: "SELECT 1 UNION ALL\nSELECT abs(-9223372036854775808);"
        )
        #expect(error?.errorDescription == "0003_tags.up.sql:1: integer overflow")
    }

    @Test func parametersAreRefused() throws {
        let error = try failure(of: "CREATE TABLE a (x);\nINSERT INTO a VALUES (:name);")
        #expect(
            error?.errorDescription
                == "0003_tags.up.sql:2: a migration has no values to bind to parameters"
        )
    }

    @Test func aFunctionThatIsMissingIsReported() throws {
        let step = try #require(
            try TemporaryFolder(["1_a.up.sql": "SELECT refuse();"]).migrations().steps.first
        )
        let database = try MigrationDatabase()
        let error = #expect(throws: SQLStatementError.self) { try database.apply(step) }
        #expect(error?.sqliteMessage == "no such function: refuse")
    }

    @Test func aLongLineIsCutAroundTheCaret() throws {
        let values = String(repeating: "1, ", count: 100)
        let error = try #require(try failure(of: "SELECT \(values)\tFRO M;\n"))
        let lines = try #require(error.recoverySuggestion).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count < 80 })
        let caret = try #require(lines.last?.prefix { $0 != "^" }.count)
        #expect(lines[0].dropFirst(caret) == "FRO M;")
        #expect(!lines[0].contains("\t"))
    }
}
