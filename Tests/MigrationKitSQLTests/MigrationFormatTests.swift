import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A folder in the form of each tool, with what is awkward in it: markers and semicolons in
/// literals, comments and triggers, Windows line ends, no newline at the end, a rebuilt parent
/// table, numbers of different length (but for dbmate and diesel, which put versions in the order of
/// their text).
@Suite struct MigrationFormatTests {
    struct Example: CustomTestStringConvertible, Sendable {
        let folder: String
        let format: MigrationFormat
        let identifiers: [String]
        var outsideOfTransaction: [String] = []
        var canGoDown = true
        var testDescription: String { folder }
    }

    static let examples = [
        Example(
            folder: "dbmate",
            format: .dbmate,
            identifiers: timestamps,
            outsideOfTransaction: ["20240302000000_vacuum"]
        ),
        Example(
            folder: "goose",
            format: .goose,
            identifiers: [
                "1_create_recipes", "2_add_rows", "10_track_changes", "011_unique_names",
                "100_vacuum",
            ],
            outsideOfTransaction: ["100_vacuum"]
        ),
        Example(
            folder: "golang-migrate",
            format: .pairs,
            identifiers: [
                "1_create_recipes", "2_add_rows", "9_track_changes", "10_unique_names",
            ]
        ),
        Example(
            folder: "sqlx/reversible",
            format: .pairs,
            identifiers: timestamps,
            outsideOfTransaction: ["20240302000000_vacuum"]
        ),
        Example(
            folder: "sqlx/up-only",
            format: .upOnly,
            identifiers: [
                "1_create_recipes", "2_add_rows", "3_track_changes", "10_unique_names",
                "11_vacuum",
            ],
            outsideOfTransaction: ["11_vacuum"],
            canGoDown: false
        ),
        Example(
            folder: "diesel",
            format: .diesel,
            identifiers: [
                "2024-01-05-120000_create_recipes", "2024-01-06-090000_add_rows",
                "2024-01-07-101500_track_changes", "2024-03-01-000000_unique_names",
                "2024-03-02-000000_vacuum",
            ],
            outsideOfTransaction: ["2024-03-02-000000_vacuum"]
        ),
        Example(
            folder: "flyway",
            format: .flyway,
            identifiers: [
                "V1__create_recipes", "V2__add_rows", "V2.1__track_changes", "V10__unique_names",
            ]
        ),
    ]

    private static let timestamps = [
        "20240105120000_create_recipes", "20240106090000_add_rows",
        "20240107101500_track_changes", "20240301000000_unique_names", "20240302000000_vacuum",
    ]

    private static func fixture(_ name: String) -> String {
        PackageFolder.path("Tests/MigrationKitSQLTests/Fixtures/\(name)")
    }

    /// What migrations have made: the schema and the rows, without what a tool keeps of its own and
    /// without the time of the run.
    ///
    /// Windows line ends are line feeds in it: we make them that in the schema's text, dbmate
    /// nowhere, and the `sqlite3` shell everywhere.
    private func contents(_ database: some DatabaseReader) throws -> [String] {
        try database.read { db in
            func lines(_ query: String) throws -> [String] {
                try Row.fetchAll(db, sql: query).map { row in
                    row.databaseValues.map { $0.storage.value.map { "\($0)" } ?? "NULL" }
                        .joined(separator: "|")
                }
            }
            var contents = try lines(
                """
                SELECT type, name, tbl_name, sql FROM sqlite_schema
                WHERE tbl_name NOT LIKE 'grdb\\_%' ESCAPE '\\' AND tbl_name <> 'schema_migrations'
                ORDER BY type, name
                """
            )
            for (table, columns) in [("cooks", "*"), ("recipes", "*"), ("changes", "text")]
            where try db.tableExists(table) {
                contents += try lines("SELECT '\(table)', \(columns) FROM \(table) ORDER BY rowid")
            }
            return contents.map { $0.replacing("\r\n", with: "\n") }
        }
    }

    @Test(arguments: examples)
    func theFormatIsToldByTheFiles(example: Example) throws {
        let folder = try MigrationFolder(path: Self.fixture(example.folder))
        #expect(folder.format == example.format)
        #expect(folder.steps.map(\.identifier) == example.identifiers)
        #expect(
            folder.steps.filter { !$0.usesTransaction }.map(\.identifier)
                == example.outsideOfTransaction
        )
        #expect(folder.steps.allSatisfy { ($0.rollback != nil) == example.canGoDown })
        let notes = folder.notes.filter { $0.message.contains("has no effect") }
        #expect(notes.count == (example.canGoDown ? 4 : 2))
    }

    @Test(arguments: examples)
    func theFolderMigratesUpAndDownAndUpAgainOnAnEncryptedFile(example: Example) throws {
        let folder = try MigrationFolder(path: Self.fixture(example.folder))
        let place = try TemporaryFolder()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let database = try EncryptedDatabase.open(
            place.path("store.db"),
            key: .rawKey(bytes: bytes.withUnsafeBytes { Secret(copying: $0) }),
            options: .init(createsFile: true)
        )
        let runner = try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false)

        try runner.migrate(in: database)
        let first = try database.read(GRDBSchemaSnapshotProvider.snapshot)
        let firstContents = try contents(database)
        #expect(first.contains("recipes_changed"))
        let titles = try database.read {
            try String.fetchAll($0, sql: "SELECT title FROM recipes ORDER BY id")
        }
        #expect(titles == ["ANA; SOUP", "O'Brien;; soup", "Zoë; soup"])
        #expect(
            try database.read { try String.fetchOne($0, sql: "SELECT text FROM changes") }
                == "Ana; soup"
        )
        // Line ends in a literal are data.
        let motto = try database.read {
            try String.fetchOne($0, sql: "SELECT motto FROM cooks WHERE id = 3")
        }
        #expect(motto?.contains("\r\nDROP TABLE cooks;\r\n") == true)

        guard example.canGoDown else {
            #expect(throws: (any Error).self) { try runner.rollbackLastMigration(in: database) }
            return
        }
        try runner.rollbackMigrations(in: database, steps: folder.steps.count)
        #expect(try database.read(GRDBSchemaSnapshotProvider.snapshot).isEmpty)
        #expect(try contents(database) == [])
        try runner.migrate(in: database)
        #expect(try database.read(GRDBSchemaSnapshotProvider.snapshot) == first)
        #expect(try contents(database) == firstContents)
    }

    /// dbmate itself, and the `sqlite3` shell for the tools that give a file to SQLite as a whole.
    /// goose isn't among them, since its markers cut the files.
    @Test(arguments: examples.filter { $0.format != .goose })
    func theOtherToolMakesTheSame(example: Example) throws {
        let place = try TemporaryFolder()
        let fixture = Self.fixture(example.folder)
        let folder = try MigrationFolder(path: fixture)
        let runner = try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false)
        let ours = try DatabaseQueue(path: place.path("ours.db"))
        let theirs = place.path("theirs.db")

        try runner.migrate(in: ours)
        for step in folder.steps where example.format != .dbmate {
            try SQLiteShell.run(file: "\(fixture)/\(step.sourceFile)", on: theirs)
        }
        if example.format == .dbmate {
            try Dbmate.run("up", on: theirs, migrations: fixture)
        }
        let made = try contents(ours)
        #expect(made.contains { $0.hasPrefix("trigger|recipes_changed|recipes|") })
        #expect(try made == contents(DatabaseQueue(path: theirs)))

        guard example.canGoDown else { return }
        try runner.rollbackMigrations(in: ours, steps: folder.steps.count)
        for step in folder.steps.reversed() {
            if example.format == .dbmate {
                try Dbmate.run("down", on: theirs, migrations: fixture)
            } else {
                try SQLiteShell.run(
                    file: "\(fixture)/\(Self.down(of: step.sourceFile))",
                    on: theirs
                )
            }
        }
        #expect(try contents(ours) == [])
        #expect(try contents(DatabaseQueue(path: theirs)) == [])
    }

    /// The file that takes back what a file applies.
    private static func down(of file: String) -> String {
        file.hasPrefix("V")
            ? "U" + file.dropFirst()
            : file.replacing(".up.sql", with: ".down.sql").replacing("/up.sql", with: "/down.sql")
    }

    @Test func aLaterMigrationChangesNoIdentifierAndNoOrder() throws {
        let place = try TemporaryFolder()
        var earlier: [String] = []
        for number in ["1", "2", "9", "10", "11", "99", "100", "0101", "20240101120000"] {
            try place.write("\(number)_step.sql", "CREATE TABLE t\(number) (x);".utf8)
            let identifiers = try place.migrations().steps.map(\.identifier)
            #expect(identifiers == earlier + ["\(number)_step"])
            earlier = identifiers
        }
    }
}
