import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@Suite struct SchemaSnapshotTests {
    private func provider(_ sql: String) throws -> GRDBSchemaSnapshotProvider {
        let runner = try GRDBMigrationRunner(steps: [step("0001", sql)])
        return GRDBSchemaSnapshotProvider(migrate: { try runner.migrate(in: $0) })
    }

    @Test func keepsTheTextOfTheAuthor() throws {
        let sql = """
            CREATE TABLE note (
                id INTEGER PRIMARY KEY, -- two  spaces; and a semicolon
                kind TEXT DEFAULT 'a  b
              c'
            )
            """
        #expect(try provider(sql).generateCanonicalSnapshot() == sql + ";\n")
    }

    @Test func putsEveryObjectBehindWhatItNeeds() throws {
        let snapshot = try provider(
            """
            CREATE TABLE z (id);
            CREATE VIEW b AS SELECT id FROM z;
            CREATE TRIGGER a INSTEAD OF INSERT ON b BEGIN INSERT INTO z VALUES (NEW.id); END;
            CREATE INDEX c ON z (id);
            CREATE TABLE y (id);
            """
        ).generateCanonicalSnapshot()
        let starts = snapshot.split(separator: "\n").filter { $0.hasPrefix("CREATE") }
        #expect(
            starts.map { $0.prefix(14) } == [
                "CREATE TABLE y", "CREATE TABLE z", "CREATE INDEX c", "CREATE VIEW b ",
                "CREATE TRIGGER",
            ]
        )
    }

    @Test func leavesInternalTablesOutAndCanBeLoadedAgain() throws {
        let provider = try provider(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT UNIQUE);
            CREATE VIRTUAL TABLE note_text USING fts5 (body, content = 'note');
            CREATE TRIGGER note_insert AFTER INSERT ON note BEGIN
                INSERT INTO note_text (rowid, body) VALUES (NEW.id, NEW.body);
            END;
            CREATE VIEW recent AS SELECT * FROM note -- the newest
            """
        )
        let snapshot = try provider.generateCanonicalSnapshot()
        #expect(!snapshot.contains("note_text_data"))
        #expect(!snapshot.contains("sqlite_sequence"))
        #expect(!snapshot.contains("grdb_migrations"))

        let reloaded = try DatabaseQueue()
        try reloaded.write { try $0.execute(sql: snapshot) }
        #expect(try reloaded.read(GRDBSchemaSnapshotProvider.snapshot(of:)) == snapshot)
    }

    @Test func sameMigrationsGiveTheSameText() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let provider = GRDBSchemaSnapshotProvider(migrate: { try runner.migrate(in: $0) })
        #expect(try provider.generateCanonicalSnapshot() == provider.generateCanonicalSnapshot())
    }

    @Test func postProcessHasTheLastWord() throws {
        let provider = GRDBSchemaSnapshotProvider(
            migrate: { _ in },
            postProcess: { "-- empty" + $0 }
        )
        #expect(try provider.generateCanonicalSnapshot() == "-- empty")
    }
}

@Suite struct SQLHelpersTests {
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: queue)
    }

    @Test func dropsWhatIsThereAndLetsBeWhatIsNot() throws {
        try queue.write { (db: Database) throws in
            for _ in 1...2 {
                try GRDBMigrationSQLHelpers.dropIndexIfExists("tag_itemId", in: db)
                try GRDBMigrationSQLHelpers.dropColumnIfExists("NAME", from: "item", in: db)
                try GRDBMigrationSQLHelpers.dropTableIfExists("tag", in: db)
            }
            try GRDBMigrationSQLHelpers.dropColumnIfExists("name", from: "nowhere", in: db)
            #expect(try db.columns(in: "item").map(\.name) == ["id"])
            #expect(try !db.tableExists("tag"))
        }
    }

    @Test func quotesNames() throws {
        #expect(GRDBMigrationSQLHelpers.quoted("a") == "\"a\"")
        let name = "we\"ird; DROP TABLE item"
        try queue.write { (db: Database) throws in
            try db.execute(sql: "CREATE TABLE \(GRDBMigrationSQLHelpers.quoted(name)) (id)")
            #expect(try db.tableExists(name))
            try GRDBMigrationSQLHelpers.dropTableIfExists(name, in: db)
            #expect(try !db.tableExists(name))
            #expect(try db.tableExists("item"))
        }
    }
}
