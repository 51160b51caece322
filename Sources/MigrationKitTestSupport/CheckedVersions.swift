import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB

/// Databases in memory, one for each version of a runner, each with its own connection.
struct CheckedVersions {
    let runner: GRDBMigrationRunner
    let configuration: Configuration

    var identifiers: [String] { runner.migrationIdentifiers }

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
        try run(failure: MigrationCheckError.freshInstallFailed(step:reason:)) {
            try runner.migrate(in: database, options: $0)
        }
        return database
    }

    /// Migrates a database of one version to a later one, or to the end.
    func migrate(
        _ database: DatabaseQueue,
        from version: String?,
        upTo target: String? = nil
    ) throws {
        try run(
            failure: { .upgradeFailed(from: version, step: $0, reason: $1) },
            { options in
                if let target {
                    try runner.migrate(in: database, upTo: target, options: options)
                } else {
                    try runner.migrate(in: database, options: options)
                }
            }
        )
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
            throw MigrationCheckError.rollbackLeavesOtherSchema(
                step: identifier,
                difference: difference
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
            throw MigrationCheckError.reapplicationLeadsElsewhere(
                step: identifier,
                difference: difference
            )
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
            throw failure(failed.withLock { $0 }, reason)
        }
    }
}
