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
        try folder.write("0004_d/notes.txt", [])
        try folder.makeFolder("archive")
        try folder.write("archive/up.sql", "SELECT 1".utf8)
        try folder.write("0005_e_test.go", [])
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

    @Test func numbersAreComparedAsNumbers() throws {
        let folder = try TemporaryFolder()
        let names = [
            "0_a", "1_late", "02_b", "2.1_b", "2.10_b", "3_c", "10_d", "0011", "999_e", "1000_f",
            "20240101120000_g",
        ]
        for name in names.shuffled() {
            try folder.write("\(name).sql", Self.up.utf8)
        }
        #expect(try folder.migrations().steps.map(\.identifier) == names)
    }

    @Test func numbersBehindAVAreComparedOneByOne() throws {
        let folder = try TemporaryFolder()
        let names = ["V1__a", "V1_0_1__b", "V1.2__c", "V1.10__d", "V2__e", "V10__f"]
        for name in names { try folder.write("\(name).sql", "SELECT 1".utf8) }
        try folder.write("U1.0__other_name.sql", "SELECT 2".utf8)
        let steps = try folder.migrations().steps
        #expect(steps.map(\.identifier) == names)
        #expect(steps.map { $0.rollback != nil } == [true] + Array(repeating: false, count: 5))
    }

    @Test func whatIsNoRegularFileIsRefused() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("0001_a.sql")
        let refused = MigrationFolderError.notARegularFile(file: "0001_a.sql")

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
            throws: MigrationFolderError.missing(file: "0001_a.sql")
        ) { try folder.migrations() }
    }

    /// The order of <https://github.com/dani-garcia/vaultwarden/tree/main/migrations/sqlite>.
    @Test func dieselsFoldersAreInDieselsOrder() throws {
        let ordered = [
            "00000000000000_setup", "10_b", "2_a", "2018-01-14-171611_create_tables",
            "2024-03-06-170000_add_sso_users", "2024-03-13_170000_sso_userscascade",
            "2024-06-05-131359_add_2fa_duo_store",
        ]
        let folder = try TemporaryFolder()
        for name in ordered {
            try folder.makeFolder(name)
            try folder.write("\(name)/up.sql", "SELECT 1;".utf8)
        }
        #expect(try folder.migrations().steps.map(\.identifier) == ordered)
        // Texts that differ are versions that differ.
        try folder.makeFolder("02_c")
        try folder.write("02_c/up.sql", "SELECT 1;".utf8)
        #expect(try folder.migrations().steps.count == ordered.count + 1)
    }

    @Test(arguments: ["", "\n", "-- Later.\n", ";;\n", "/* for another engine */"])
    func stepWithoutAStatementIsAStep(text: String) throws {
        let marked = "-- migrate:up\n" + text + "-- migrate:down\n-- Nothing.\n"
        let goose = "\n-- +goose Up\n" + text + "-- +goose Down\n"
        for (file, text, line) in [
            ("1_a.sql", marked, 1), ("1_a.sql", goose, 2), ("1_a.up.sql", text, 1),
            ("1_a.sql", text, 1), ("1_a/up.sql", text, 1), ("V1__a.sql", text, 1),
        ] where !text.contains("*/--") {
            let folder = try TemporaryFolder()
            if file.contains("/") { try folder.makeFolder("1_a") }
            try folder.write(file, text.utf8)
            let migrations = try folder.migrations()
            #expect(migrations.drafts.isEmpty)
            #expect(
                migrations.notes.map(\.description) == [
                    "\(file):\(line):1: there is no statement: the migration is recorded as applied, "
                        + "and changes nothing"
                ]
            )
            // Nothing was done, and so it can be taken back.
            let database = try MigrationDatabase()
            try database.apply(migrations.steps[0])
            try database.run(#require(migrations.steps[0].rollback))
            #expect(migrations.steps[0].checksum != nil)
        }
    }
}
