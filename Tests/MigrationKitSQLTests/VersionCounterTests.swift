import Foundation
import GRDB
import TestSupport
import Testing

@testable import MigrationKitSQL

/// Tables that look like another tool's, and aren't.
@Suite struct VersionCounterTests {
    private func read<Value>(
        _ statements: String,
        _ body: (MigrationFolder, Database) throws -> Value
    ) throws -> Value {
        let folder = try TemporaryFolder()
        for file in ["0001_a.sql", "0002_b.sql", "0003_c.sql"] {
            try folder.write(file, "SELECT 1".utf8)
        }
        let migrations = try folder.migrations()
        let database = try DatabaseQueue()
        try database.write { try $0.execute(sql: statements) }
        return try database.read { try body(migrations, $0) }
    }

    /// Tables with the step to which they count.
    private static let counters = [
        // An app's own.
        ("CREATE TABLE schema_version (version); INSERT INTO schema_version VALUES (3)", "0003_c"),
        (
            "CREATE TABLE db_version (version INTEGER); INSERT INTO db_version VALUES ('2')",
            "0002_b"
        ),
        (
            "CREATE TABLE version (version INTEGER NOT NULL); INSERT INTO version VALUES (1)",
            "0001_a"
        ),
        (
            "CREATE TABLE schema_version (version VARCHAR(128) PRIMARY KEY); INSERT INTO schema_version VALUES ('3')",
            "0003_c"
        ),
        (
            "CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT, checksum TEXT); INSERT INTO migrations VALUES (1, 'a', 'x'), (2, 'b', 'y')",
            "0002_b"
        ),
        (
            "CREATE TABLE app_migrations (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO app_migrations VALUES (7, '0001_a'), (8, '0002_b.sql')",
            "0002_b"
        ),
        // Rails, of two ages.
        (
            "CREATE TABLE schema_migrations (version varchar NOT NULL PRIMARY KEY); INSERT INTO schema_migrations VALUES ('0001'), ('0002')",
            "0002_b"
        ),
        (
            "CREATE TABLE schema_migrations (version varchar(255) NOT NULL); INSERT INTO schema_migrations VALUES ('3')",
            "0003_c"
        ),
        // Ecto.
        (
            "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, inserted_at TEXT); INSERT INTO schema_migrations VALUES (1, 'x'), (2, 'x'), (3, 'x')",
            "0003_c"
        ),
        // The only value of its table, or the one beside a key.
        ("CREATE TABLE version (v INTEGER); INSERT INTO version VALUES (3)", "0003_c"),
        ("CREATE TABLE app_schema (version TEXT); INSERT INTO app_schema VALUES ('v2')", "0002_b"),
        (
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY); INSERT INTO alembic_version VALUES ('0002')",
            "0002_b"
        ),
        (
            "CREATE TABLE meta (key TEXT PRIMARY KEY, value); INSERT INTO meta VALUES ('theme', 1), ('schema_version', '2')",
            "0002_b"
        ),
        (
            "CREATE TABLE settings (name TEXT, value); INSERT INTO settings VALUES ('dbVersion', 3)",
            "0003_c"
        ),
        // Names, of tools that have no format of their own here.
        (
            "CREATE TABLE SequelizeMeta (name VARCHAR(255) NOT NULL UNIQUE PRIMARY KEY); INSERT INTO SequelizeMeta VALUES ('0001_a.sql'), ('0002_b.sql')",
            "0002_b"
        ),
        (
            "CREATE TABLE __EFMigrationsHistory (MigrationId TEXT PRIMARY KEY, ProductVersion TEXT); INSERT INTO __EFMigrationsHistory VALUES ('0001_a', '8.0.1')",
            "0001_a"
        ),
        (
            "CREATE TABLE _prisma_migrations (id TEXT PRIMARY KEY, checksum TEXT, migration_name TEXT); INSERT INTO _prisma_migrations VALUES ('a', 'b', '0001_a'), ('c', 'd', '0002_b')",
            "0002_b"
        ),
        // Two changes of one file.
        (
            "CREATE TABLE DATABASECHANGELOG (ID TEXT, AUTHOR TEXT, FILENAME TEXT); INSERT INTO DATABASECHANGELOG VALUES ('1', 'x', 'db/0001_a.sql'), ('2', 'x', 'db/0001_a.sql'), ('3', 'x', 'db/0002_b.sql'), ('4', 'x', 'db/0002_b.sql')",
            "0002_b"
        ),
        (
            "CREATE TABLE _yoyo_migration (migration_hash TEXT PRIMARY KEY, migration_id TEXT); INSERT INTO _yoyo_migration VALUES ('x', '0001_a')",
            "0001_a"
        ),
        // Tables of tools with what the tool doesn't write.
        (
            "CREATE TABLE schema_migrations (version uint64, dirty bool); INSERT INTO schema_migrations VALUES (1, 0), (2, 0)",
            "0002_b"
        ),
        (
            "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP); INSERT INTO goose_db_version VALUES (1, 1, 1, '')",
            "0001_a"
        ),
        (
            "CREATE TABLE refinery_schema_history (version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255)); INSERT INTO refinery_schema_history VALUES (2, 'b', 'yesterday', 'x')",
            "0002_b"
        ),
        (
            "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on TIMESTAMP NOT NULL, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, execution_time BIGINT NOT NULL); INSERT INTO _sqlx_migrations VALUES (1, 'a', '', 1, 'text', 1)",
            "0001_a"
        ),
    ]

    @Test(arguments: counters)
    func tableThatOnlyLooksLikeAToolsIsACounter(_ statements: String, _ step: String) throws {
        try read(statements) { (folder, db) throws in
            #expect(try MigrationTool.found(in: db).isEmpty)
            #expect(try folder.counters(in: db).map(\.identifier) == [step])
        }
    }

    /// Columns that a tool doesn't make are refused even if the table is named.
    @Test(arguments: [
        (
            MigrationTool.dbmate,
            "CREATE TABLE schema_migrations (version varchar NOT NULL PRIMARY KEY)"
        ),
        (.dbmate, "CREATE TABLE schema_migrations (version)"),
        (.golangMigrate, "CREATE TABLE schema_migrations (version INTEGER, dirty INTEGER)"),
        (.goose, "CREATE TABLE goose_db_version (id, version_id, is_applied, tstamp)"),
        (.refinery, "CREATE TABLE refinery_schema_history (version, name, checksum)"),
        (
            .diesel,
            "CREATE TABLE __diesel_schema_migrations (version TEXT PRIMARY KEY, run_on TEXT)"
        ),
    ])
    func columnsOfAnotherMakerAreRefused(_ tool: MigrationTool, _ statement: String) throws {
        try read(statement) { (folder, db) throws in
            let error = #expect(throws: MigrationAdoptionError.self) {
                try folder.identifiersApplied(by: tool, in: db)
            }
            guard case .unexpectedColumns(tool, _, _)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test(arguments: [
        "CREATE TABLE schema_version (version); INSERT INTO schema_version VALUES (17)",
        "CREATE TABLE schema_version (version); INSERT INTO schema_version VALUES (0)",
        "CREATE TABLE schema_version (version)",
        "CREATE TABLE note (version INTEGER); INSERT INTO note VALUES (2)",
        "CREATE TABLE bird_migrations (version, species); INSERT INTO bird_migrations VALUES (1, 'a'), (4, 'b')",
        "CREATE TABLE versions (version); INSERT INTO versions VALUES (1), (2), (3), (1)",
        "CREATE VIEW schema_version AS SELECT 3 AS version",
        // Tables of a user's, with small numbers.
        "CREATE TABLE item (id INTEGER PRIMARY KEY); INSERT INTO item VALUES (1), (2)",
        "CREATE TABLE meta (id INTEGER PRIMARY KEY); INSERT INTO meta VALUES (1)",
        "CREATE TABLE meta (n INTEGER); INSERT INTO meta VALUES (1), (2)",
        "CREATE TABLE metal (n INTEGER); INSERT INTO metal VALUES (2)",
        "CREATE TABLE counter (n INTEGER); INSERT INTO counter VALUES (2)",
        "CREATE TABLE document_versions (id INTEGER PRIMARY KEY, version INTEGER); INSERT INTO document_versions VALUES (1, 2)",
        "CREATE TABLE app_version (id INTEGER PRIMARY KEY, major INTEGER); INSERT INTO app_version VALUES (1, 2)",
        "CREATE TABLE meta (key TEXT, value); INSERT INTO meta VALUES ('app_version', 2), ('conversion', 1)",
        "CREATE TABLE meta (key TEXT, value); INSERT INTO meta VALUES ('schema_version', 17)",
        "CREATE TABLE settings (key TEXT, value); INSERT INTO settings VALUES ('version', 2)",
        "CREATE TABLE note (name TEXT); INSERT INTO note VALUES ('0001_a'), ('0002_b')",
        "CREATE TABLE file_version (name TEXT); INSERT INTO file_version VALUES ('0001_a'), ('of another')",
        "CREATE TABLE file_version (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO file_version VALUES (1, 'a'), (2, 'b')",
        // A tool's own is no counter.
        "CREATE TABLE schema_migrations (version varchar(128) primary key); INSERT INTO schema_migrations VALUES ('1')",
    ])
    func whatSaysNothingOfTheFolderIsNoCounter(_ statements: String) throws {
        try read(statements) { (folder, db) throws in
            #expect(try folder.counters(in: db).isEmpty)
        }
    }

    /// The names are another program's choice, and become part of SQL.
    @Test func anyNameIsQuoted() throws {
        let (table, column) = ("a\" schema_version", "Versión \"x")
        try read(
            """
            CREATE TABLE "a"" schema_version" ("Versión ""x");
            INSERT INTO "a"" schema_version" VALUES (2);
            """
        ) { (folder, db) throws in
            let found = try folder.counters(in: db)
            #expect(found.map(\.table) == [table], "\(column) is the only one")
            #expect(try MigrationTool.found(in: db).isEmpty, "\(table)")
        }
        try read(
            """
            CREATE TABLE "a"" schema_version" ("Version ""x");
            INSERT INTO "a"" schema_version" VALUES (2);
            """
        ) { (folder, db) throws in
            #expect(try folder.counters(in: db).map(\.identifier) == ["0002_b"])
        }
    }
}
