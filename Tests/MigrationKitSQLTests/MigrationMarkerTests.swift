import GRDB
import MigrationKitSQL
import TestSupport
import Testing

@Suite struct MigrationMarkerTests {
    @Test func aMarkerInsideALiteralOrACommentOrATriggerIsNone() throws {
        let folder = try TemporaryFolder([
            "0001_a.sql": """
            -- migrate:up
            CREATE TABLE a (text TEXT, "odd
            -- migrate:down
            name" TEXT);
            INSERT INTO a VALUES ('it''s
            -- migrate:down
            ', NULL);
            /* Here
            -- migrate:down
            as well */
            CREATE TRIGGER t AFTER INSERT ON a BEGIN
            -- migrate:down
                UPDATE a SET text = CASE WHEN text IS NULL THEN ';' ELSE text END;
            -- migrate:down
            END;
            INSERT INTO a VALUES (NULL, NULL);
            """
        ])
        let steps = try folder.migrations().steps
        #expect(steps[0].rollback == nil)
        let database = try MigrationDatabase()
        try database.apply(steps[0])
        #expect(
            try database.strings("SELECT text FROM a") == ["it's\n-- migrate:down\n", ";"]
        )
    }

    @Test func aMarkerEndsAStatementWithoutASemicolon() throws {
        let folder = try TemporaryFolder([
            "0001_a.sql": """
            --migrate:up transaction:true
            CREATE TABLE a (x);
            CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM a; END
            --  migrate:down  and this is a comment
            DROP TABLE a
            """
        ])
        let step = try #require(try folder.migrations().steps.first)
        let database = try MigrationDatabase()
        try database.apply(step)
        #expect(try database.strings("SELECT name FROM sqlite_schema ORDER BY 1") == ["a", "t"])
        try database.run(#require(step.rollback))
        #expect(try database.schema().isEmpty)
    }

    @Test func markersAreThereOnceAndInOrder() throws {
        #expect(
            try refusal(of: ["1_a.sql": "CREATE TABLE a (x);"]) == .missingUpMarker(file: "1_a.sql")
        )
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:down\nDROP TABLE a;"])
                == .missingUpMarker(file: "1_a.sql")
        )
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:down\nSELECT 1;\n-- migrate:up\nSELECT 1;"])
                == .downBeforeUp(file: "1_a.sql", line: 1)
        )
        #expect(
            try refusal(of: ["1_a.sql": "SELECT 1;\n-- migrate:up\nSELECT 1;"])
                == .statementBeforeMarker(file: "1_a.sql", line: 1)
        )
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:up\nSELECT 1;\n-- migrate:up\nSELECT 1;"])
                == .duplicateMarker(file: "1_a.sql", line: 3, marker: "migrate:up")
        )
        let down = "-- migrate:down\nSELECT 1;\n"
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:up\nSELECT 1;\n" + down + down])
                == .duplicateMarker(file: "1_a.sql", line: 5, marker: "migrate:down")
        )
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:up\nSELECT 1;\n" + down + "-- migrate:up\n"])
                == .duplicateMarker(file: "1_a.sql", line: 5, marker: "migrate:up")
        )
    }

    @Test(arguments: ["", "\n", "-- Later.\n", ";;\n"])
    func anEmptyUpPartIsRefused(text: String) throws {
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:up\n" + text + "-- migrate:down\nSELECT 1;"])
                == .emptyUpPart(file: "1_a.sql")
        )
        #expect(try refusal(of: ["1_a.up.sql": text]) == .emptyUpPart(file: "1_a.up.sql"))
    }

    /// Taken for comments, they would let the way back run as the end of the way forth.
    @Test(arguments: [
        "  -- migrate:down", "-- Migrate:Down", "-- migrate: down", "-- migrate :down",
        "-- migrate:dwon", "SELECT 2; -- migrate:down", "-- migrate:down;", "-- migrate:downwards",
    ])
    func aLineThatIsAlmostAMarkerIsRefused(line: String) throws {
        let comment = line.drop { $0 != "-" }
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:up\nSELECT 1;\n\(line)\nDROP TABLE a;"])
                == .misspeltMarker(file: "1_a.sql", line: 3, marker: String(comment))
        )
    }

    @Test(arguments: ["-- migrate: split the names", "-- how to migrate:down", "--", "-- migrated"])
    func proseIsNoMarker(line: String) throws {
        #expect(try refusal(of: ["1_a.sql": "-- migrate:up\nSELECT 1;\n\(line)\n"]) == nil)
    }

    @Test func optionsThatChangeHowAStepRunsAreRefused() throws {
        #expect(
            try refusal(of: ["1_a.sql": "-- migrate:up transaction:no\nSELECT 1;"])
                == .unsupportedOption(file: "1_a.sql", line: 1, option: "transaction:no")
        )
        #expect(
            try refusal(of: ["1_a.sql": "\n-- migrate:up\nSELECT 1;\n-- migrate:down env:x"])
                == .unsupportedOption(file: "1_a.sql", line: 4, option: "env:x")
        )
    }

    @Test func aMarkerInAFileOfAPairIsRefused() throws {
        #expect(
            try refusal(of: ["1_a.up.sql": "SELECT 1;\n-- migrate:down\nDROP TABLE a;"])
                == .markerInPair(file: "1_a.up.sql", line: 2)
        )
    }
}
