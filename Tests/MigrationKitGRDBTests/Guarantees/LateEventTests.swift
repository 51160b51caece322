import CSQLCipher
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@testable import MigrationKitPages
@testable import MigrationKitSQLCipher

/// The system reports an error once a transaction is committed: what the events say is what is there.
@Suite struct LateEventTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue
    private let failure = CommitFailure()
    private let events = Recorder<MigrationEvent>()

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
        try writer.writeWithoutTransaction { [failure] db in
            try db.execute(sql: "CREATE TABLE other (id)")
            try failure.get(into: db.sqliteConnection)
        }
    }

    /// Two steps, of which the second one lets its own commit fail, in both directions.
    private func runner() throws -> GRDBMigrationRunner {
        let failure = failure
        return try GRDBMigrationRunner(steps: [
            step("1", "CREATE TABLE a (id)", down: "DROP TABLE a"),
            MigrationStep(
                identifier: "2",
                sourceFile: "2.sql",
                apply: { db in
                    try db.execute(sql: "CREATE TABLE b (id)")
                    failure.begin()
                },
                rollback: { db in
                    try db.execute(sql: "DROP TABLE b")
                    failure.begin()
                }
            ),
        ])
    }

    private func options(_ transaction: MigrationTransaction) -> MigrationOptions {
        let events = events
        return MigrationOptions(transaction: transaction, observer: { events.append($0) })
    }

    /// Whether an event claims that something was undone.
    private func claimsRollback(_ event: MigrationEvent) -> Bool {
        switch event {
        case .stepFailed, .rolledBack: true
        default: false
        }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func stepThatIsCommittedIsNotSaidToBeUndone(_ transaction: MigrationTransaction) throws {
        let runner = try runner()
        #expect(throws: DatabaseError.self) {
            try runner.migrate(in: writer, options: options(transaction))
        }
        #expect(failure.count == 1)
        #expect(
            events.values.last
                == .stepFailedLate(identifier: "2", direction: .forward, isDone: true)
        )
        #expect(!events.values.contains(where: claimsRollback))
        #expect(try store.open().tables() == ["a", "b", "other"])

        #expect(throws: DatabaseError.self) {
            try runner.rollbackMigrations(in: writer, steps: 1, options: options(transaction))
        }
        #expect(failure.count == 2)
        #expect(
            events.values.last == .stepFailedLate(identifier: "2", direction: .back, isDone: true)
        )
        #expect(!events.values.contains(where: claimsRollback))
        #expect(try store.open().tables() == ["a", "other"])
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func ledgerThatCanNotBeReadLeavesItOpen(_ transaction: MigrationTransaction) throws {
        failure.keepsReadsFailing = true
        #expect(throws: DatabaseError.self) {
            try runner().migrate(in: writer, options: options(transaction))
        }
        #expect(
            events.values.last
                == .stepFailedLate(identifier: "2", direction: .forward, isDone: nil)
        )
        #expect(!events.values.contains(where: claimsRollback))
    }
}

/// Lets one commit fail when it is on the disk already, as a lock does that can't be given back.
///
/// - Note: `@unchecked` because the test reads and writes this only between the calls in which the
///   thread of the database does.
private final class CommitFailure: @unchecked Sendable {
    /// Whether nothing can be read after the failure.
    var keepsReadsFailing = false
    private(set) var count = 0
    private var isDue = false
    private var isReadFailing = false
    private var methods: FileMethods?

    /// From the next commit on.
    func begin() {
        isDue = true
    }

    func get(into connection: OpaquePointer?) throws {
        methods = try FileMethods(of: "main", connection, owner: self) {
            $0.xFileControl = { file, operation, argument in
                guard let owner = FileMethods.owner(of: file, CommitFailure.self) else {
                    return SQLITE_MISUSE
                }
                if operation == SQLITE_FCNTL_COMMIT_PHASETWO, owner.fails() { return SQLITE_IOERR }
                return owner.call { $0.xFileControl?(file, operation, argument) }
            }
            $0.xRead = { file, bytes, count, offset in
                guard let owner = FileMethods.owner(of: file, CommitFailure.self) else {
                    return SQLITE_MISUSE
                }
                guard !owner.isReadFailing else { return SQLITE_IOERR }
                return owner.call { $0.xRead?(file, bytes, count, offset) }
            }
        }
    }

    private func fails() -> Bool {
        guard isDue else { return false }
        isDue = false
        isReadFailing = keepsReadsFailing
        count += 1
        return true
    }

    private func call(_ method: (sqlite3_io_methods) -> Int32?) -> Int32 {
        methods?.call(method) ?? SQLITE_MISUSE
    }
}
