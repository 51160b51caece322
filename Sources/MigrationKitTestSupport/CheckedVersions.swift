import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB

/// Databases in memory, one for each version of a runner, each with its own connection.
///
/// What is wrong with one is thrown as a ``CheckFailure``.
struct CheckedVersions: Sendable {
    let runner: GRDBMigrationRunner
    let configuration: Configuration
    let identifiers: [String]

    init(runner: GRDBMigrationRunner, configuration: Configuration) {
        (self.runner, self.configuration) = (runner, configuration)
        identifiers = runner.migrationIdentifiers
    }

    func empty() throws -> DatabaseQueue {
        try DatabaseQueue(configuration: configuration)
    }

    /// The same database on another connection, as after a restart of the app.
    func copy(of database: DatabaseQueue) throws -> DatabaseQueue {
        let copy = try empty()
        try database.backup(to: copy)
        return copy
    }

    /// A fresh install.
    func installed() throws -> DatabaseQueue {
        let database = try empty()
        try install(in: database)
        return database
    }

    /// Migrates a new database to a version, or to the end.
    func install(in database: DatabaseQueue, upTo target: String? = nil) throws {
        try run(failure: MigrationCheckError.freshInstallFailed(step:reason:)) { options in
            try migrate(database, upTo: target, options)
        }
    }

    /// Migrates a database of one version to a later one, or to the end.
    func migrate(
        _ database: DatabaseQueue,
        from version: String?,
        upTo target: String? = nil
    ) throws {
        try run(
            failure: { .upgradeFailed(from: version, step: $0, reason: $1) },
            { options in try migrate(database, upTo: target, options) }
        )
    }

    private func migrate(
        _ database: DatabaseQueue,
        upTo target: String?,
        _ options: MigrationOptions
    ) throws {
        if let target {
            try runner.migrate(in: database, upTo: target, options: options)
        } else {
            try runner.migrate(in: database, options: options)
        }
    }

    /// One step on the way through all versions.
    struct Rung {
        let identifier: String
        /// The version before it; `nil` for an empty database.
        let former: String?
        /// The database before it.
        let before: DatabaseQueue
        /// The database after it, on another connection.
        let after: DatabaseQueue
    }

    /// Goes from version to version, beginning with a database of one.
    ///
    /// - Parameters:
    ///   - database: The database. It stays as it is.
    ///   - count: How many steps it has.
    ///   - visit: Looks at each step, and returns whether to go on.
    /// - Returns: The database of the last version.
    func climb(
        from database: DatabaseQueue,
        at count: Int = 0,
        _ visit: (Rung) throws -> Bool
    ) throws -> DatabaseQueue {
        var database = database
        for (place, identifier) in identifiers.enumerated().dropFirst(count) {
            let former = place == 0 ? nil : identifiers[place - 1]
            let after = try copy(of: database)
            try migrate(after, from: former, upTo: identifier)
            let rung = Rung(identifier: identifier, former: former, before: database, after: after)
            database = after
            guard try visit(rung) else { break }
        }
        return database
    }

    /// Rolls back the latest step, and checks that this produces a schema.
    func rollBack(
        _ identifier: String,
        in database: DatabaseQueue,
        to schema: SchemaSnapshot
    ) throws {
        try run(failure: { .rollbackFailed(step: identifier, reason: $1) }) {
            try runner.rollbackMigration(identifier: identifier, in: database, options: $0)
        }
        let difference = try SchemaSnapshot(of: database).difference(from: schema)
        guard difference.isEmpty else {
            throw CheckFailure(
                .rollbackLeavesOtherSchema(step: identifier, difference: difference)
            )
        }
    }

    /// Applies a step again after its rollback, and checks that this produces a schema.
    func reapply(
        _ identifier: String,
        in database: DatabaseQueue,
        to schema: SchemaSnapshot
    ) throws {
        try run(failure: { .reapplicationFailed(step: identifier, reason: $1) }) {
            try runner.migrate(in: database, upTo: identifier, options: $0)
        }
        let difference = try SchemaSnapshot(of: database).difference(from: schema)
        guard difference.isEmpty else {
            throw CheckFailure(
                .reapplicationLeadsElsewhere(step: identifier, difference: difference)
            )
        }
    }

    /// Runs again on a database of some version, which must change nothing.
    func runAgain(on database: DatabaseQueue, upTo target: String? = nil) throws {
        let before = try DatabaseContents(of: database)
        try run(failure: MigrationCheckError.secondRunFailed(step:reason:)) { options in
            try migrate(database, upTo: target, options)
        }
        let difference = try DatabaseContents(of: database).difference(from: before)
        guard difference.isEmpty else {
            throw CheckFailure(.secondRunChanges(difference: difference))
        }
    }

    /// Runs the runner, and turns its error into one that names the step.
    func run<Result>(
        failure: (_ step: String?, _ reason: String) -> MigrationCheckError,
        _ work: (MigrationOptions) throws -> Result
    ) throws {
        let failed = Locked<String?>(nil)
        let options = MigrationOptions(observer: { event in
            switch event {
            case .stepFailed(let identifier, _), .stepFailedLate(let identifier, _, _):
                failed.withLock { $0 = identifier }
            default:
                break
            }
        })
        do {
            _ = try work(options)
        } catch {
            let reason = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
            let step = failed.withLock { $0 }
            throw CheckFailure(failure(step, reason), in: step, cause: error)
        }
    }
}

/// A finding, with the error that led to it.
struct CheckFailure: Error {
    let finding: MigrationCheckError
    /// The step that failed, if one did.
    let step: String?
    let cause: (any Error)?

    init(_ finding: MigrationCheckError, in step: String? = nil, cause: (any Error)? = nil) {
        (self.finding, self.step, self.cause) = (finding, step, cause)
    }
}
