import GRDB
import MigrationKitGRDB

/// How a verification compares the schema with the one that the applied steps give.
public struct DriftOptions: Sendable {
    /// Tables and views that are left out; see
    /// `GRDBMigrationRunner.drift(in:ignoring:configuration:options:)`.
    public var ignoredNames: [String]

    /// Returns further tables that are left out unless a step makes them, from the verified database.
    package var ignoredIn: (@Sendable (Database) throws -> [String])?

    /// The configuration of a database in memory on which the steps run; `nil` for a new database
    /// like the verified one.
    public var configuration: Configuration?

    /// Returns a database on which these steps have run, for another store; `nil` if there is none.
    package var shared: (@Sendable (_ identifiers: Set<String>) throws -> DatabaseQueue?)?

    /// - Parameters:
    ///   - names: Tables and views that are left out. A `*` at the end stands for any characters.
    ///   - configuration: The configuration of the database in memory.
    public init(ignoring names: [String] = [], configuration: Configuration? = nil) {
        ignoredNames = names
        self.configuration = configuration
    }
}

extension VerificationOptions {
    /// Compares the schema with the one that the applied steps give, in a check named `schema`;
    /// `nil` to leave that out. See `GRDBMigrationRunner.drift(in:ignoring:configuration:options:)`.
    public var drift: DriftOptions? {
        get { schemaCheck as? DriftOptions }
        set { schemaCheck = newValue }
    }
}

extension DriftOptions: SchemaCheck {
    package func outcome(
        of runner: GRDBMigrationRunner,
        in writer: any DatabaseWriter,
        cancellation: Cancellation?
    ) throws -> VerificationOutcome {
        let drift = try runner.drift(in: writer, self, cancellation: cancellation)
        var outcome = VerificationOutcome(note: drift.note)
        for change in drift.changes {
            outcome.add(VerificationFinding(change.driftText, table: change.table))
        }
        if outcome.count > 0 {
            outcome.detail =
                "the schema differs from that of the applied migrations in \(outcome.count) "
                + (outcome.count == 1 ? "place" : "places")
        }
        return outcome
    }
}
