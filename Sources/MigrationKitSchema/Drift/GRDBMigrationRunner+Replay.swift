import GRDB
import MigrationKitCommon
import MigrationKitGRDB

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
            return try StepReplay.inMemory(self, identifiers, configuration).write(body)
        } catch let error as GRDBMigrationReplayError {
            throw error.underlying ?? error
        }
    }
}

extension Configuration {
    /// For a new database on which steps run. The configuration may be that of the database that is
    /// compared, whose queues may be busy.
    var ofReplay: Configuration {
        var configuration = self
        configuration.readonly = false
        configuration.targetQueue = nil
        configuration.writeTargetQueue = nil
        return configuration
    }
}
