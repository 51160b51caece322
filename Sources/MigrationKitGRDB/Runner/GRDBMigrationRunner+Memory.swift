import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon

extension GRDBMigrationRunner {
    /// Applies steps to an empty database in memory, and reads from it.
    ///
    /// Only the schema counts: the rows are not verified, and no step is recorded.
    ///
    /// - Parameters:
    ///   - identifiers: The steps; `nil` for all.
    ///   - configuration: The functions and collations that the steps use.
    ///   - body: Reads the database.
    /// - Throws: A step's own error; what the host's `bootstrapSchema` throws; what the body throws.
    package func inMemory<Value>(
        applying identifiers: Set<String>? = nil,
        configuration: Configuration,
        _ body: (Database) throws -> Value
    ) throws -> Value {
        do {
            let identifiers = identifiers ?? Set(migrationIdentifiers)
            return try MigratedMemory(self, identifiers, configuration).queue.write(body)
        } catch let failure as MigratedMemory.Failure {
            throw failure.underlying ?? failure
        }
    }
}

/// A database in memory on which steps have run.
struct MigratedMemory: Sendable {
    /// Why there is no such database.
    struct Failure: Error {
        /// What doesn't work, and why, in one line.
        let text: String
        let underlying: (any Error)?
    }

    let queue: DatabaseQueue

    /// Runs steps in the order of the runner, those that can share a transaction in one.
    ///
    /// - Throws: ``Failure``; a `CancellationError`.
    init(
        _ runner: GRDBMigrationRunner,
        _ identifiers: Set<String>,
        _ configuration: Configuration,
        cancellation: Cancellation? = nil
    ) throws {
        var configuration = configuration
        // The configuration may be that of the database that is compared.
        configuration.readonly = false
        configuration.targetQueue = nil
        configuration.writeTargetQueue = nil
        queue = try Self.attempt("a database in memory can't be opened") {
            try DatabaseQueue(configuration: configuration)
        }
        let operation = LongOperation<Never>(
            timeout: 0,
            cancellation: cancellation,
            observer: nil
        )
        try queue.inDatabase { db in
            try operation.watching(db, every: 20_000, atStatements: true, reporting: { [] }) {
                try Self.run(runner, identifiers, in: db)
            }
        }
    }

    private static func run(
        _ runner: GRDBMigrationRunner,
        _ identifiers: Set<String>,
        in db: Database
    ) throws {
        let recorded = try bootstrap(runner, in: db)
        guard recorded.isSubset(of: identifiers) else {
            throw Failure(
                text: "in a new database, the program itself records migrations as applied",
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
        } catch let failure as Failure {
            throw failure
        } catch {
            let reason = (error as? DatabaseError)?.message ?? error.localizedDescription
            throw Failure(text: "\(what): \(reason)", underlying: error)
        }
    }
}

// MARK: - Shared

/// Databases in memory on which steps have run, made once for all stores with the same applied steps.
package final class SharedSchemas: Sendable {
    private let runner: GRDBMigrationRunner
    private let configuration: Configuration
    private let made = Locked<[Set<String>: Result<DatabaseQueue, any Error>]>([:])

    /// How many sets of applied steps there may be. Stores with any other get a database each.
    private static let limit = 64

    /// - Parameters:
    ///   - runner: The steps.
    ///   - configuration: The functions and collations that the steps use.
    package init(_ runner: GRDBMigrationRunner, _ configuration: Configuration) {
        self.runner = runner
        self.configuration = configuration
    }

    /// The database for these applied steps; the first to ask for it makes it.
    ///
    /// - Returns: `nil` if there are too many.
    /// - Throws: `MigratedMemory.Failure`, each time.
    package func database(applying identifiers: Set<String>) throws -> DatabaseQueue? {
        try made.withLock { made in
            if let known = made[identifiers] { return try known.get() }
            guard made.count < Self.limit else { return nil }
            let result = Result { try MigratedMemory(runner, identifiers, configuration).queue }
            made[identifiers] = result
            return try result.get()
        }
    }
}
