import GRDB
import MigrationKitCommon
import MigrationKitGRDB

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
    /// - Throws: ``GRDBMigrationReplayError``, each time.
    package func database(applying identifiers: Set<String>) throws -> DatabaseQueue? {
        try made.withLock { made in
            if let known = made[identifiers] { return try known.get() }
            guard made.count < Self.limit else { return nil }
            let result = Result { try StepReplay.inMemory(runner, identifiers, configuration) }
            made[identifiers] = result
            return try result.get()
        }
    }
}
