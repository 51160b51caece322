import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitSQL
import TestSupport
import Testing

/// What the version tables of other tools say about the steps of a folder.
@Suite struct AdoptionTests {
    /// Steps whose numbers differ in length, so that their order by text is another.
    private static let folder = ["0001_a.sql", "2_b.sql", "10_c.sql", "011_d.sql"]

    /// What the tool has applied, by a table that the statements make, of a folder of such files.
    private func applied(
        by tool: MigrationTool,
        _ statements: String,
        files: [String] = folder
    ) throws -> [String] {
        let folder = try TemporaryFolder()
        for file in files {
            if file.hasSuffix("/up.sql") {
                try folder.makeFolder(String(file.dropLast("/up.sql".count)))
            }
            try folder.write(file, "SELECT 1".utf8)
        }
        let migrations = try folder.migrations()
        let database = try DatabaseQueue()
        try database.write { try $0.execute(sql: statements) }
        // Reading is all that a read allows.
        return try database.read { try migrations.identifiersApplied(by: tool, in: $0) }
    }

    private func error(
        by tool: MigrationTool,
        _ statements: String,
        files: [String] = folder
    ) -> MigrationAdoptionError? {
        #expect(throws: MigrationAdoptionError.self) {
            try applied(by: tool, statements, files: files)
        }
    }

    private func message(_ error: MigrationAdoptionError?) -> String {
        [error?.errorDescription, error?.recoverySuggestion].compactMap { $0 }
            .joined(separator: "\n")
    }

    // MARK: - dbmate

    /// https://github.com/amacneil/dbmate
    private static let dbmate =
        "CREATE TABLE schema_migrations (version varchar(128) primary key);"

    @Test func aDatabaseThatDbmateMigratedIsContinued() throws {
        let place = try TemporaryFolder()
        let fixture = PackageFolder.path("Tests/MigrationKitSQLTests/Fixtures/dbmate")
        let files = try FileManager.default.contentsOfDirectory(atPath: fixture).sorted()
        try place.makeFolder("migrations")
        func add(_ files: some Sequence<String>) throws {
            for file in files {
                try FileManager.default.copyItem(
                    atPath: "\(fixture)/\(file)",
                    toPath: place.path("migrations/\(file)")
                )
            }
        }
        try add(files.prefix(3))
        let path = place.path("store.db")
        try Dbmate.run("up", on: path, migrations: place.path("migrations"))

        try add(files.dropFirst(3))
        let folder = try MigrationFolder(path: place.path("migrations"))
        let database = try DatabaseQueue(path: path)
        let table = "SELECT version FROM schema_migrations ORDER BY 1"
        let before = try database.read { try String.fetchAll($0, sql: table) }
        #expect(before == ["20240105120000", "20240106090000", "20240107101500"])

        let applied = try database.read { try folder.identifiersApplied(by: .dbmate, in: $0) }
        #expect(applied == folder.steps.prefix(3).map(\.identifier))
        let runner = try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false)
        try runner.baseline(in: database, upTo: try #require(applied.last))
        #expect(
            try runner.migrate(in: database).steps.map(\.identifier)
                == folder.steps.dropFirst(3).map(\.identifier)
        )
        #expect(try database.read { try String.fetchAll($0, sql: table) } == before)
    }

    @Test func dbmateTakesBackWhatItRecorded() throws {
        let place = try TemporaryFolder()
        let fixture = PackageFolder.path("Tests/MigrationKitSQLTests/Fixtures/dbmate")
        let folder = try MigrationFolder(path: fixture)
        let path = place.path("store.db")
        try Dbmate.run("up", on: path, migrations: fixture)
        let all = folder.steps.map(\.identifier)
        for count in [all.count, all.count - 1, all.count - 2] {
            let database = try DatabaseQueue(path: path)
            let applied = try database.read { try folder.identifiersApplied(by: .dbmate, in: $0) }
            #expect(applied == all.prefix(count).map { $0 })
            try database.close()
            try Dbmate.run("down", on: path, migrations: fixture)
        }
    }

    @Test func dbmatesVersionsAreComparedAsNumbers() throws {
        let rows = "INSERT INTO schema_migrations VALUES ('1'), ('10'), ('0002');"
        #expect(try applied(by: .dbmate, Self.dbmate + rows) == ["0001_a", "2_b", "10_c"])
        #expect(try applied(by: .dbmate, Self.dbmate) == [])
    }

    @Test func anAppliedStepMayStandBehindOneThatIsNot() throws {
        let rows = "INSERT INTO schema_migrations VALUES ('0001'), ('011');"
        #expect(try applied(by: .dbmate, Self.dbmate + rows) == ["0001_a", "011_d"])
    }

    // MARK: - goose

    /// https://github.com/pressly/goose
    private static let goose = """
        CREATE TABLE goose_db_version (
            id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
            is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
        INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1);

        """

    @Test func goosesRowZeroIsNoMigration() throws {
        #expect(try applied(by: .goose, Self.goose) == [])
        let rows = "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1), (2, 1);"
        #expect(try applied(by: .goose, Self.goose + rows) == ["0001_a", "2_b"])
    }

    @Test func whatGooseHasDeletedIsNotApplied() throws {
        let rows = """
            INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1), (2, 1), (10, 1);
            DELETE FROM goose_db_version WHERE version_id = 2;
            """
        #expect(try applied(by: .goose, Self.goose + rows) == ["0001_a", "10_c"])
    }

    @Test func theLastRowOfAVersionCountsForAnOlderGoose() throws {
        let rows = """
            INSERT INTO goose_db_version (version_id, is_applied)
            VALUES (1, 1), (2, 1), (10, 1), (10, 0), (2, 0), (2, 1), (11, 1), (11, 0);
            """
        #expect(try applied(by: .goose, Self.goose + rows) == ["0001_a", "2_b"])
    }

    /// That goose made the table by hand in `BOOLEAN`.
    @Test func anOlderGoosesTableIsRead() throws {
        let table = """
            CREATE TABLE goose_db_version (
                id INTEGER PRIMARY KEY AUTOINCREMENT, version_id BIGINT NOT NULL,
                is_applied BOOLEAN NOT NULL, tstamp TIMESTAMP NULL);
            INSERT INTO goose_db_version (version_id, is_applied)
            VALUES (0, TRUE), (1, TRUE), (2, TRUE), (2, FALSE);
            """
        #expect(try applied(by: .goose, table) == ["0001_a"])
    }

    // MARK: - golang-migrate

    /// https://github.com/golang-migrate/migrate
    private static let golangMigrate = """
        CREATE TABLE schema_migrations (version uint64, dirty bool);
        CREATE UNIQUE INDEX version_unique ON schema_migrations (version);

        """

    @Test func golangMigratesOneRowStandsForAllBeforeIt() throws {
        let files = ["1_a.up.sql", "2_b.up.sql", "10_c.up.sql", "11_d.up.sql"]
        #expect(try applied(by: .golangMigrate, Self.golangMigrate, files: files) == [])
        let row = Self.golangMigrate + "INSERT INTO schema_migrations VALUES (10, 0);"
        #expect(
            try applied(by: .golangMigrate, row, files: files) == ["1_a", "2_b", "10_c"]
        )
    }

    @Test(arguments: ["10", "-1"])
    func aDirtyDatabaseIsRefused(version: String) throws {
        let row = "INSERT INTO schema_migrations VALUES (\(version), 1);"
        let error = error(by: .golangMigrate, Self.golangMigrate + row)
        #expect(error == .unfinishedMigration(.golangMigrate, version: version))
        #expect(
            message(error) == """
                golang-migrate has begun the migration \(version), and not ended it
                Bring the database in order with golang-migrate first: what of the migration is in \
                it, nothing tells.
                """
        )
    }

    // MARK: - sqlx

    /// https://github.com/launchbadge/sqlx
    private static let sqlx = """
        CREATE TABLE _sqlx_migrations (
            version BIGINT PRIMARY KEY, description TEXT NOT NULL,
            installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL,
            checksum BLOB NOT NULL, execution_time BIGINT NOT NULL);
        INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (1, 'a', TRUE, x'00', 5), (2, 'b', TRUE, x'01', -1)
        """

    @Test func sqlxsRowsAreRead() throws {
        #expect(try applied(by: .sqlx, Self.sqlx) == ["0001_a", "2_b"])
    }

    @Test func aMigrationOfSqlxsWithoutSuccessIsRefused() {
        let rows = Self.sqlx + ", (10, 'c', FALSE, x'02', -1);"
        #expect(
            error(by: .sqlx, rows)
                == MigrationAdoptionError.unfinishedMigration(.sqlx, version: "10")
        )
    }

    // MARK: - diesel

    @Test func dieselsVersionsHaveNoDashes() throws {
        let table = """
            CREATE TABLE __diesel_schema_migrations (
                version VARCHAR(50) PRIMARY KEY NOT NULL,
                run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
            INSERT INTO __diesel_schema_migrations (version)
            VALUES ('00000000000000'), ('20240105120000');
            """
        let files = [
            "00000000000000_diesel_initial_setup/up.sql", "2024-01-05-120000_a/up.sql",
            "2024-01-06-090000_b/up.sql",
        ]
        #expect(
            try applied(by: .diesel, table, files: files)
                == ["00000000000000_diesel_initial_setup", "2024-01-05-120000_a"]
        )
    }

    // MARK: - refinery

    @Test func refinerysRowsAreRead() throws {
        // The second form is that of its larger versions.
        for type in ["INT4", "INT8"] {
            let table = """
                CREATE TABLE refinery_schema_history (
                    version \(type) PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255),
                    checksum VARCHAR(255));
                INSERT INTO refinery_schema_history
                VALUES (1, 'a', '2024-01-05T12:00:00Z', '1'),
                    (10, 'c', '2024-01-05T12:00:01Z', '18446744073709551615');
                """
            let files = ["V1__a.sql", "V2__b.sql", "V10__c.sql"]
            #expect(try applied(by: .refinery, table, files: files) == ["V1__a", "V10__c"])
        }
    }

    // MARK: - What can't be adopted

    @Test(arguments: MigrationTool.allCases)
    func aDatabaseWithoutTheTableIsRefused(tool: MigrationTool) throws {
        let temporary = Self.dbmate.replacing("CREATE", with: "CREATE TEMP")
        let view = "CREATE VIEW \(tool.versionTable) AS SELECT 1 AS version;"
        for statements in ["SELECT 1", temporary, view] {
            #expect(error(by: tool, statements) == .noVersionTable(tool))
        }
        #expect(
            message(.noVersionTable(tool)) == """
                there is no table '\(tool.versionTable)', in which \(tool.rawValue) keeps what it \
                has applied
                Check that it is the right database and the right tool. A table that was given \
                another name can't be read.
                """
        )
    }

    @Test func anotherToolsTableIsToldByItsColumns() {
        let dbmate = error(by: .dbmate, Self.golangMigrate)
        #expect(dbmate == .unexpectedColumns(.dbmate, columns: ["version", "dirty"]))
        #expect(
            message(dbmate) == """
                the table 'schema_migrations' is none of dbmate's: it has the columns version, dirty
                It looks like golang-migrate's.
                """
        )
        let golangMigrate = error(by: .golangMigrate, Self.dbmate)
        #expect(golangMigrate == .unexpectedColumns(.golangMigrate, columns: ["version"]))
        #expect(message(golangMigrate).hasSuffix("It looks like dbmate's."))
    }

    @Test(arguments: MigrationTool.allCases)
    func aTableOfOtherColumnsIsRefused(tool: MigrationTool) {
        let error = error(by: tool, "CREATE TABLE \(tool.versionTable) (Id, applied_at)")
        #expect(error == .unexpectedColumns(tool, columns: ["id", "applied_at"]))
        #expect(message(error).hasSuffix("Check which tool has made it."))
    }

    @Test func versionsWithoutAFileAreNamed() {
        let rows = "INSERT INTO schema_migrations VALUES ('1'), ('12'), ('9'), ('x'), (NULL);"
        let error = error(by: .dbmate, Self.dbmate + rows)
        #expect(error == .unknownVersions(.dbmate, versions: ["9", "12", "NULL", "x"]))
        #expect(
            message(error) == """
                dbmate has applied what no file of the folder is: 9, 12, NULL, x
                Use the folder with which the database was migrated, with all files in it.
                """
        )
        let later = Self.golangMigrate + "INSERT INTO schema_migrations VALUES (12, 0);"
        #expect(
            self.error(by: .golangMigrate, later)
                == .unknownVersions(.golangMigrate, versions: ["12"])
        )
    }
}
