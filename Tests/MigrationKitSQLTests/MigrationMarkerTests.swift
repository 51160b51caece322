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

    @Test func allUpsOfSeveralBlocksRunInOrderAndAllDownsTheLastFirst() throws {
        let folder = try TemporaryFolder([
            "1_a.sql": """
            -- migrate:up
            CREATE TABLE log (text);
            CREATE TABLE a (x)
            -- migrate:down
            INSERT INTO log VALUES ('first down')
            -- migrate:up
            INSERT INTO log VALUES ('second up');
            -- migrate:down
            INSERT INTO log VALUES ('second down');
            """
        ])
        let step = try #require(try folder.migrations().steps.first)
        #expect(step.usesTransaction)
        let database = try MigrationDatabase()
        try database.apply(step)
        try database.run(#require(step.rollback))
        #expect(
            try database.strings("SELECT text FROM log")
                == ["second up", "second down", "first down"]
        )
    }

    @Test func anErrorInALaterBlockHasItsLine() throws {
        let text = "-- migrate:up\nSELECT 1;\n-- migrate:down\n-- migrate:up\n\nSELECT x;\n"
        let folder = try TemporaryFolder(["1_a.sql": text + "-- migrate:down\n"])
        let step = try #require(try folder.migrations().steps.first)
        let database = try MigrationDatabase()
        let error = #expect(throws: SQLStatementError.self) { try database.apply(step) }
        #expect(error?.errorDescription == "1_a.sql:6:8: no such column: x")
    }

    @Test func aMisspeltMarkerCantWriteToTheTerminal() throws {
        let error = try error(of: ["1_a.sql": "-- migrate:dwon\u{1B}[2J\nSELECT 1;"])
        #expect(
            error?.errorDescription
                == "1_a.sql:1:1: '-- migrate:dwon [2J' looks like a misspelled marker"
        )
        let option = try refusal(of: ["1_a.sql": "-- migrate:up a:\u{1B}[2J\nSELECT 1;"])
        #expect(option == "1_a.sql:1:15: the option 'a: [2J' is not supported")
    }

    @Test func capitalsMakeNoDifferenceToGoose() throws {
        let folder = try TemporaryFolder([
            "1_a.sql": "--+GOOSE up \nCREATE TABLE a (x);\n-- +goose  DOWN\nDROP TABLE a",
            "2_b.sql": "-- +goose no transaction\n-- +goose envsub off\n-- +goose up\nVACUUM",
        ])
        let migrations = try folder.migrations()
        #expect(migrations.format == .goose)
        #expect(migrations.steps.map { $0.rollback != nil } == [true, false])
        #expect(migrations.steps.map(\.usesTransaction) == [true, false])
    }

    @Test(arguments: [
        "  -- +goose Down", "-- +goose Dwon", "-- +goose", "-- +goose Down;", "-- +gooseDown",
        "SELECT 2; -- +goose Down",
    ])
    func aLineThatIsAlmostOneOfGoosesIsRefused(line: String) throws {
        let comment = line.drop { $0 != "-" }
        let column = line.count - comment.count + 1
        #expect(
            try refusal(of: ["1_a.sql": "-- +goose Up\nSELECT 1;\n\(line)\nDROP TABLE a;"])
                == "1_a.sql:3:\(column): '\(comment)' looks like a misspelled marker"
        )
    }

    /// In a file without markers, what takes the step back would run as its end.
    @Test(arguments: [
        "-- Down", "-- +migrate Down", "--  DOWN MIGRATION", "-- //@UNDO", "--- rollback ---",
        "-- migrate:down", "-- migrate: Down",
    ])
    func theMarkerOfAnotherToolIsRefused(line: String) throws {
        for name in ["1_a.sql", "V1__a.sql"] {
            let text = "CREATE TABLE a (x);\n\(line)\nDROP TABLE a;"
            #expect(try refusal(of: [name: text])?.hasPrefix("\(name):2:1: ") == true)
        }
        guard !line.contains(":") else { return }
        // It is a comment where nothing stands behind it, or where more stands in it.
        #expect(try refusal(of: ["1_a.sql": "SELECT 1;\n\(line)\n-- DROP TABLE a;"]) == nil)
        #expect(try refusal(of: ["1_a.sql": "-- How it slows down\nSELECT 1;"]) == nil)
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
                == "1_a.sql:3:\(line.count - comment.count + 1): '\(comment)' looks like a misspelled marker"
        )
    }

    @Test(arguments: ["-- migrate: split the names", "-- how to migrate:down", "--", "-- migrated"])
    func proseIsNoMarker(line: String) throws {
        #expect(try refusal(of: ["1_a.sql": "-- migrate:up\nSELECT 1;\n\(line)\n"]) == nil)
    }
}
