import GRDB
import MigrationKit
import MigrationKitSQL
import TestSupport
import Testing

@Suite struct CheckPartTests {
    private static let statements = """
        -- migrate:require
        -- no row
        SELECT rowid FROM a;
        -- migrate:end
        CREATE TABLE b (x);
        -- migrate:check
        -- no b
        SELECT rowid FROM b

        """

    private func step(_ text: String) throws -> MigrationStep<Database> {
        try #require(try TemporaryFolder(["0001_a.sql": text]).migrations().steps.first)
    }

    // MARK: - Formats

    @Test(arguments: [
        [
            "0001_a.sql": "-- migrate:up\n\(statements)-- migrate:down\nDROP TABLE b;"
        ],
        [
            "0001_a.sql": """
            -- +goose Up
            \(statements)
            -- +goose Down
            -- +goose StatementBegin
            DROP TABLE b
            -- +goose StatementEnd
            """
        ],
        ["0001_a.up.sql": statements, "0001_a.down.sql": "DROP TABLE b"],
        ["0001_a/up.sql": statements, "0001_a/down.sql": "DROP TABLE b"],
        ["V1__a.sql": statements, "U1__a.sql": "DROP TABLE b"],
        ["0001_a.sql": statements],
        [
            "0001_a.sql": """
            -- migrate:require no row
            SELECT rowid FROM a;
            -- migrate:up
            CREATE TABLE b (x);
            -- migrate:check no b
            SELECT rowid FROM b
            -- migrate:down
            DROP TABLE b;
            """
        ],
        [
            "0001_a.sql": """
            -- migrate:up
            CREATE TABLE b (x)
            -- migrate:check
            /* no
               b */ SELECT rowid FROM b;;
            -- migrate:require
            -- no row
            SELECT rowid FROM a
            """
        ],
        [
            "0001_a.sql": "-- migrate:up\n\(statements)-- migrate:down\nDROP TABLE b;"
                .replacing("\n", with: "\r\n")
        ],
    ])
    func everyFormatHasRoomForChecks(_ files: [String: String]) throws {
        let folder = try TemporaryFolder()
        for (name, text) in files.sorted(by: { $0.key > $1.key }) {
            if name == "0001_a/up.sql" { try folder.makeFolder("0001_a") }
            try folder.write(name, text.utf8)
        }
        let migrations = try folder.migrations()
        let step = migrations.steps[0]
        #expect(step.requirements.map(\.name) == ["no row"])
        #expect(step.requirements.map(\.sql) == ["SELECT rowid FROM a"])
        #expect(step.checks.map(\.name) == ["no b"])
        #expect(step.checks.map(\.sql) == ["SELECT rowid FROM b"])
        let sql = try #require(migrations.scripts[step.identifier])
        #expect(sql.up.trimmingSuffix(";") == "CREATE TABLE b (x)")
        let database = try MigrationDatabase()
        // They are none of its statements: nothing has their table.
        try database.apply(step)
        #expect(try database.strings("SELECT name FROM sqlite_schema") == ["b"])
        guard let rollback = step.rollback else { return #expect(sql.down == nil) }
        try database.run(rollback)
        #expect(try database.schema() == [])
    }

    @Test func severalBlocksKeepTheirOrder() throws {
        let step = try step(
            """
            -- migrate:up
            CREATE TABLE a (x);
            -- migrate:check
            SELECT 1 FROM a;
            -- migrate:down
            DROP TABLE a;
            -- migrate:up
            INSERT INTO a VALUES (1);
            -- migrate:check
            SELECT 2 FROM a
            -- migrate:end
            INSERT INTO a VALUES (2);
            -- migrate:down
            DELETE FROM a;
            """
        )
        #expect(step.checks.map(\.sql) == ["SELECT 1 FROM a", "SELECT 2 FROM a"])
        #expect(step.checks.map(\.name) == ["0001_a.sql:4:1", "0001_a.sql:10:1"])
        let database = try MigrationDatabase()
        try database.apply(step)
        #expect(try database.integers("SELECT x FROM a") == [1, 2])
        try database.run(#require(step.rollback))
        #expect(try database.schema() == [])
    }

    // MARK: - Checksums

    /// The statements count, wherever they stand; comments don't.
    @Test func theyAreOfTheChecksum() throws {
        func checksum(_ text: String) throws -> String? { try step(text).checksum }
        let plain = try checksum("-- migrate:up\nCREATE TABLE b (x);")
        let checked = try checksum(
            "-- migrate:up\nCREATE TABLE b (x);\n-- migrate:check\nSELECT 1 FROM b;"
        )
        #expect(plain != checked)
        #expect(
            try checked
                == checksum(
                    "-- migrate:up\nCREATE TABLE b (x);\n-- migrate:check\n-- none\nSELECT 1 FROM b"
                )
        )
        #expect(
            try checked
                != checksum(
                    "-- migrate:up\nCREATE TABLE b (x);\n-- migrate:check\nSELECT 2 FROM b;"
                )
        )
        // As it was when the marker was a comment for this tool.
        #expect(
            try checked == checksum("-- migrate:up\nCREATE TABLE b (x);\nSELECT 1 FROM b;")
        )
        let above = try checksum("-- migrate:require\nSELECT 1\n-- migrate:up\nCREATE TABLE b (x);")
        #expect(above != plain)
    }

    // MARK: - Names

    @Test func aCheckIsNamedByTheCommentDirectlyAboveIt() throws {
        let step = try step(
            """
            -- migrate:up
            -- migrate:check
            -- Not of any.

            SELECT 1; -- of the first
            -- of
            -- migrationkit:allow drop-table because
            --   the second
            SELECT 2; SELECT 3; /* of the third */
            /* of the fourth,
            on two lines */
            SELECT 4;
            """
        )
        #expect(
            step.checks.map(\.name)
                == [
                    "0001_a.sql:5:1", "of the second", "0001_a.sql:9:11",
                    "of the fourth, on two lines",
                ]
        )
    }

    // MARK: - What isn't a Part

    @Test func markersInStringsCommentsAndTriggersAreText() throws {
        let step = try step(
            """
            -- migrate:up
            CREATE TABLE a (x);
            INSERT INTO a VALUES ('
            -- migrate:check
            ');
            /*
            -- migrate:check
            */
            CREATE TRIGGER t AFTER INSERT ON a BEGIN
            -- migrate:check
                DELETE FROM a;
            END;
            """
        )
        #expect(step.checks == [])
        let database = try MigrationDatabase()
        try database.apply(step)
        #expect(try database.strings("SELECT name FROM sqlite_schema ORDER BY 1") == ["a", "t"])
    }

    @Test(arguments: [
        "SELECT 1; -- migrate:check", " -- migrate:check", "-- migrate:checks",
        "-- Migrate:Check", "-- migrate: check",
    ])
    func aMisspeltMarkerIsRefused(_ marker: String) throws {
        let text = "-- migrate:up\nCREATE TABLE a (x);\n\(marker)\nSELECT 2 FROM a;"
        #expect(try refusal(of: ["0001_a.sql": text])?.contains("misspelled marker") == true)
    }

    @Test(arguments: ["require", "check", "end"])
    func aPartBelongsToWhatAppliesTheMigration(_ word: String) throws {
        let part = "-- migrate:\(word)\nSELECT 1;"
        for files: KeyValuePairs in [
            ["0001_a.sql": "-- migrate:up\nSELECT 1;\n-- migrate:down\n\(part)"],
            [
                "0001_a.sql":
                    "-- migrate:up\nSELECT 1;\n-- migrate:down\n\(part)\n-- migrate:up\n-- migrate:down"
            ],
            ["0001_a.sql": "-- +goose Up\nSELECT 1;\n-- +goose Down\n\(part)"],
            ["0001_a.up.sql": "SELECT 1;", "0001_a.down.sql": part],
            ["0001_a/up.sql": "SELECT 1;", "0001_a/down.sql": part],
            ["V1__a.sql": "SELECT 1;", "U1__a.sql": part],
        ] {
            let refusal = try refusal(of: files)
            #expect(
                refusal?.contains("'-- migrate:\(word)' is not allowed here") == true,
                "\(files): \(refusal ?? "")"
            )
        }
    }

    @Test(arguments: [
        ("-- migrate:check", "0001_a.sql:3:1: there is no query"),
        ("-- migrate:check\n-- only a comment\n/* and */", "0001_a.sql:3:1: there is no query"),
        ("-- migrate:check\n;;", "0001_a.sql:3:1: there is no query"),
        ("-- migrate:check\n-- migrate:end\nSELECT 1;", "0001_a.sql:3:1: there is no query"),
        ("-- migrate:end", "0001_a.sql:3:1: '-- migrate:end' is not allowed here"),
        ("-- migrate:check\nDROP TABLE a;", "0001_a.sql:4:1: a check can only be a query"),
        (
            "-- migrate:check\nSELECT 1; UPDATE a SET x = 1;",
            "0001_a.sql:4:11: a check can only be a query"
        ),
        (
            "-- migrate:check\nPRAGMA key = 'geheim';",
            "0001_a.sql:4:1: a check can only be a query"
        ),
        (
            "-- migrate:require\nATTACH 'x' AS y KEY 'geheim';",
            "0001_a.sql:4:1: a check can only be a query"
        ),
        (
            "-- migrate:check\nSELECT 'open",
            "0001_a.sql:4:8: missing ': what begins here is never closed"
        ),
    ])
    func whatIsNoQueryIsRefused(_ part: String, _ refusal: String) throws {
        let error = try #require(
            try error(of: ["0001_a.sql": "-- migrate:up\nCREATE TABLE a (x);\n\(part)"])
        )
        #expect(error.errorDescription == refusal)
        #expect(error.recoverySuggestion?.isEmpty == false)
        #expect(!"\(error) \(error.recoverySuggestion ?? "")".contains("geheim"))
    }

    /// The markers are comments for it.
    @Test func dbmateRunsTheQueriesAsStatements() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("migrations")
        try folder.write(
            "migrations/0001_a.sql",
            """
            -- migrate:up
            -- migrate:require
            SELECT 1 WHERE 0;
            -- migrate:end
            CREATE TABLE a (x);
            -- migrate:check
            SELECT x FROM a;
            -- migrate:down
            DROP TABLE a;
            """.utf8
        )
        try Dbmate.run("up", on: folder.path("a.db"), migrations: folder.path("migrations"))
        let queue = try DatabaseQueue(path: folder.path("a.db"))
        #expect(try queue.read { try $0.tableExists("a") })
    }

    // MARK: - A Folder

    @Test func aFolderHasChecksInTheOrderOfItsFiles() throws {
        let folder = try TemporaryFolder([
            "b.sql": "-- of b\r\nSELECT 2;\r\nSELECT 3",
            "a.SQL": "-- of a\nVALUES (1)",
            ".hidden.sql": "DROP TABLE a", "notes.md": "DROP TABLE a",
        ])
        try folder.makeFolder("c.sql")
        let checks = try CheckQuery.inFolder(folder.path)
        #expect(checks.map(\.name) == ["of a", "of b", "\(folder.path)/b.sql:3:1"])
        #expect(checks.map(\.sql) == ["VALUES (1)", "SELECT 2", "SELECT 3"])
    }

    @Test(arguments: [
        ("", "there is no query"), ("-- nothing\n", "there is no query"),
        ("DELETE FROM a;", "a check can only be a query"),
        ("-- migrate:check\nSELECT 1;", "is not allowed here"),
        ("-- migrate:up\nSELECT 1;", "is not allowed here"),
        ("SELECT (1;", "missing )"),
    ])
    func aFileWithAnythingElseIsRefused(_ text: String, _ reason: String) throws {
        let folder = try TemporaryFolder(["a.sql": text])
        let error = #expect(throws: MigrationFolderError.self) {
            try CheckQuery.inFolder(folder.path)
        }
        #expect(error?.errorDescription?.hasPrefix("\(folder.path)/a.sql:1:") == true)
        #expect(error?.errorDescription?.contains(reason) == true)
    }

    @Test func aMissingFolderIsAnError() throws {
        let folder = try TemporaryFolder()
        #expect(throws: MigrationFolderError.noSuchFolder(path: folder.path("none"))) {
            try CheckQuery.inFolder(folder.path("none"))
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
