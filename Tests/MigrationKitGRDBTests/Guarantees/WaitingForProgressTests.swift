import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Waiting for another process's migration that takes longer than the time limit.
@Suite struct WaitingForProgressTests {
    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    /// A step that takes as many seconds in short statements.
    ///
    /// - Parameter spills: Whether it writes pages before its commit, so that others can't even read.
    private func slow(
        _ seconds: Double,
        spills: Bool = false,
        _ begun: DispatchSemaphore
    ) -> MigrationStep<Database> {
        MigrationStep(identifier: "1_slow") { db in
            try db.execute(sql: "CREATE TABLE note (body)")
            if spills {
                try db.execute(
                    sql: """
                        PRAGMA cache_size = 10; PRAGMA cache_spill = ON;
                        WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 500)
                        INSERT INTO note SELECT randomblob(4000) FROM c
                        """
                )
            }
            begun.signal()
            let end = ContinuousClock.now + .seconds(seconds)
            while .now < end {
                _ = try Int.fetchOne(
                    db,
                    sql: """
                        WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9999)
                        SELECT count(*) FROM c
                        """
                )
            }
        }
    }

    @Test(arguments: [false, true])
    func aMigrationThatMakesProgressIsWaitedFor(_ spills: Bool) throws {
        let (first, second) = (try store.open(), try store.open(busyTimeout: 0))
        let begun = DispatchSemaphore(value: 0)
        let runner = try GRDBMigrationRunner(steps: [slow(5, spills: spills, begun)])
        let other = Background { try runner.migrate(in: first).steps.count }
        begun.wait()
        let start = ContinuousClock.now
        let report = try runner.migrate(in: second, options: .init(lockTimeout: 1.5))
        #expect(.now - start > .seconds(3))
        #expect(report.steps.isEmpty)
        #expect(try other.value() == 1)
        #expect(try second.number("SELECT count(*) FROM grdb_migrations") == 1)
    }

    @Test func aFixedLimitIsKept() throws {
        let (first, second) = (try store.open(), try store.open())
        let begun = DispatchSemaphore(value: 0)
        let runner = try GRDBMigrationRunner(steps: [slow(4, begun)])
        let other = Background { try runner.migrate(in: first).steps.count }
        begun.wait()
        var options = MigrationOptions(lockTimeout: 1.5)
        options.waitsForProgress = false
        #expect(
            throws: MigrationKitError.locked(path: store.path, holder: getpid(), seconds: 1.5)
        ) {
            try runner.migrate(in: second, options: options)
        }
        #expect(try other.value() == 1)
    }

    /// It holds the lock, and does nothing.
    @Test func aMigrationThatHangsIsNotWaitedForLonger() throws {
        let holder = try store.holdMigrationLock()
        let writer = try store.open()
        let start = ContinuousClock.now
        let error = #expect(throws: MigrationKitError.self) {
            try GRDBMigrationRunner(steps: itemSteps())
                .migrate(in: writer, options: .init(lockTimeout: 1.2))
        }
        #expect(error?.errorDescription?.contains("has made no progress for 1.2 seconds") == true)
        #expect(error?.code.name == "locked")
        #expect(.now - start < .seconds(4))
        _ = try holder.finish()
    }
}
