import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import TestSupport
import Testing

@Suite struct BatchCommentTests {
    private static let fill = """
        -- migrate:batch
        UPDATE a SET y = x WHERE y IS NULL;

        """

    private func steps(_ text: String) throws -> [MigrationStep<Database>] {
        try TemporaryFolder(["0001_a.sql": text]).migrations().steps
    }

    @Test(arguments: [
        ["0001_a.sql": "-- migrate:up\n\(fill)-- migrate:down\nUPDATE a SET y = NULL;"],
        [
            "0001_a.sql": """
            -- +goose Up
            -- +goose StatementBegin
            \(fill)
            -- +goose StatementEnd
            -- +goose Down
            UPDATE a SET y = NULL;
            """
        ],
        ["0001_a.up.sql": fill, "0001_a.down.sql": "UPDATE a SET y = NULL"],
        ["0001_a/up.sql": fill, "0001_a/down.sql": "UPDATE a SET y = NULL"],
        ["V1__a.sql": fill, "U1__a.sql": "UPDATE a SET y = NULL"],
        ["0001_a.sql": fill],
        ["0001_a.sql": "-- migrate:batch\n-- migrate:up\nUPDATE a SET y = x WHERE y IS NULL"],
    ])
    func everyFormatHasRoomForBatches(_ files: [String: String]) throws {
        let folder = try TemporaryFolder()
        for (name, text) in files.sorted(by: { $0.key > $1.key }) {
            if name == "0001_a/up.sql" { try folder.makeFolder("0001_a") }
            try folder.write(name, text.utf8)
        }
        let steps = try folder.migrations().steps
        #expect(steps[0].batches.map(\.sql) == ["UPDATE a SET y = x WHERE y IS NULL"])
        let queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(sql: "CREATE TABLE a (x, y); INSERT INTO a (x) VALUES (1), (2)")
        }
        let runner = try GRDBMigrationRunner(steps: steps, enforceLexicographicOrder: false)
        try runner.migrate(in: queue)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT sum(y) FROM a") } == 3)
    }

    @Test(
        arguments: [
            ("", nil, 0.0, 64 << 20), (" rows=5", 5, 0, 64 << 20),
            (" pause=20ms rows=7", 7, 0.02, 64 << 20),
            (" log=8.5MB pause=1.5s", nil, 1.5, 17 << 19), (" log=9000KB", nil, 0, 9000 << 10),
        ] as [(String, Int?, Double, Int)]
    )
    func optionsAreRead(_ options: String, _ rows: Int?, _ pause: Double, _ log: Int) throws {
        let batch = try #require(
            try steps("-- migrate:up\n-- migrate:batch\(options)\nDELETE FROM a WHERE x").first?
                .batches.first
        )
        #expect(batch.rows == rows && batch.logLimit == log)
        #expect(abs(batch.pause - pause) < 1e-9)
    }

    @Test(arguments: [
        "rows", "rows=0", "rows=-1", "rows=1.5", "rows=5 rows=6", "pause=5", "pause=2h", "log=5",
        "log=7MB",
        "log=9999999GB", "size=5", "5", "pause=.s", "pause=9999s",
    ])
    func otherOptionsAreRefused(_ options: String) {
        #expect(throws: MigrationFolderError.self) {
            try steps("-- migrate:up\n-- migrate:batch \(options)\nDELETE FROM a WHERE x")
        }
    }

    @Test func whereItStandsIsChecked() throws {
        func error(_ text: String) -> MigrationFolderError? {
            #expect(throws: MigrationFolderError.self) { try steps(text) }
        }
        guard
            case .besideBatch(let place) = error(
                "-- migrate:up\n\(Self.fill)CREATE INDEX i ON a (y);"
            )
        else {
            Issue.record("beside")
            return
        }
        #expect(place.line == 4)
        guard case .besideBatch = error("-- migrate:up\nSELECT 1;\n\(Self.fill)") else {
            Issue.record("before")
            return
        }
        guard
            case .notForBatches(_, let place) = error(
                "-- migrate:up\n-- migrate:batch\nDROP TABLE a"
            )
        else {
            Issue.record("not for batches")
            return
        }
        #expect(place.line == 3)
        for text in [
            "-- migrate:up\n-- migrate:batch\n\(Self.fill)", "-- migrate:up\n-- migrate:batch\n",
            "-- migrate:up\n\(Self.fill)-- migrate:batch\n",
            "-- migrate:up\nSELECT 1;\n-- migrate:down\n\(Self.fill)",
        ] {
            guard case .unreadableBatch = error(text) else {
                Issue.record("\(text)")
                continue
            }
        }
        // Misspelled.
        guard case .misspeltMarker = error("-- migrate:up\n-- migrate:batches\nDELETE FROM a")
        else {
            Issue.record("misspelled")
            return
        }
    }

    @Test func checksumIsThatOfTheStatements() throws {
        let plain = try steps("-- migrate:up\nDELETE FROM a WHERE x")[0].checksum
        #expect(
            try steps("-- migrate:up\n-- migrate:batch rows=5\nDELETE FROM a WHERE x")[0].checksum
                == plain
        )
    }
}
