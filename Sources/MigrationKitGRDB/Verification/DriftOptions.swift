import GRDB

/// How a verification compares the schema with the one that the applied steps give.
public struct DriftOptions: Sendable {
    /// Tables and views that are left out; see
    /// `GRDBMigrationRunner.drift(in:ignoring:configuration:options:)`.
    public var ignoredNames: [String]

    /// Returns further tables that are left out, from the verified database.
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
