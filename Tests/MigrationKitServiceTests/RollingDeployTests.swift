import Foundation
import GRDB
import MigrationKitService
import ServiceLifecycle
import TestSupport
import Testing

/// What Documentation/RollingDeploy.md says: the old version serves while the new one migrates.
@Suite struct RollingDeployTests {
    private let served: ServedStore
    private let first = step(
        "0001",
        "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO note (title) VALUES ('a')"
    )

    init() throws {
        served = try ServedStore()
    }

    /// The old version, which has the store open and has migrated it.
    private func oldVersion(busyTimeout: TimeInterval = 5) throws -> DatabasePool {
        let pool = try served.store(busyTimeout: busyTimeout).openPool()
        try GRDBMigrationRunner(steps: [first]).migrate(in: pool)
        return pool
    }

    /// A step that does its work, and then waits for the test.
    private func halting(
        _ identifier: String,
        _ sql: String,
        _ begun: DispatchSemaphore,
        until goOn: DispatchSemaphore
    ) -> MigrationStep<Database> {
        MigrationStep(identifier: identifier) { db in
            try db.execute(sql: sql)
            begun.signal()
            goOn.wait()
        }
    }

    private func count(_ pool: DatabasePool) throws -> Int? {
        try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") }
    }

    @Test func theOldVersionReadsTheStateBeforeTheStepAndItsWritesWaitForTheCommit() throws {
        let old = try oldVersion(busyTimeout: 30)
        let impatient = try served.store(busyTimeout: 0.1).openPool()
        let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let runner = try GRDBMigrationRunner(steps: [
            first,
            halting(
                "0002",
                "ALTER TABLE note ADD COLUMN pinned NOT NULL DEFAULT 0; DELETE FROM note",
                begun,
                until: goOn
            ),
        ])
        let new = try served.store(busyTimeout: 5).openPool()
        let migration = Background { try runner.migrate(in: new).steps.count }
        begun.wait()
        // In the middle of the step.
        #expect(try count(old) == 1)
        #expect(try old.read { try $0.columns(in: "note").map(\.name) } == ["id", "title"])
        let busy = #expect(throws: DatabaseError.self) {
            try impatient.write { try $0.execute(sql: "INSERT INTO note (title) VALUES ('b')") }
        }
        #expect(busy?.resultCode == .SQLITE_BUSY)
        let writing = DispatchSemaphore(value: 0)
        let write = Background {
            writing.signal()
            try old.write { try $0.execute(sql: "INSERT INTO note (title) VALUES ('b')") }
        }
        writing.wait()
        let snapshot = try old.makeSnapshot()
        goOn.signal()
        #expect(try migration.value() == 1)
        try write.value()
        // The old version's SQL works with the new schema, since the step only adds.
        #expect(try count(old) == 1)
        #expect(try old.read { try Int.fetchOne($0, sql: "SELECT pinned FROM note") } == 0)
        // What began to read before the commit keeps its state.
        #expect(try snapshot.read { try $0.columns(in: "note").count } == 2)
    }

    @Test func whatIsRenamedOrRequiredBreaksTheOldVersion() throws {
        let old = try oldVersion()
        let new = try served.store(busyTimeout: 5).openPool()
        func release(_ sql: String) throws -> DatabaseError? {
            let runner = try GRDBMigrationRunner(steps: [
                first, step("0002", sql, down: "SELECT 1"),
            ])
            try runner.migrate(in: new)
            defer {
                _ = try? new.write {
                    try $0.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = '0002'")
                }
            }
            do {
                try old.write { try $0.execute(sql: "INSERT INTO note (title) VALUES ('b')") }
                return nil
            } catch let error as DatabaseError {
                return error
            }
        }
        #expect(try release("CREATE TABLE tag (id); CREATE INDEX i ON note (title)") == nil)
        #expect(try release("ALTER TABLE note ADD COLUMN pinned NOT NULL DEFAULT 0") == nil)
        #expect(
            try release("ALTER TABLE note RENAME COLUMN title TO name")?.message
                == "table note has no column named title"
        )
    }

    @Test func theOldVersionStartsAgainOnlyOnASchemaWithWhichItWorks() throws {
        let old = try oldVersion()
        let new = try served.store(busyTimeout: 5).openPool()
        let harmless = step("0002", "CREATE TABLE tag (id)")
        try GRDBMigrationRunner(steps: [first, harmless]).migrate(in: new)
        let runner = try GRDBMigrationRunner(steps: [first])
        #expect(try runner.migrate(in: old).newer == ["0002"])

        let breaking = step("0003", "ALTER TABLE note RENAME COLUMN title TO name")
        try GRDBMigrationRunner(steps: [first, harmless, breaking]).migrate(in: new)
        let newer = try runner.newerMigrations(in: old)
        #expect(throws: MigrationKitError.databaseIsNewer(unknown: ["0002", "0003"], steps: newer))
        {
            try runner.migrate(in: old)
        }
        #expect(MigrationKitError.databaseIsNewer(unknown: []).code.exitStatus.rawValue == 65)
    }

    /// Three replicas at once. The limit is less than the migration takes.
    @Test(.timeLimit(.minutes(10)))
    func otherReplicasWaitForTheOneThatMigrates() async throws {
        let runs = Locked(0)
        let slow = MigrationStep<Database>(identifier: "0002") { db in
            runs.withLock { $0 += 1 }
            let end = ContinuousClock.now + .seconds(4)
            while .now < end {
                try db.execute(sql: "UPDATE note SET title = title || 'x'")
                try db.execute(sql: "UPDATE note SET title = 'a'")
            }
        }
        let options = MigrationOptions(lockTimeout: 1.5)
        let replicas = try (0..<3).map { _ in
            try served.service([first, slow], options: options)
        }
        let groups = replicas.map { group($0) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for group in groups { tasks.addTask { try await group.run() } }
            for replica in replicas { _ = try await replica.database() }
            for replica in replicas { #expect(replica.isReady) }
            for group in groups { await group.triggerGracefulShutdown() }
            try await tasks.waitForAll()
        }
        #expect(runs.withLock { $0 } == 1)
        #expect(try served.applied() == ["0001", "0002"])
    }
}
