import GRDB
import MigrationKit
import MigrationKitSQL
import TestSupport
import Testing

/// What is found in the text of a file before anything runs.
@Suite struct SQLTextTests {
    @Test func windowsLineEndsAndAByteOrderMarkLeaveNoTraceInTheSchema() throws {
        let text = """
            -- migrate:up
            CREATE TABLE a (
                x -- what it is
            );
            CREATE VIEW v AS
            SELECT 1 /* one
            two */;
            -- migrate:down
            DROP VIEW v;
            DROP TABLE a;
            """
        let plain = try TemporaryFolder(["1_a.sql": text]).migrations()
        let windows = try TemporaryFolder([
            "1_a.sql": "\u{FEFF}" + text.split(separator: "\n").joined(separator: "\r\n")
        ]).migrations()

        let first = try MigrationDatabase()
        try first.apply(plain.steps[0])
        let second = try MigrationDatabase()
        try second.apply(windows.steps[0])
        #expect(try first.schema() == second.schema())
        try second.run(#require(windows.steps[0].rollback))
        #expect(try second.schema().isEmpty)
    }

    @Test func lineEndsInsideLiteralsStay() throws {
        let folder = try TemporaryFolder([
            "1_a.up.sql": "CREATE TABLE a (x);\r\nINSERT INTO a VALUES ('1\r\n2');\r\n"
        ])
        let database = try MigrationDatabase()
        try database.apply(folder.migrations().steps[0])
        #expect(try database.strings("SELECT hex(x) FROM a") == ["310D0A32"])
    }

    @Test func aByteOrderMarkInTheMiddleHidesNoStatement() throws {
        #expect(
            try refusal(of: ["1_a.up.sql": "SELECT 1;\n\u{FEFF}COMMIT;"])
                == "1_a.up.sql:2:2: a migration can't contain BEGIN, COMMIT or ROLLBACK: the "
                + "runner begins and ends every transaction"
        )
    }

    @Test(arguments: [
        [0x2D, 0x2D, 0x0A, 0x2D, 0xE9], [0x2D, 0x0A, 0x2D, 0xC3], [0x0A, 0x2D, 0xED, 0xA0, 0x80],
    ])
    func bytesThatAreNotUTF8AreRefused(bytes: [UInt8]) throws {
        let folder = try TemporaryFolder()
        try folder.write("1_a.sql", bytes)
        let error = #expect(throws: MigrationFolderError.self) { try folder.migrations() }
        #expect(error?.errorDescription == "1_a.sql:2:2: the text is not UTF-8")
        #expect(error?.recoverySuggestion?.hasPrefix("2 | -\u{FFFD}") == true)
    }

    @Test(arguments: [
        ("SELECT 'it''s", 8, "'"), (#"SELECT "a"#, 8, "\""), ("SELECT `a", 8, "`"),
        ("SELECT [a", 8, "]"), ("/* no end *", 1, "*/"), ("/*/", 1, "*/"),
        ("CREATE TABLE a (x, y CHECK (y > ')')", 16, ")"), ("SELECT (1", 8, ")"),
        ("CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;", 1, "END;"),
        ("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 1 END;", 1, "END;"),
        ("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT (1;\nEND;", 49, ")"),
    ])
    func whatHasNoEndIsRefused(text: String, column: Int, missing: String) throws {
        let refused = "1_a.up.sql:2:\(column): missing \(missing): what begins here is never closed"
        #expect(try refusal(of: ["1_a.up.sql": "SELECT 1;\n" + text]) == refused)
        #expect(try refusal(of: ["1_a.up.sql": "SELECT 1;\n" + text + "\nSELECT 2;"]) == refused)
    }

    @Test(
        arguments: [
            ("BEGIN IMMEDIATE", .transactionControl), ("COMMIT", .transactionControl),
            ("end", .transactionControl), ("ROLLBACK TO a", .transactionControl),
            ("SavePoint a", .transactionControl), ("RELEASE a", .transactionControl),
            ("/* a */ -- b\n  COMMIT", .transactionControl), ("EXPLAIN BEGIN", .transactionControl),
            ("ATTACH 'a.db' AS a KEY 'k'", .attachment), ("ATTACH 'a.db' AS a", .attachment),
            ("DETACH a", .attachment), ("VACUUM INTO 'a.db'", .attachment),
            ("VACUUM", .vacuum), ("vacuum main /* */ into x'61'", .attachment),
            ("PRAGMA key = 'k'", .encryptionPragma), ("PRAGMA main.rekey('k')", .encryptionPragma),
            ("PRAGMA \"main\" . \"hexkey\" = 'k'", .encryptionPragma),
            ("EXPLAIN QUERY PLAN PRAGMA [main].`key`='k'", .encryptionPragma),
            ("PRAGMA cipher_page_size = 512", .encryptionPragma),
            ("PRAGMA kdf_iter(1)", .encryptionPragma), ("PRAGMA cipher_migrate", .encryptionPragma),
            ("PRAGMA cipher_default_kdf_iter = 1", .encryptionPragma),
            ("PRAGMA temp_store = FILE", .temporaryStoragePragma),
            ("pragma main.temp_store(1)", .temporaryStoragePragma),
            ("PRAGMA temp_store_directory = '/tmp'", .temporaryStoragePragma),
            ("PRAGMA journal_mode = OFF", .durabilityPragma),
            // SQLite takes the beginning for the whole.
            ("PRAGMA journal_mode=m", .durabilityPragma),
            ("EXPLAIN QUERY PLAN PRAGMA main.journal_mode('memory')", .durabilityPragma),
            ("PRAGMA synchronous = off", .durabilityPragma),
            ("PRAGMA synchronous(0)", .durabilityPragma),
            ("PRAGMA synchronous = 256", .durabilityPragma),
            ("EXPLAIN QUERY PLAN PRAGMA main.synchronous = +0", .durabilityPragma),
        ] as [(String, RefusedStatement)]
    )
    func whatReachesBeyondTheTransactionIsRefused(
        statement: String,
        kind: RefusedStatement
    ) throws {
        let line = statement.contains("\n") ? 3 : 2
        let pair = try error(of: ["1_a.up.sql": "SELECT 1;\n\(statement);\nSELECT 2"])
        #expect(pair?.place?.line == line)
        let down = "-- migrate:up\nSELECT 1;\n-- migrate:down\n;;\(statement)"
        let single = try error(of: ["1_a.sql": down])
        #expect(single?.place?.line == line + 2)
        for (refused, format) in [(pair, MigrationFormat.pairs), (single, .dbmate)] {
            let place = try #require(refused?.place)
            #expect(refused == .refusedStatement(kind, in: format, at: place))
        }
    }

    @Test(arguments: [
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END",
        "EXPLAIN CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; DELETE FROM a; END",
        "CREATE TABLE trigger_log (\"begin\", [commit], 'end', `rollback`)",
        "INSERT INTO a VALUES (';BEGIN;', \";COMMIT;\") -- ;END;\n /* ;ROLLBACK; */",
        "PRAGMA temp_store", "PRAGMA cipher_version", "PRAGMA foreign_keys = OFF",
        "PRAGMA defer_foreign_keys = 1", "PRAGMA user_version = 3", "PRAGMA", "EXPLAIN",
        "WITH begin AS", "PRAGMA journal_mode", "PRAGMA journal_mode = WAL",
        "PRAGMA main.journal_mode(delete)", "PRAGMA synchronous", "PRAGMA synchronous = NORMAL",
    ])
    func whatOnlyLooksLikeItIsNot(statement: String) throws {
        #expect(try refusal(of: ["1_a.up.sql": statement + ";\nSELECT 2;"]) == nil)
    }

    @Test(arguments: [
        "PRAGMA key = 'open sesame';", "PRAGMA \"rekey\"('open sesame')",
        "PRAGMA key = 'open sesame",
        "ATTACH 'a.db' AS a KEY 'open sesame'", "PRAGMA foreign_keys=0; PRAGMA key=\"open sesame\"",
        "SELECT 1; /* */ ATTACH\t'a.db' AS a KEY 'open sesame'", "PRAGMA key=\n'open sesame",
        "PRAGMA main.key = [open sesame]; -- migrate:dwon",
    ])
    func noMessageTellsAKey(text: String) throws {
        let error = try #require(try error(of: ["1_a.up.sql": text]))
        let message = [error.errorDescription, error.recoverySuggestion, "\(error)"]
        #expect(message.allSatisfy { $0?.contains("sesame") == false })
    }
}
