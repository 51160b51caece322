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
        table: String? = nil,
        _ statements: String,
        files: [String] = folder
    ) throws -> [String] {
        try adoption(from: tool, table: table, statements, files: files).identifiers
    }

    private func adoption(
        from tool: MigrationTool,
        table: String? = nil,
        _ statements: String,
        files: [String] = folder
    ) throws -> MigrationAdoption {
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
        return try database.read { try migrations.adoption(from: tool, table: table, in: $0) }
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
                golang-migrate started the migration \(version) and did not finish it
                First finish or undo the migration with golang-migrate. It is unknown which part \
                of it was applied.
                """
        )
    }

    /// Some drivers write booleans as text. The column keeps it.
    @Test(arguments: [("'false'", false), ("'FALSE'", false), ("0", false), ("'true'", true)])
    func aDirtyMarkMayBeText(_ dirty: String, _ isDirty: Bool) throws {
        let row = Self.golangMigrate + "INSERT INTO schema_migrations VALUES (10, \(dirty));"
        if isDirty {
            let error = error(by: .golangMigrate, row)
            #expect(error == .unfinishedMigration(.golangMigrate, version: "10"))
        } else {
            #expect(try applied(by: .golangMigrate, row) == ["0001_a", "2_b", "10_c"])
        }
    }

    // MARK: - sqlx

    /// https://github.com/launchbadge/sqlx
    private static let sqlx = """
        CREATE TABLE _sqlx_migrations (
            version BIGINT PRIMARY KEY, description TEXT NOT NULL,
            installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL,
            checksum BLOB NOT NULL, execution_time BIGINT NOT NULL);
        INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        VALUES (1, 'a', TRUE, x'\(selectOne)', 5), (2, 'b', TRUE, x'\(selectOne)', -1)
        """

    /// What `sha384sum` says of "SELECT 1".
    private static let selectOne = """
        a87be5ea59a50f1537b8361d62582b67f0f8665b89a1afa8f5f5ccc3ec84e9b8\
        c62649fb92c16783942166f392ecc20e
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

    @Test(arguments: ["x'\(selectOne.dropLast(2))0f'", "x''", "'\(selectOne)'", "0"])
    func aFileThatChangedAfterSqlxAppliedItIsRefusedByName(checksum: String) throws {
        let rows = Self.sqlx + ", (10, 'c', TRUE, \(checksum), 5);"
        let error = error(by: .sqlx, rows)
        #expect(error == .changedMigrations(.sqlx, identifiers: ["10_c"]))
        #expect(
            message(error) == """
                10_c changed after sqlx applied it: the checksum differs
                Restore the text that was applied. If the new text has the same effect, use a baseline \
                instead of adopting the table.
                """
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

    // MARK: - Flyway

    /// https://github.com/flyway/flyway/blob/main/flyway-database/flyway-database-sqlite
    private static let flyway = """
        CREATE TABLE "flyway_schema_history" (
            "installed_rank" INT NOT NULL PRIMARY KEY, "version" VARCHAR(50),
            "description" VARCHAR(200) NOT NULL, "type" VARCHAR(20) NOT NULL,
            "script" VARCHAR(1000) NOT NULL, "checksum" INT, "installed_by" VARCHAR(100) NOT NULL,
            "installed_on" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f','now')),
            "execution_time" INT NOT NULL, "success" BOOLEAN NOT NULL);
        INSERT INTO flyway_schema_history
            (installed_rank, version, description, type, script, checksum, installed_by,
             execution_time, success) VALUES
        """ + " "

    private static let flywayFiles = ["V1__a.sql", "V1.2__b.sql", "V2__c.sql", "V10__d.sql"]

    /// What Java's `CRC32` says of "SELECT 1".
    private static let selectOneSum = 1_719_613_851

    private func flywayRow(
        _ rank: Int,
        _ version: String?,
        type: String = "SQL",
        checksum: Int? = selectOneSum,
        success: Int = 1
    ) -> String {
        let version = version.map { "'\($0)'" } ?? "NULL"
        let checksum = checksum.map { "\($0)" } ?? "NULL"
        return
            "(\(rank), \(version), 'd', '\(type)', 's\(rank).sql', \(checksum), 'me', 1, \(success))"
    }

    private func flyway(_ rows: String...) -> String {
        Self.flyway + rows.joined(separator: ", ")
    }

    @Test func flywaysLaterRowsTakeBackEarlierOnes() throws {
        let rows = flyway(
            flywayRow(0, nil, type: "SCHEMA", checksum: nil),
            flywayRow(1, "1"),
            flywayRow(2, "1.2"),
            flywayRow(3, "2"),
            flywayRow(4, "2", type: "UNDO_SQL"),
            flywayRow(5, "10", checksum: 5),
            flywayRow(6, "10", type: "DELETE", checksum: nil)
        )
        #expect(try applied(by: .flyway, rows, files: Self.flywayFiles) == ["V1__a", "V1.2__b"])
        let again = rows + ", " + flywayRow(7, "2")
        #expect(
            try applied(by: .flyway, again, files: Self.flywayFiles)
                == ["V1__a", "V1.2__b", "V2__c"]
        )
    }

    @Test func flywaysBaselineStandsForAllUpToIt() throws {
        let rows = flyway(flywayRow(1, "1.5", type: "BASELINE", checksum: nil), flywayRow(2, "10"))
        #expect(
            try applied(by: .flyway, rows, files: Self.flywayFiles)
                == ["V1__a", "V1.2__b", "V10__d"]
        )
    }

    @Test func flywaysChecksumIgnoresLineEndsAndTheByteOrderMark() throws {
        let folder = try TemporaryFolder()
        try folder.write("V1__a.sql", "\u{FEFF}SELECT 1\r\n;\n".utf8)
        let migrations = try folder.migrations()
        let database = try DatabaseQueue()
        try database.write { try $0.execute(sql: flyway(flywayRow(1, "1", checksum: 78_787_420))) }
        let applied = try database.read { try migrations.identifiersApplied(by: .flyway, in: $0) }
        #expect(applied == ["V1__a"])
    }

    @Test func whatFlywayHasNotAppliedLikeThatIsRefused() throws {
        #expect(
            error(by: .flyway, flyway(flywayRow(1, "2", checksum: -1)), files: Self.flywayFiles)
                == .changedMigrations(.flyway, identifiers: ["V2__c"])
        )
        #expect(
            error(by: .flyway, flyway(flywayRow(1, "2", success: 0)), files: Self.flywayFiles)
                == .unfinishedMigration(.flyway, version: "2")
        )
        #expect(
            error(by: .flyway, flyway(flywayRow(1, "3")), files: Self.flywayFiles)
                == .unknownVersions(.flyway, versions: ["3"])
        )
    }

    @Test func flywaysScriptsWithoutAVersionAreNoted() throws {
        let adoption = try adoption(
            from: .flyway,
            flyway(flywayRow(1, "1"), flywayRow(2, nil)),
            files: Self.flywayFiles
        )
        #expect(adoption.identifiers == ["V1__a"])
        #expect(
            adoption.notes == [
                "These scripts have no version. They are not run again, and what they "
                    + "made stays: s2.sql. 'verify' finds it as drift until a migration makes it."
            ]
        )
    }

    // MARK: - Order

    @Test func orderOfAToolThatSortsByTextIsNoted() throws {
        let adoption = try adoption(from: .dbmate, Self.dbmate)
        #expect(
            adoption.notes == [
                "dbmate runs files in the order of their names as text, 011_d.sql before 2_b.sql. "
                    + "Here they run in the order of their numbers, 2_b.sql before 011_d.sql."
            ]
        )
        let alike = try self.adoption(from: .dbmate, Self.dbmate, files: ["1_a.sql", "2_b.sql"])
        #expect(alike.notes.isEmpty)
        // The others compare numbers.
        #expect(try self.adoption(from: .goose, Self.goose).notes.isEmpty)
    }

    // MARK: - Finding

    @Test func toolThatHasAppliedSomethingIsFound() throws {
        func found(_ statements: String) throws -> [MigrationTool] {
            let database = try DatabaseQueue()
            try database.write { try $0.execute(sql: statements) }
            return try database.read(MigrationTool.found).map(\.tool)
        }
        let sqlx = try #require(Self.sqlx.firstRange(of: "INSERT"))
        for (tool, table, row) in [
            (.dbmate, Self.dbmate, "INSERT INTO schema_migrations VALUES ('1')"),
            (
                .goose, Self.goose,
                "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1)"
            ),
            (.golangMigrate, Self.golangMigrate, "INSERT INTO schema_migrations VALUES (1, 0)"),
            (
                .sqlx, String(Self.sqlx[..<sqlx.lowerBound]),
                "INSERT INTO _sqlx_migrations VALUES (1, 'a', 'now', 0, x'', 1)"
            ),
            (
                .flyway, Self.flyway + "(1, NULL, 'd', 'SCHEMA', 's', NULL, 'me', 1, 1)",
                """
                INSERT INTO flyway_schema_history
                SELECT 2, '1', description, 'SQL', script, checksum, installed_by, installed_on,
                    execution_time, success FROM flyway_schema_history
                """
            ),
        ] as [(MigrationTool, String, String)] {
            #expect(try found(table) == [])
            #expect(try found(table + ";" + row) == [tool])
        }
        let both =
            Self.dbmate + Self.goose
            + "INSERT INTO schema_migrations VALUES ('1');"
            + "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1)"
        #expect(try found(both) == [.dbmate, .goose])
        #expect(
            try found(
                "CREATE TABLE schema_migrations (id); INSERT INTO schema_migrations VALUES (1)"
            ) == []
        )
    }

    /// The tables of the tools, each with something applied, under a name that says nothing, and one
    /// that speaks of migrations.
    private static let renamed: [(MigrationTool, String?, String, String)] = [
        (
            .dbmate, nil, "status_go_schema_migrations",
            dbmate + "INSERT INTO schema_migrations VALUES ('0001'), ('2')"
        ),
        (
            .golangMigrate, "progress", "app_migrations",
            golangMigrate + "INSERT INTO schema_migrations VALUES (1, 'false')"
        ),
        (
            .goose, "progress", "app_db_version",
            goose + "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1)"
        ),
        (.sqlx, "progress", "app_migrations", sqlx),
        (
            .diesel, nil, "app_migrations",
            """
            CREATE TABLE __diesel_schema_migrations (
                version VARCHAR(50) PRIMARY KEY NOT NULL,
                run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
            INSERT INTO __diesel_schema_migrations VALUES ('0001', 'now'), ('2', 'now')
            """
        ),
        (
            .refinery, nil, "app_schema_history",
            """
            CREATE TABLE refinery_schema_history (
                version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255),
                checksum VARCHAR(255));
            INSERT INTO refinery_schema_history
            VALUES (1, 'a', '2024-01-05T12:00:00Z', '1'), (2, 'b', '2024-01-05T12:00:00Z', '2')
            """
        ),
        (
            .flyway, "progress", "schema_version",
            flyway + "(1, '1', 'd', 'SQL', 's', NULL, 'me', 1, 1)"
        ),
    ]

    @Test(arguments: renamed)
    func tableUnderAnotherNameIsNoticed(
        _ tool: MigrationTool,
        _ plain: String?,
        _ telling: String,
        _ statements: String
    ) throws {
        for (name, isNoticed) in [(plain ?? "progress", plain != nil), (telling, true)] {
            let renamed = statements.replacing(tool.versionTable ?? "", with: name)
            let database = try DatabaseQueue()
            try database.write { try $0.execute(sql: renamed) }
            let found = try database.read(MigrationTool.found)
            #expect(found.map(\.tool) == (isNoticed ? [tool] : []), "\(name)")
            #expect(found.allSatisfy { $0.table == name })
            #expect(try !applied(by: tool, table: name, renamed).isEmpty)
        }
    }

    @Test(arguments: [
        "note (version)", "page (version INTEGER, dirty INTEGER)",
        "migrations (id INTEGER, name TEXT)", "bird_migrations (version, species)",
        "asset (version, name, checksum)",
    ])
    func appsOwnTableIsNoTools(_ table: String) throws {
        let database = try DatabaseQueue()
        try database.write { db in
            try db.execute(sql: "CREATE TABLE \(table)")
            try db.execute(sql: "INSERT INTO \(table.split(separator: " ")[0]) DEFAULT VALUES")
        }
        #expect(try database.read(MigrationTool.found).isEmpty)
    }

    /// The name is another program's choice, and becomes part of SQL.
    @Test func anyNameOfATableIsQuoted() throws {
        let name = "a\" b\"\u{301}"
        let database = try DatabaseQueue()
        try database.write { db in
            let table = GRDBMigrationSQLHelpers.quoted(name)
            try db.execute(
                sql: """
                    CREATE TABLE \(table) (version uint64, dirty bool);
                    INSERT INTO \(table) VALUES (1, 0);
                    """
            )
            #expect(try MigrationTool.found(in: db).map(\.table) == [name])
        }
    }

    // MARK: - user_version

    @Test(arguments: [
        (1, ["0001_a"]), (2, ["0001_a", "2_b"]), (10, ["0001_a", "2_b", "10_c"]),
        (11, ["0001_a", "2_b", "10_c", "011_d"]),
    ])
    func userVersionCountsTheMigrationsUpToIt(number: Int, identifiers: [String]) throws {
        let counted = "CREATE TABLE note (id); PRAGMA user_version = \(number)"
        #expect(try applied(by: .userVersion, counted) == identifiers)
    }

    @Test func aDatabaseWithoutTablesHasNothingApplied() throws {
        #expect(try applied(by: .userVersion, "SELECT 1").isEmpty)
        // What ANALYZE makes is no table of an app's.
        #expect(try applied(by: .userVersion, "ANALYZE").isEmpty)
    }

    @Test(arguments: [3, 12, -1, 2_147_483_647])
    func aNumberWithoutAFileIsRefused(number: Int) {
        let error = error(by: .userVersion, "PRAGMA user_version = \(number)")
        #expect(error == .unknownVersions(.userVersion, versions: ["\(number)"]))
        #expect(
            message(error).hasPrefix(
                "the database's user_version is \(number), and no file in the folder has that number\n"
            )
        )
    }

    @Test func tablesWithoutANumberAreRefused() {
        let error = error(by: .userVersion, "CREATE VIEW one AS SELECT 1")
        #expect(error == .noUserVersion(0))
        #expect(
            message(error) == """
                the database's user_version is 0: no version was counted there
                Choose the last migration whose result the database has, and record it and those \
                before it by a baseline.
                """
        )
    }

    // MARK: - What can't be adopted

    private static let tables = MigrationTool.allCases.compactMap { tool in
        tool.versionTable.map { (tool, $0) }
    }

    @Test(arguments: tables)
    func aDatabaseWithoutTheTableIsRefused(tool: MigrationTool, table: String) throws {
        let temporary = Self.dbmate.replacing("CREATE", with: "CREATE TEMP")
        let view = "CREATE VIEW \(table) AS SELECT 1 AS version;"
        for statements in ["SELECT 1", temporary, view] {
            #expect(error(by: tool, statements) == .noVersionTable(tool, table: table))
        }
        #expect(
            message(.noVersionTable(tool, table: table)) == """
                there is no table '\(table)', where \(tool.rawValue) records applied \
                migrations
                Check that it is the right database and the right tool. If the tool was given \
                another name for its table, name that one.
                """
        )
    }

    @Test func anotherToolsTableIsToldByItsColumns() {
        let dbmate = error(by: .dbmate, Self.golangMigrate)
        #expect(
            dbmate
                == .unexpectedColumns(
                    .dbmate,
                    table: "schema_migrations",
                    columns: ["version uint64", "dirty bool"]
                )
        )
        #expect(
            message(dbmate) == """
                the table 'schema_migrations' is not dbmate's: it has the columns version uint64, dirty bool
                It looks like golang-migrate's.
                """
        )
        let golangMigrate = error(by: .golangMigrate, Self.dbmate)
        #expect(
            golangMigrate
                == .unexpectedColumns(
                    .golangMigrate,
                    table: "schema_migrations",
                    columns: ["version varchar(128) primary key"]
                )
        )
        #expect(message(golangMigrate).hasSuffix("It looks like dbmate's."))
    }

    @Test(arguments: tables)
    func aTableOfOtherColumnsIsRefused(tool: MigrationTool, table: String) {
        let error = error(by: tool, "CREATE TABLE \(table) (Id, applied_at)")
        #expect(
            error
                == .unexpectedColumns(
                    tool,
                    table: table,
                    columns: ["id", "applied_at"]
                )
        )
        #expect(message(error).contains("\nCheck which tool created it. "))
    }

    @Test func versionsWithoutAFileAreNamed() {
        let rows = "INSERT INTO schema_migrations VALUES ('1'), ('12'), ('9'), ('x'), (NULL);"
        let error = error(by: .dbmate, Self.dbmate + rows)
        #expect(error == .unknownVersions(.dbmate, versions: ["9", "12", "NULL", "x"]))
        #expect(
            message(error) == """
                dbmate applied versions that have no file in the folder: 9, 12, NULL, x
                Use the complete folder with which the database was migrated.
                """
        )
        let later = Self.golangMigrate + "INSERT INTO schema_migrations VALUES (12, 0);"
        #expect(
            self.error(by: .golangMigrate, later)
                == .unknownVersions(.golangMigrate, versions: ["12"])
        )
    }
}
