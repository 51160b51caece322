/// The places where an app takes part in a run.
///
/// Every hook is optional; without it the runner does what its own documentation says.
public struct MigrationHostIntegration<Writer, Database>: Sendable {
    /// Prepares a database before the first step of a run, for example with a base schema that
    /// older releases created without migrations.
    ///
    /// It runs once per run that migrates, in a transaction of its own, whether or not a step is
    /// pending, and so must be safe to repeat. It returns whether it created anything, which is
    /// logged.
    public var bootstrapSchema: (@Sendable (Database) throws -> Bool)?

    /// Checks that the database is sound, in place of the runner's own integrity checks.
    public var verifyIntegrity: (@Sendable (Database) throws -> Void)?

    /// Checks a migrated or rolled back database, in place of all checks of the runner's own.
    ///
    /// It gets the writer, so it can only run once the steps are committed: an error that it
    /// throws reports the problem and undoes nothing.
    public var verifyPostMigration: (@Sendable (Writer) throws -> Void)?

    /// Creates an integration.
    ///
    /// - Parameters:
    ///   - bootstrapSchema: Prepares a database before the first step of a run.
    ///   - verifyIntegrity: Replaces the runner's integrity checks.
    ///   - verifyPostMigration: Replaces all checks of the runner's own.
    public init(
        bootstrapSchema: (@Sendable (Database) throws -> Bool)? = nil,
        verifyIntegrity: (@Sendable (Database) throws -> Void)? = nil,
        verifyPostMigration: (@Sendable (Writer) throws -> Void)? = nil
    ) {
        self.bootstrapSchema = bootstrapSchema
        self.verifyIntegrity = verifyIntegrity
        self.verifyPostMigration = verifyPostMigration
    }
}
