import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitGRDB

/// Steps that run again, on a new database.
enum StepReplay {
    /// Runs steps on a database in memory.
    ///
    /// - Throws: ``GRDBMigrationReplayError``; a `CancellationError`.
    static func inMemory(
        _ runner: GRDBMigrationRunner,
        _ identifiers: Set<String>,
        _ configuration: Configuration,
        cancellation: Cancellation? = nil
    ) throws -> DatabaseQueue {
        let queue = try attempt(
            "a database in memory, on which the steps run again, can't be opened"
        ) {
            try DatabaseQueue(configuration: configuration.ofReplay)
        }
        try run(runner, identifiers, on: queue, cancellation)
        return queue
    }

    /// Runs steps on a temporary file, which is removed after use. It is encrypted if the
    /// configuration gives a key.
    ///
    /// What a host does in `prepareDatabase` may work on files only.
    /// <https://github.com/groue/GRDB.swift/issues/931>
    ///
    /// - Parameter configuration: That of a database with a file.
    /// - Throws: ``GRDBMigrationReplayError``; a `CancellationError`; what the body throws.
    static func inFile<Value>(
        _ runner: GRDBMigrationRunner,
        _ identifiers: Set<String>,
        _ configuration: Configuration,
        cancellation: Cancellation? = nil,
        _ body: (DatabaseQueue) throws -> Value
    ) throws -> Value {
        let folder = FileManager.default.temporaryDirectory
        let files = NewFiles(
            .writing,
            for: folder.appendingPathComponent("migrationkit-replay").path
        )
        files.removeLeftovers()
        let (file, queue) = try attempt(
            "a temporary database in \(folder.path), on which the steps run again, can't be opened"
        ) {
            let file = try files.make()
            do {
                let queue = try file.connecting {
                    try DatabaseQueue(path: $0, configuration: configuration.ofReplay)
                }
                return (file, queue)
            } catch {
                file.remove()
                throw error
            }
        }
        defer {
            try? queue.close()
            file.remove()
        }
        // A crash loses only the temporary file.
        try queue.inDatabase { try $0.execute(sql: "PRAGMA main.synchronous = OFF") }
        try run(runner, identifiers, on: queue, cancellation)
        return try body(queue)
    }

    private static func run(
        _ runner: GRDBMigrationRunner,
        _ identifiers: Set<String>,
        on queue: DatabaseQueue,
        _ cancellation: Cancellation?
    ) throws {
        let operation = LongOperation<Never>(
            timeout: 0,
            cancellation: cancellation,
            observer: nil
        )
        try queue.inDatabase { db in
            try operation.watching(db, every: 20_000, atStatements: true, reporting: { [] }) {
                try run(runner, identifiers, in: db)
            }
        }
    }

    /// Runs steps in the order of the runner, those that can share a transaction in one.
    private static func run(
        _ runner: GRDBMigrationRunner,
        _ identifiers: Set<String>,
        in db: Database
    ) throws {
        let recorded = try bootstrap(runner, in: db)
        guard recorded.isSubset(of: identifiers) else {
            throw GRDBMigrationReplayError(
                reason: "in a new database, the program itself records migrations as applied",
                underlying: nil
            )
        }
        var rest = runner.steps.filter {
            identifiers.contains($0.identifier) && !recorded.contains($0.identifier)
        }[...]
        while let first = rest.first {
            guard first.usesTransaction else {
                try attempt(first) {
                    try StepTransaction.runWithout(first.identifier, in: db, first.apply)
                }
                rest = rest.dropFirst()
                continue
            }
            let isImmediate = first.foreignKeyChecks == .immediate
            let group = rest.prefix {
                $0.usesTransaction && ($0.foreignKeyChecks == .immediate) == isImmediate
            }
            rest = rest.dropFirst(group.count)
            // The commit may fail, too.
            try attempt(group.last ?? first) {
                try StepTransaction.withForeignKeysOff(db, if: !isImmediate) {
                    try db.inTransaction {
                        try apply(group, in: db)
                        return .commit
                    }
                }
            }
        }
    }

    private static func apply(
        _ steps: ArraySlice<GRDBMigrationRunner.Step>,
        in db: Database
    ) throws {
        let transaction = try StepTransaction(on: db)
        for step in steps {
            try attempt(step) {
                try transaction.run(step.identifier) { try step.applyMerging($0, []) }
            }
        }
    }

    /// - Returns: The steps that the host has recorded as applied.
    private static func bootstrap(
        _ runner: GRDBMigrationRunner,
        in db: Database
    ) throws -> Set<String> {
        // A large index would otherwise be sorted in a file.
        try db.execute(sql: "PRAGMA temp_store = MEMORY")
        try MigrationLedger.create(db)
        guard let bootstrapSchema = runner.integration.bootstrapSchema else { return [] }
        return try attempt("the program's base schema can't be made in an empty database") {
            try db.inTransaction {
                _ = try bootstrapSchema(db)
                return .commit
            }
            return try MigrationLedger.read(db)
        }
    }

    private static func attempt(
        _ step: GRDBMigrationRunner.Step,
        _ body: () throws -> Void
    ) throws {
        try attempt("\(step.identifier) can't run in an empty database", body)
    }

    private static func attempt<Value>(_ what: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as GRDBMigrationReplayError {
            throw error
        } catch {
            let reason =
                (error as? DatabaseError)?.messageWithoutValues ?? error.localizedDescription
            throw GRDBMigrationReplayError(reason: "\(what): \(reason)", underlying: error)
        }
    }
}
