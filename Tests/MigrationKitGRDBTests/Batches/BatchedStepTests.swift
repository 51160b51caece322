import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Steps whose statements change rows a batch at a time.
@Suite struct BatchedStepTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    private static let fill = "UPDATE note SET size = length(body) WHERE size IS NULL"

    /// Every change of a row is written down.
    private static let notes = step(
        "1",
        """
        CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT, size INTEGER);
        CREATE INDEX note_size ON note (size);
        CREATE TABLE log (id INTEGER);
        CREATE TRIGGER noted AFTER UPDATE ON note BEGIN INSERT INTO log VALUES (new.id); END;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO note (id, body) SELECT 3 * i, 'body ' || i FROM n;
        """
    )

    private static func batched(
        _ sql: String = fill,
        rows: Int? = 100,
        checksum: String? = nil,
        requirements: [CheckQuery] = [],
        checks: [CheckQuery] = []
    ) -> MigrationStep<Database> {
        MigrationStep(
            identifier: "2",
            sourceFile: "",
            batched: [MigrationBatch(sql, rows: rows)],
            checksum: checksum,
            rollbackSQL: "UPDATE note SET size = NULL",
            requirements: requirements,
            checks: checks
        )
    }

    private func migrations(_ step: MigrationStep<Database>...) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: [Self.notes] + step)
    }

    private var filled: Int {
        get throws { try writer.number("SELECT count(size) FROM note") ?? -1 }
    }
    private var logged: Int { get throws { try writer.number("SELECT count(*) FROM log") ?? -1 } }

    // MARK: - All of It

    @Test func everyRowIsChangedOnce() throws {
        let runner = try migrations(Self.batched())
        let events = Recorder<MigrationEvent>()
        let report = try runner.migrate(
            in: writer,
            options: MigrationOptions(observer: { events.append($0) })
        )
        #expect(report.verified && report.pending.isEmpty)
        #expect(report.steps.map(\.rowsChanged) == [1000, 1000])
        #expect(try filled == 1000)
        #expect(try writer.number("SELECT count(DISTINCT id) FROM log") == 1000)
        #expect(try logged == 1000)
        #expect(
            try GRDBMigrationRunner.history(in: writer).map(\.event) == [
                .applied, .begun, .applied,
            ]
        )
        let record = try #require(try runner.migrationRecords(in: writer)["2"])
        #expect(
            record.older?.reasons == [
                "values of column 'size' of table 'note' were changed (added by 1)"
            ]
        )
        #expect(try runner.overview(of: writer).begun.isEmpty)
        let journal = "SELECT count(progress) FROM grdb_migrationkit_journal"
        #expect(try writer.number(journal) == 0)
        #expect(try store.isEncrypted)
        #expect(
            !events.values.contains { if case .stepPaused = $0 { true } else { false } }
        )

        try runner.rollbackMigrations(in: writer, steps: 1)
        #expect(try filled == 0)
        try runner.migrate(in: writer)
        #expect(try filled == 1000)
    }

    /// No batch is left then, and the check may run on another connection.
    @Test(arguments: [false, true]) func checkAfterTheBatchesIsToldWithTheirRows(
        _ isPool: Bool
    ) throws {
        let slow = CheckQuery(
            "slow",
            sql: """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
                SELECT i FROM n WHERE i < 0
                """
        )
        let events = Recorder<MigrationEvent>()
        let writer: any DatabaseWriter = isPool ? try store.openPool() : self.writer
        try migrations(Self.batched(checks: [slow])).migrate(
            in: writer,
            options: MigrationOptions(observer: { events.append($0) })
        )
        let advances = events.values.indices.filter {
            if case .stepAdvanced("2", _) = events.values[$0] { true } else { false }
        }
        let last = try #require(advances.last)
        guard case .stepAdvanced("2", rowsChanged: 1000) = events.values[last] else {
            Issue.record("\(events.values[last])")
            return
        }
        if case .stepExpects = events.values[last + 1] {
            Issue.record("\(events.values[last + 1])")
        }
    }

    @Test(arguments: [1, 2, 1000]) func columnIsFilledByTheKeyOfItsTable(_ rows: Int) throws {
        let table = step(
            "1",
            """
            CREATE TABLE t (a TEXT COLLATE NOCASE, b INT, c, PRIMARY KEY (a, b DESC)) WITHOUT ROWID;
            CREATE INDEX t_c ON t (c);
            INSERT INTO t VALUES ('x', 1, NULL), ('X', 2, NULL), ('y', 3, 'kept'), (x'61', 9, NULL),
                ('b', -1, NULL), ('B', 1.5, NULL), ('z', 0, NULL);
            UPDATE t SET b = 'text' WHERE a = 'z';
            """
        )
        let batch = MigrationBatch.backfill("c", of: "t", with: "nullif(a, 'b') || b")
        let runner = try GRDBMigrationRunner(steps: [
            table,
            MigrationStep(
                identifier: "2",
                batched: [MigrationBatch(batch.sql, rows: rows)]
            ),
        ])
        #expect(try runner.migrate(in: writer).steps.last?.rowsChanged == 4)
        #expect(
            try writer.strings("SELECT coalesce(c, 'none') FROM t ORDER BY c")
                == ["none", "none", "a9", "kept", "X2", "x1", "ztext"].sorted {
                    ($0 == "none" ? "" : $0) < ($1 == "none" ? "" : $1)
                }
        )
    }

    @Test func rowsAreChangedAndDeleted() throws {
        let both = MigrationStep<Database>(
            identifier: "2",
            batched: [
                MigrationBatch(Self.fill, rows: 37),
                MigrationBatch("DELETE FROM note WHERE size IS NULL OR id % 2 = 0", rows: 64),
            ]
        )
        let report = try migrations(both).migrate(in: writer)
        #expect(report.steps.last?.rowsChanged == 1500)
        #expect(try writer.number("SELECT count(*) FROM note") == 500)
        #expect(try logged == 1000)
    }

    @Test(arguments: [
        "UPDATE t SET s = 1 WHERE s IS NULL", "UPDATE t AS q SET s = q.n + 1 WHERE q.s IS NULL",
        "UPDATE t SET s = id WHERE s IS NOT id",
        "UPDATE t SET id = id + 1000 WHERE id BETWEEN -499 AND 499",
        "UPDATE t SET id = id + 100000 WHERE id BETWEEN 1 AND 9999",
        "UPDATE OR IGNORE t SET n = 5 WHERE n IS NOT 5",
        "UPDATE t SET s = u.v FROM u WHERE u.k = t.n AND t.s IS NOT u.v",
        "UPDATE t SET s = (SELECT max(v) FROM u WHERE k = n) WHERE s IS NULL AND n IN (SELECT k FROM u)",
        "UPDATE \"my table\" SET \"a b\" = 1 -- one\n WHERE \"a b\" IS NULL -- two",
        "DELETE FROM t WHERE n % 2", "DELETE FROM t", "DELETE FROM t WHERE n IN (SELECT k FROM u)",
        "DELETE FROM main.t WHERE s IS NULL OR n > 3;",
        "INSERT INTO u (k, v) SELECT id, n FROM t WHERE id NOT IN (SELECT k FROM u)",
        "INSERT OR IGNORE INTO u SELECT id, n FROM t AS q",
        "INSERT INTO u SELECT id, n FROM t WHERE true ON CONFLICT DO NOTHING",
        "INSERT INTO u SELECT id, n FROM t WHERE true ON CONFLICT (k) DO UPDATE SET v = excluded.v "
            + "WHERE v IS NOT excluded.v",
        "INSERT INTO u SELECT t.id + 500, w.c FROM t LEFT JOIN w ON w.a = t.n AND w.b = 1 WHERE NOT EXISTS "
            + "(SELECT 1 FROM u WHERE k = t.id + 500)",
        "UPDATE w SET c = a || b WHERE c IS NULL", "DELETE FROM w WHERE b > 2",
        "UPDATE OR IGNORE w SET c = a WHERE c IS NOT a",
    ])
    func resultIsThatOfTheWholeStatement(_ sql: String) throws {
        let tables = """
            CREATE TABLE t (id INTEGER PRIMARY KEY, n, s);
            CREATE INDEX t_s ON t (s);
            CREATE TABLE u (k INTEGER PRIMARY KEY, v);
            CREATE TABLE "my table" (rowid TEXT, "a b");
            CREATE TABLE w (a, b INTEGER, c, PRIMARY KEY (a COLLATE NOCASE, b DESC)) WITHOUT ROWID;
            CREATE INDEX w_c ON w (c);
            WITH RECURSIVE i(x) AS (SELECT -5 UNION ALL SELECT x + 1 FROM i WHERE x < 40)
            INSERT INTO t SELECT x * x * x, x % 7, iif(x % 3, NULL, x) FROM i WHERE x > 1 OR x < -1;
            INSERT INTO t VALUES (9223372036854775000, 1, NULL), (-9223372036854775000, 2, 5);
            INSERT INTO u VALUES (1, 1), (2, 2), (3, 3), (8, 8);
            INSERT INTO "my table" VALUES ('x', NULL), ('x', 2), (NULL, NULL), ('y', NULL);
            INSERT INTO w SELECT n, abs(id % 50), s FROM t WHERE n IS NOT NULL ON CONFLICT DO NOTHING;
            INSERT INTO w VALUES ('a', 1, NULL), ('B', 2, NULL), ('b', 1, 0), (x'00ff', 3, NULL), (2.5, 4, NULL);
            """
        func content(_ batches: [MigrationBatch]) throws -> [String] {
            let queue = try DatabaseQueue()
            let runner = try GRDBMigrationRunner(steps: [
                step("1", tables), MigrationStep(identifier: "2", batched: batches),
            ])
            try runner.migrate(in: queue, upTo: "1")
            if batches.isEmpty {
                try queue.write { try $0.execute(sql: sql) }
            } else {
                try runner.migrate(in: queue)
            }
            return try ["t", "u", "\"my table\"", "w"].flatMap { table in
                try queue.read { db in
                    try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table) \($0)" }
                }
            }
        }
        let whole = try content([])
        #expect(try content([MigrationBatch(sql, rows: 3)]) == whole)
        #expect(try content([MigrationBatch(sql)]) == whole)
    }

    @Test func asOneTransactionEachStatementRunsAsAWhole() throws {
        let runner = try migrations(Self.batched())
        _ = try runner.dryRun(in: writer)
        try runner.migrate(in: writer, options: MigrationOptions(transaction: .allOrNothing))
        #expect(try logged == 1000)
        #expect(try GRDBMigrationRunner.history(in: writer).map(\.event) == [.applied, .applied])
    }

    // MARK: - Ended and Gone On

    @Test func endedRunGoesOn() throws {
        let runner = try migrations(Self.batched())
        try runner.migrate(in: writer, upTo: "1")
        let short = MigrationOptions(budget: 0)
        try runner.migrate(in: writer, options: short)
        #expect(try filled == 100)
        let begun = try #require(try runner.overview(of: writer).begun["2"])
        #expect(begun.rowsChanged == 100 && begun.since != nil)
        #expect(try runner.pendingMigrationIdentifiers(in: writer) == ["2"])

        try writer.close()
        let again = try store.open()
        while try runner.hasPendingMigrations(in: again) {
            let report = try runner.migrate(in: again, options: short)
            #expect(report.verified == report.pending.isEmpty)
        }
        #expect(try again.number("SELECT count(*) FROM log") == 1000)
        #expect(try again.number("SELECT count(size) FROM note") == 1000)
        try again.close()
    }

    /// A program without the step can't go on with it, and finds some rows as they were, and some not.
    @Test func olderVersionKnowsOfAStepThatIsBegun() throws {
        let runner = try migrations(Self.batched())
        try runner.migrate(in: writer, options: MigrationOptions(budget: 0))
        #expect(try filled == 100)
        let older = try GRDBMigrationRunner(steps: Array(runner.steps.prefix(1)))
        #expect(try older.newerMigrations(in: writer).map(\.identifier) == ["2"])
        #expect(try older.hasBeenSuperseded(in: writer))
        #expect(try older.oldestWorking(in: writer)?.identifier == "2")
        let error = #expect(throws: MigrationKitError.self) { try older.migrate(in: writer) }
        guard case .databaseIsNewer(["2"], let steps) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(steps.map(\.canBeTakenBack) == [true] && steps.map(\.isBegun) == [true])

        try older.repairMigrations([], renaming: [], forgetting: ["2"], in: writer)
        #expect(try older.migrate(in: writer).newer.isEmpty)
        #expect(try older.overview(of: writer).begun.isEmpty)
        #expect(try filled == 100)
    }

    @Test func cancelledRunSaysThatItPaused() throws {
        let cancellation = Cancellation()
        let paused = Locked<Int?>(nil)
        let runner = try migrations(Self.batched(rows: 1))
        try runner.migrate(in: writer, upTo: "1")
        let options = MigrationOptions(cancellation: cancellation) { event in
            switch event {
            case .stepStarted("2", _, _, _): cancellation.cancel()
            case .stepPaused(_, let rows): paused.withLock { $0 = rows }
            default: break
            }
        }
        #expect(throws: CancellationError.self) { try runner.migrate(in: writer, options: options) }
        #expect(paused.withLock { $0 } != nil)
        try runner.migrate(in: writer)
        #expect(try logged == 1000)
    }

    /// Others change the database between two batches, and add rows behind them.
    @Test func othersWriteBetweenBatches() throws {
        let runner = try migrations(Self.batched(rows: 50))
        try runner.migrate(in: writer, upTo: "1")
        let other = try store.open()
        let options = MigrationOptions(budget: 0)
        var added = 0
        while try runner.hasPendingMigrations(in: writer) {
            try runner.migrate(in: writer, options: options)
            guard added < 5 else { continue }
            added += 1
            try other.write { db in
                try db.execute(
                    sql: "INSERT INTO note (id, body) VALUES (?, 'low'), (?, 'high')",
                    arguments: [1 + 3 * added, 10_000 + added]
                )
            }
        }
        #expect(try writer.number("SELECT count(*) FROM note WHERE size IS NULL") == 0)
        #expect(try logged == 1010)
        try other.close()
    }

    /// The app's own pool isn't kept from writing and reading.
    @Test func appUsesItsPoolMeanwhile() throws {
        try migrations().migrate(in: writer)
        try writer.close()
        let pool = try store.openPool()
        let runner = try migrations(Self.batched(rows: 10))
        let isDone = Locked(false)
        let thread = Thread {
            _ = try? runner.migrate(in: pool)
            isDone.withLock { $0 = true }
        }
        thread.start()
        var writes = 0
        while !isDone.withLock({ $0 }) {
            try pool.write { try $0.execute(sql: "INSERT INTO log VALUES (-1)") }
            _ = try pool.read { try Int.fetchOne($0, sql: "SELECT count(size) FROM note") }
            writes += 1
        }
        #expect(
            try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM log") } == 1000 + writes
        )
        #expect(try !runner.hasPendingMigrations(in: pool))
        try pool.close()
    }

    // MARK: - What Is Refused

    @Test func statementThatRepeatsItselfIsUndone() throws {
        let runner = try migrations(
            Self.batched(
                "UPDATE note SET size = coalesce(size, 0) + 1 WHERE size IS NULL OR size < 9"
            )
        )
        #expect(throws: MigrationKitError.batchRepeats("2")) { try runner.migrate(in: writer) }
        #expect(try filled == 0)
        #expect(try logged == 0)
    }

    /// Another program writes a row after each batch that the statement changes.
    @Test func rowsThatOthersKeepWritingDoNotKeepItFromItsEnd() throws {
        let runner = try migrations(Self.batched(rows: 500))
        try runner.migrate(in: writer, upTo: "1")
        let other = try store.open()
        let options = MigrationOptions(budget: 0)
        var runs = 0
        while try runner.hasPendingMigrations(in: writer), runs < 100 {
            runs += 1
            try other.write { try $0.execute(sql: "INSERT INTO note (body) VALUES ('more')") }
            try runner.migrate(in: writer, options: options)
        }
        try other.close()
        #expect(runs < 100)
        #expect(try filled == 1000 + runs && logged == 1000 + runs)
    }

    @Test(
        arguments: [
            "DELETE FROM note WHERE id >= 1500", "UPDATE note SET id = id + 9000 WHERE id < 9000",
            "UPDATE note SET (size, id) = (1, id + 9000) WHERE id < 9000",
        ],
        ["", "DROP TRIGGER noted;"]
    )
    func otherTablesAreNotChanged(_ sql: String, _ trigger: String) throws {
        let child = step(
            "1a",
            """
            \(trigger)
            CREATE TABLE tag (note REFERENCES note (id) ON DELETE CASCADE ON UPDATE SET NULL);
            INSERT INTO tag VALUES (1500);
            """
        )
        #expect(throws: MigrationKitError.self) {
            try migrations(child, Self.batched(sql)).migrate(in: writer)
        }
        #expect(try writer.number("SELECT count(note) FROM tag") == 1)
        try migrations(child, Self.batched()).migrate(in: writer)
        #expect(try filled == 1000)
    }

    /// A foreign key with an action is no obstacle if it has nothing to do.
    @Test func rowsWithoutChildrenAreDeleted() throws {
        let child = step(
            "1a",
            """
            DROP TRIGGER noted;
            CREATE TABLE tag (note REFERENCES note (id) ON DELETE CASCADE);
            INSERT INTO tag VALUES (1500);
            """
        )
        try migrations(child, Self.batched("DELETE FROM note WHERE id > 1500")).migrate(in: writer)
        #expect(try writer.number("SELECT count(*) FROM note") == 500)
        #expect(try writer.number("SELECT count(note) FROM tag") == 1)
    }

    /// The statement must be done with a row after its batch, not only with those of the first one.
    @Test func everyBatchIsProven() throws {
        let runner = try migrations(
            step("1a", "UPDATE note SET size = iif(id < 2900, 1, 4); DELETE FROM log"),
            Self.batched("UPDATE note SET size = size / 2 WHERE size > 0")
        )
        #expect(throws: MigrationKitError.batchRepeats("2")) { try runner.migrate(in: writer) }
        // Each row was halved once, or not at all.
        #expect(try writer.number("SELECT count(*) FROM note WHERE size NOT IN (0, 1, 4)") == 0)
        #expect(
            try writer.number("SELECT count(*) FROM note WHERE size = 4 AND id >= 2900") ?? 0 > 0
        )
    }

    @Test(arguments: [
        "rowsChanged\":9223372036854775807", "statement\":-1", "passes\":-5", "key\":[{}]", "x",
    ])
    func journalOfAnotherProgramIsNoHarm(_ text: String) throws {
        let runner = try migrations(Self.batched())
        try runner.migrate(in: writer, options: MigrationOptions(budget: 0))
        let journal = "grdb_migrationkit_journal"
        let progress = try #require(
            try writer.strings("SELECT progress FROM \(journal) WHERE progress IS NOT NULL").first
        )
        let name = text.prefix { $0 != "\"" }
        let changed = progress.replacing(
            try Regex("\(name)\":(-?[0-9]+|\\[[^\\]]*\\])"),
            with: text
        )
        try writer.write {
            try $0.execute(
                sql: "UPDATE \(journal) SET progress = ? WHERE progress IS NOT NULL",
                arguments: [text == "x" ? "x" : changed]
            )
        }
        try runner.migrate(in: writer)
        #expect(try logged == 1000)
    }

    @Test(arguments: [
        "UPDATE note SET size = 1 ORDER BY id", "DELETE FROM nothing", "DELETE FROM seen",
        "DELETE FROM words WHERE words = 'a'",
    ])
    func whatHasNoKeyIsRefused(_ sql: String) throws {
        let others = step(
            "1a",
            """
            CREATE VIEW seen AS SELECT * FROM note;
            CREATE TRIGGER gone INSTEAD OF DELETE ON seen BEGIN DELETE FROM note; END;
            CREATE VIRTUAL TABLE words USING fts5(a);
            """
        )
        let error = #expect(throws: MigrationKitError.self) {
            try migrations(others, Self.batched(sql)).migrate(in: writer)
        }
        guard case .unusableBatch("2", _) = error else {
            Issue.record("\(error.map { "\($0)" } ?? "")")
            return
        }
        #expect(try writer.number("SELECT count(*) FROM note") == 1000)
        #expect(try GRDBMigrationRunner.history(in: writer).map(\.event) == [.applied, .applied])
    }

    /// There is nothing to go on with, and nothing to take back.
    @Test func errorInTheFirstBatchLeavesNothingBegun() throws {
        let strict = step(
            "1a",
            """
            CREATE TRIGGER strict BEFORE UPDATE ON note
            BEGIN SELECT raise(ABORT, 'not this one'); END;
            """
        )
        let runner = try migrations(strict, Self.batched())
        #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
        #expect(try runner.overview(of: writer).begun.isEmpty)
        try writer.write { try $0.execute(sql: "DROP TRIGGER strict") }
        try runner.migrate(in: writer)
        #expect(try logged == 1000)
    }

    @Test func errorKeepsTheBatchesBeforeIt() throws {
        let strict = step(
            "1a",
            """
            CREATE TRIGGER strict BEFORE UPDATE ON note WHEN new.id = 1500
            BEGIN SELECT raise(ABORT, 'not this one'); END;
            """
        )
        let runner = try migrations(strict, Self.batched())
        #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
        #expect(try runner.overview(of: writer).begun["2"]?.rowsChanged == filled)
        // On a slow machine a batch has fewer rows.
        #expect(try (400..<500).contains(filled))
        try writer.write { try $0.execute(sql: "DROP TRIGGER strict") }
        try runner.migrate(in: writer)
        #expect(try logged == 1000)
    }

    @Test func requirementsAndChecksHold() throws {
        let isEmpty = CheckQuery("no notes", sql: "SELECT rowid FROM note")
        #expect(throws: GRDBMigrationVerificationError.self) {
            try migrations(Self.batched(requirements: [isEmpty])).migrate(in: writer)
        }
        #expect(try filled == 0)
        let runner = try migrations(Self.batched(checks: [isEmpty]))
        #expect(throws: GRDBMigrationVerificationError.self) { try runner.migrate(in: writer) }
        #expect(try filled == 1000)
        #expect(try runner.overview(of: writer).begun["2"]?.rowsChanged == 1000)
    }

    /// The child's rows lose their parents by the parents' batches.
    @Test func foreignKeysAreEnforced() throws {
        let child = step(
            "1a",
            "CREATE TABLE tag (note REFERENCES note (id)); INSERT INTO tag VALUES (1500)"
        )
        let runner = try migrations(child, Self.batched("DELETE FROM note WHERE size IS NULL"))
        #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
        let left = try writer.number("SELECT count(*) FROM note") ?? 0
        #expect((501...600).contains(left))
    }

    // MARK: - The Log

    @Test func logStaysBelowItsLimit() throws {
        try writer.close()
        let pool = try store.openPool()
        let limit = MigrationBatch.leastLogLimit
        let large = MigrationStep<Database>(
            identifier: "2",
            batched: [
                MigrationBatch(
                    "UPDATE note SET body = body || hex(zeroblob(10000)), size = 1 WHERE size IS NULL",
                    rows: 30,
                    logLimit: limit
                )
            ]
        )
        let runner = try migrations(large)
        try runner.migrate(in: pool, upTo: "1")
        // Someone reads what was there before the first batch.
        let snapshot = try pool.makeSnapshot()
        let options = MigrationOptions(lockTimeout: 0.1)
        #expect(throws: MigrationKitError.logStaysFull(path: store.path, limit: limit)) {
            try runner.migrate(in: pool, options: options)
        }
        let begun = try #require(try runner.overview(of: pool).begun["2"])
        #expect(begun.rowsChanged > 0 && begun.rowsChanged < 1000)
        try snapshot.close()
        try runner.migrate(in: pool)
        let log = try Data(contentsOf: URL(fileURLWithPath: store.path + "-wal")).count
        // A limit is noticed after a batch, and waiting takes pages, too.
        #expect(log < limit + 3_000_000)
        try pool.close()
    }
}
