import Foundation
import GRDB
import MigrationKitSQL
import TestSupport
import Testing

@Suite struct MigrationFolderTests {
    private static let up = "-- migrate:up\nCREATE TABLE a (x);\n"

    @Test func oneFileHoldsBothParts() throws {
        let folder = try TemporaryFolder([
            "0002_b.sql": "-- migrate:up\nCREATE TABLE b (x);\n-- migrate:down\nDROP TABLE b;\n",
            "0001_a.sql": "-- Why.\n\n-- migrate:up\nCREATE TABLE a (x);\n",
        ])
        let migrations = try folder.migrations()
        #expect(migrations.path == folder.path)
        #expect(migrations.steps.map(\.identifier) == ["0001_a", "0002_b"])
        #expect(migrations.steps.map(\.sourceFile) == ["0001_a.sql", "0002_b.sql"])
        #expect(migrations.steps.map { $0.rollback != nil } == [false, true])

        let database = try MigrationDatabase()
        for step in migrations.steps { try database.apply(step) }
        #expect(try database.strings("SELECT name FROM sqlite_schema ORDER BY 1") == ["a", "b"])
        try database.run(#require(migrations.steps[1].rollback))
        #expect(try database.strings("SELECT name FROM sqlite_schema") == ["a"])
    }

    @Test func twoFilesHoldAPartEach() throws {
        let folder = try TemporaryFolder([
            "1_a.up.sql": "CREATE TABLE a (x)",
            "1_a.down.sql": "DROP TABLE a",
            "2_b.up.sql": "CREATE TABLE b (x)",
        ])
        let steps = try folder.migrations().steps
        #expect(steps.map(\.identifier) == ["1_a", "2_b"])
        #expect(steps.map(\.sourceFile) == ["1_a.up.sql", "2_b.up.sql"])
        #expect(steps.map { $0.rollback != nil } == [true, false])

        let database = try MigrationDatabase()
        for step in steps { try database.apply(step) }
        try database.run(#require(steps[0].rollback))
        #expect(try database.strings("SELECT name FROM sqlite_schema") == ["b"])
    }

    @Test(arguments: ["", "\n\n", "-- Nothing takes this back.\n", "/* None. */ ;\n;"])
    func aDownPartWithoutAStatementIsNoRollback(down: String) throws {
        let single = try TemporaryFolder(["0001_a.sql": Self.up + "-- migrate:down\n" + down])
        #expect(try single.migrations().steps.map { $0.rollback == nil } == [true])
        let pair = try TemporaryFolder([
            "0001_a.up.sql": "CREATE TABLE a (x);", "0001_a.down.sql": down,
        ])
        #expect(try pair.migrations().steps.map { $0.rollback == nil } == [true])
    }

    @Test func whatIsNoMigrationIsLeftAlone() throws {
        let folder = try TemporaryFolder([
            "0001_a.sql": Self.up,
            ".0002_b.sql": "a hidden file",
            "0003_c.sql~": "an editor's copy",
            "README.md": "not SQL",
        ])
        try folder.makeFolder("0004_d")
        #expect(try folder.migrations().steps.map(\.identifier) == ["0001_a"])
    }

    @Test func anEndingInCapitalsIsAnEnding() throws {
        let folder = try TemporaryFolder(["0001_a.SQL": Self.up])
        #expect(try folder.migrations().steps.map(\.identifier) == ["0001_a"])
    }

    @Test func aLinkToAFileIsRead() throws {
        let target = try TemporaryFolder(["shared.txt": Self.up])
        let folder = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("0001_a.sql"),
            withDestinationPath: target.path("shared.txt")
        )
        #expect(try folder.migrations().steps.map(\.identifier) == ["0001_a"])
    }

    @Test func aStepReadsNoFile() throws {
        let database = try MigrationDatabase()
        let steps = try TemporaryFolder(["0001_a.sql": Self.up]).migrations().steps
        try database.apply(steps[0])
        #expect(try database.strings("SELECT name FROM sqlite_schema") == ["a"])
    }

    @Test func aMissingFolderIsToldFromAFileAndFromAnEmptyOne() throws {
        let folder = try TemporaryFolder(["notes.txt": ""])
        let missing = folder.path("missing")
        let file = folder.path("notes.txt")
        #expect(throws: MigrationFolderError.noSuchFolder(path: missing)) {
            try MigrationFolder(path: missing)
        }
        #expect(throws: MigrationFolderError.notAFolder(path: file)) {
            try MigrationFolder(path: file)
        }
        #expect(throws: MigrationFolderError.noSuchFolder(path: "")) {
            try MigrationFolder(path: "")
        }
        #expect(throws: MigrationFolderError.empty(path: folder.path)) {
            try folder.migrations()
        }
        let advice = MigrationFolderError.empty(path: "x").recoverySuggestion
        #expect(advice?.contains("0001_name.sql") == true)
        #expect(advice?.contains("0001_name.up.sql") == true)
    }

    @Test func namesThatMakeNoListAreRefused() throws {
        #expect(
            try refusal(of: ["0001_a.sql": Self.up, "schema.sql": ""])
                == .unexpectedName(file: "schema.sql")
        )
        #expect(
            try refusal(of: ["0001_a.sql": Self.up, "0001_a.up.sql": ""])
                == .duplicateIdentifier("0001_a", files: ["0001_a.sql", "0001_a.up.sql"])
        )
        #expect(
            try refusal(of: ["0001_a.sql": Self.up, "0001_a.SQL": Self.up])
                == .duplicateIdentifier("0001_a", files: ["0001_a.SQL", "0001_a.sql"])
        )
        #expect(
            try refusal(of: ["0001_a.sql": Self.up, "0002_b.up.sql": "SELECT 1"])
                == .mixedLayouts(single: "0001_a.sql", pair: "0002_b.up.sql")
        )
        #expect(
            try refusal(of: ["0001_a.up.sql": "SELECT 1", "0002_b.down.sql": "SELECT 1"])
                == .downWithoutUp(file: "0002_b.down.sql")
        )
    }

    @Test func numbersWhoseTextIsInAnotherOrderAreRefused() throws {
        #expect(
            try refusal(of: ["1_a.sql": Self.up, "2_b.sql": Self.up, "10_c.sql": Self.up])
                == .numbersOutOfOrder("10_c", "1_a")
        )
        // The same number twice, zeros in front, and more digits that sort well.
        #expect(
            try refusal(
                of: ["0009_a.sql": Self.up, "009_b.sql": Self.up, "09_c.sql": Self.up]
            ) == nil
        )
        #expect(try refusal(of: ["0999_a.sql": Self.up, "1000_b.sql": Self.up]) == nil)
    }

    @Test func whatIsNoRegularFileIsRefused() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("0001_a.sql")
        let refused = MigrationFolderError.unreadable(
            file: "0001_a.sql",
            reason: "it is no regular file"
        )

        try folder.makeFolder("0001_a.sql")
        #expect(throws: refused) { try folder.migrations() }
        try FileManager.default.removeItem(atPath: path)

        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: refused) { try folder.migrations() }
        try FileManager.default.removeItem(atPath: path)

        try FileManager.default.createSymbolicLink(
            atPath: path,
            withDestinationPath: "nowhere"
        )
        #expect(
            throws: MigrationFolderError.unreadable(
                file: "0001_a.sql",
                reason: "no such file or directory"
            )
        ) { try folder.migrations() }
    }
}
