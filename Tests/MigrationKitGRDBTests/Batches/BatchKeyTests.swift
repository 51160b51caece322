import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// A key that isn't kept exactly is refused before the first batch.
@Suite struct BatchKeyTests {
    private static func fill(_ rows: Int?) -> MigrationStep<Database> {
        MigrationStep(
            identifier: "2",
            batched: [MigrationBatch("UPDATE t SET s = 1 WHERE s IS NULL", rows: rows)]
        )
    }

    /// A key that isn't kept exactly would leave out rows, wherever it is in the table.
    @Test(
        arguments: ["'m' || char(0) || 'b'", "CAST(x'6dff' AS TEXT)", "9e999", "-9e999"],
        [1, 10_000]
    )
    func keyThatIsNotKeptExactlyIsRefusedBeforeTheFirstBatch(_ key: String, _ rows: Int) throws {
        let table = step(
            "1",
            """
            CREATE TABLE t (k PRIMARY KEY, s) WITHOUT ROWID;
            INSERT INTO t (k) VALUES (1), (2), ('a'), ('zß'), (x'00ff'), (\(key));
            """
        )
        let queue = try DatabaseQueue()
        let runner = try GRDBMigrationRunner(steps: [table, Self.fill(rows)])
        let error = #expect(throws: MigrationKitError.self) { try runner.migrate(in: queue) }
        guard let error, case .unusableBatch("2", let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.hasPrefix("a key of 't' is"))
        #expect(throws: error) { try runner.dryRun(in: queue) }
        #expect(try queue.number("SELECT count(s) FROM t") == 0)
        #expect(try GRDBMigrationRunner.history(in: queue).map(\.event) == [.applied])
    }

    @Test(arguments: [("TEXT", "'a'", false), ("INTEGER", "7", true)])
    func textIsNoKeyInAStoreInUTF16(_ type: String, _ key: String, _ works: Bool) throws {
        let queue = try DatabaseQueue()
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA encoding = 'UTF-16'") }
        let table = step(
            "1",
            "CREATE TABLE t (k \(type) PRIMARY KEY, s) WITHOUT ROWID; INSERT INTO t (k) VALUES (\(key))"
        )
        let runner = try GRDBMigrationRunner(steps: [table, Self.fill(nil)])
        if works {
            try runner.migrate(in: queue)
        } else {
            #expect(throws: MigrationKitError.self) { try runner.migrate(in: queue) }
            #expect(try GRDBMigrationRunner.history(in: queue).map(\.event) == [.applied])
        }
        #expect(try queue.number("SELECT count(s) FROM t") == (works ? 1 : 0))
    }
}
