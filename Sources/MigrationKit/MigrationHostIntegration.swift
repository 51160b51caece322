/// The hooks with which an app takes part in a run.
///
/// Every hook is optional. Without it, the runner does what its own documentation says.
public struct MigrationHostIntegration<Writer, Database>: Sendable {
    /// Prepares a database before the first step of a run, for example with a base schema that
    /// older releases created without migrations.
    ///
    /// It runs once in each run that migrates, whether or not a step is pending, so it must be safe
    /// to repeat. It has its own transaction or, if the run is all or nothing, that of the run. It
    /// returns whether it created anything, which is logged.
    public var bootstrapSchema: (@Sendable (Database) throws -> Bool)?

    /// Checks that the database is sound, instead of the runner's own integrity checks.
    public var verifyIntegrity: (@Sendable (Database) throws -> Void)?

    /// Checks a migrated or rolled back database, instead of all the runner's own checks.
    ///
    /// It receives the writer, so it runs only after the steps are committed: its error reports the
    /// problem and undoes nothing. Use ``verifyBeforeCommit`` for checks that must be able to undo.
    public var verifyPostMigration: (@Sendable (Writer) throws -> Void)?

    /// Checks a migrated or rolled back database before the last commit, in addition to the other
    /// checks.
    ///
    /// Its error undoes the last step or, if the run is all or nothing, the whole run. It runs
    /// inside the transaction, and must not change the database.
    public var verifyBeforeCommit: (@Sendable (Database) throws -> Void)?

    /// Creates an integration.
    ///
    /// - Parameters:
    ///   - bootstrapSchema: Prepares a database before the first step of a run.
    ///   - verifyIntegrity: Replaces the runner's integrity checks.
    ///   - verifyPostMigration: Replaces all the runner's own checks, after the last commit.
    ///   - verifyBeforeCommit: Adds a check before the last commit.
    public init(
        bootstrapSchema: (@Sendable (Database) throws -> Bool)? = nil,
        verifyIntegrity: (@Sendable (Database) throws -> Void)? = nil,
        verifyPostMigration: (@Sendable (Writer) throws -> Void)? = nil,
        verifyBeforeCommit: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.bootstrapSchema = bootstrapSchema
        self.verifyIntegrity = verifyIntegrity
        self.verifyPostMigration = verifyPostMigration
        self.verifyBeforeCommit = verifyBeforeCommit
    }
}
