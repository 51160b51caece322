import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// What others commit while a step's batches run is done, too, before the step is recorded.
@Suite struct BatchBesideOthersTests {
    private let store: EncryptedStore
    private let pool: DatabasePool

    init() throws {
        store = try EncryptedStore()
        pool = try store.openPool()
    }

    private static let notes = step(
        "1",
        """
        CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, words INTEGER);
        CREATE TABLE gone (id INTEGER PRIMARY KEY, body TEXT);
        CREATE TABLE log (id INTEGER);
        CREATE TRIGGER noted AFTER UPDATE OF size ON note BEGIN INSERT INTO log VALUES (new.id); END;
        CREATE VIRTUAL TABLE found USING fts5(body);
        CREATE TRIGGER found_too AFTER UPDATE OF size ON note
        BEGIN INSERT INTO found (rowid, body) VALUES (new.id, new.body); END;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO note (id, body) SELECT 3 * i, 'body ' || i FROM n;
        """
    )

    private func runner(
        _ sql: String...,
        checks: [CheckQuery] = []
    ) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: [
            Self.notes,
            MigrationStep(
                identifier: "2",
                sourceFile: "",
                batched: sql.map { MigrationBatch($0, rows: 100) },
                checks: checks
            ),
        ])
    }

    private static let fill = "UPDATE note SET size = length(body) WHERE size IS NULL"

    /// Runs the step, while another program commits something whenever an event is told.
    private func migrate(
        _ runner: GRDBMigrationRunner,
        when isMoment: @escaping @Sendable (MigrationEvent) -> Bool,
        _ sql: String
    ) throws -> MigrationReport {
        try runner.migrate(in: pool, upTo: "1")
        let other = try store.open()
        let writes = Locked(0)
        let report = try runner.migrate(
            in: pool,
            options: MigrationOptions { event in
                guard isMoment(event) else { return }
                let count = writes.withLock { count in
                    count += 1
                    return count
                }
                // Nobody else may write within a batch.
                try? other.writeWithoutTransaction { db in
                    try db.execute(sql: "PRAGMA busy_timeout = 0")
                    try db.execute(sql: sql, arguments: ["n": count])
                }
            }
        )
        #expect(writes.withLock { $0 } > 0)
        try other.close()
        return report
    }

    private func number(_ sql: String) throws -> Int? {
        try pool.read { try Int.fetchOne($0, sql: sql) }
    }

    /// The last way through the table changes nothing, and the row is behind it.
    @Test(arguments: [true, false]) func rowBehindTheLastLookIsDone(_ hasCheck: Bool) throws {
        let check = CheckQuery("sizes", sql: "SELECT id FROM note WHERE size IS NOT length(body)")
        let runner = try runner(Self.fill, checks: hasCheck ? [check] : [])
        let report = try migrate(
            runner,
            when: { if case .verifying = $0 { true } else { false } },
            "INSERT INTO note (id, body) VALUES (1 + 3 * :n, 'low')"
        )
        #expect(try number("SELECT count(*) FROM note WHERE body = 'low'") == 1)
        #expect(try number("SELECT count(*) FROM note WHERE size IS NULL") == 0)
        #expect(try number("SELECT count(*) FROM log") == 1001)
        #expect(report.steps.map(\.rowsChanged) == [1001])
        #expect(try runner.appliedMigrationIdentifiers(in: pool) == ["1", "2"])
    }

    /// A check that fails for what is really so undoes the last look with the record.
    @Test func rowThatViolatesACheckRefusesTheRecord() throws {
        let check = CheckQuery("no bad ones", sql: "SELECT id FROM note WHERE body = 'bad'")
        let runner = try runner(Self.fill, checks: [check])
        #expect(throws: GRDBMigrationVerificationError.self) {
            try migrate(
                runner,
                when: { if case .verifying = $0 { true } else { false } },
                "INSERT INTO note (id, body) VALUES (1 + 3 * :n, 'bad')"
            )
        }
        #expect(try number("SELECT count(*) FROM note WHERE size IS NULL") == 1)
        #expect(try runner.overview(of: pool).begun["2"]?.rowsChanged == 1000)
    }

    @Test func everyStatementLooksAgain() throws {
        let report = try migrate(
            try runner(
                Self.fill,
                "UPDATE note SET words = size / 5 WHERE words IS NULL AND size IS NOT NULL"
            ),
            when: { if case .verifying = $0 { true } else { false } },
            "INSERT INTO note (id, body) VALUES (1 + 3 * :n, 'low')"
        )
        #expect(try number("SELECT count(*) FROM note WHERE words IS NULL") == 0)
        #expect(report.steps.map(\.rowsChanged) == [2002])
    }

    /// A row that comes when the first statement is over the table already is changed by it before the
    /// second looks at it.
    @Test func rowsAreChangedAndDeletedBesideOthers() throws {
        let runner = try runner(Self.fill, "DELETE FROM note WHERE size IS NULL OR size < 7")
        try runner.migrate(in: pool, upTo: "1")
        let other = try store.open()
        let options = MigrationOptions(budget: 0)
        var added = 0
        while try runner.hasPendingMigrations(in: pool) {
            try runner.migrate(in: pool, options: options)
            guard added < 15 else { continue }
            added += 1
            try other.write {
                try $0.execute(
                    sql: "INSERT INTO note (id, body) VALUES (?, 'late and long')",
                    arguments: [1 + 3 * 66 * added]
                )
            }
        }
        try other.close()
        #expect(try number("SELECT count(*) FROM note WHERE body LIKE 'late%'") == 15)
        #expect(try number("SELECT count(*) FROM note") == 1015 - 9)
    }

    /// A trigger that another program makes meanwhile is judged before the next batch.
    @Test(arguments: [true, false]) func schemaOfTheBatchIsJudged(_ isHarmless: Bool) throws {
        let runner = try GRDBMigrationRunner(steps: [
            Self.notes,
            MigrationStep(
                identifier: "2",
                batched: [MigrationBatch(Self.fill, rows: 10, pause: 0.01)]
            ),
        ])
        try runner.migrate(in: pool, upTo: "1")
        let other = try store.open()
        let change =
            isHarmless
            ? "INSERT INTO log VALUES (-1)" : "UPDATE note SET size = 0 WHERE id = new.id + 300"
        let thread = Thread {
            try? other.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA busy_timeout = 10000")
                while try Int.fetchOne(db, sql: "SELECT count(size) FROM note") == 0 {}
                try db.execute(
                    sql: "CREATE TRIGGER late AFTER UPDATE ON note BEGIN \(change); END"
                )
            }
        }
        thread.start()
        if isHarmless {
            try runner.migrate(in: pool)
            #expect(try number("SELECT count(size) FROM note") == 1000)
            #expect(try number("SELECT count(*) FROM log WHERE id = -1") ?? 0 > 0)
        } else {
            let error = #expect(throws: MigrationKitError.self) { try runner.migrate(in: pool) }
            guard case .unusableBatch("2", let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason.contains("the trigger 'late'"), "\(reason)")
            #expect(try number("SELECT count(size) FROM note") ?? 0 < 1000)
            #expect(try number("SELECT count(*) FROM note WHERE size = 0") == 0)
        }
        try other.close()
    }

    /// What triggers and full-text indexes add is no row of the step's.
    @Test func rowsAreCountedInOneUnit() throws {
        let events = Recorder<MigrationEvent>()
        // They are told about each tenth of a second, so the statement takes its time.
        let slow = """
            UPDATE note SET size = length(body) + 0 * (
                WITH RECURSIVE n(i) AS (SELECT note.id UNION ALL SELECT i + 1 FROM n LIMIT 20000)
                SELECT count(*) FROM n
            ) WHERE size IS NULL
            """
        let runner = try runner(slow)
        let report = try runner.migrate(
            in: pool,
            options: MigrationOptions { events.append($0) }
        )
        let counts = events.values.compactMap { event in
            if case .stepAdvanced("2", let rows) = event { rows } else { nil }
        }
        #expect(counts.count > 3)
        #expect(counts == counts.sorted())
        #expect(counts.allSatisfy { $0 <= 1000 }, "\(counts)")
        #expect(report.steps.last?.rowsChanged == 1000)
    }

    // MARK: - The Log

    /// Closing a descriptor of the index would end the locks of all of the process's connections.
    @Test func logIsMeasuredWithoutAFileOfOurs() throws {
        let runner = try runner(Self.fill)
        try runner.migrate(in: pool, upTo: "1")
        let before = try FileManager.default.attributesOfItem(atPath: store.path + "-shm")
        #expect(before[.size] as? Int ?? 0 > 0)
        let locks = try Self.locks(on: store.path + "-shm")
        #expect(!locks.isEmpty)
        try runner.migrate(in: pool)
        #expect(try Self.locks(on: store.path + "-shm") == locks)
    }

    /// This process's locks on a file, as the system has them.
    private static func locks(on path: String) throws -> [String] {
        let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber]
        let inode = (number as? NSNumber)?.int64Value ?? 0
        return try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
            .map { $0.split(separator: " ").map(String.init) }
            .filter { $0.count > 7 && $0[5].hasSuffix(":\(inode)") && $0[4] == "\(getpid())" }
            .map { $0[3] + " " + $0[6] + " " + $0[7] }
    }
}
