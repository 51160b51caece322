/// The places where an app takes part in a run.
///
/// Every hook is optional; without it the runner does what its own documentation says.
public struct MigrationHostIntegration<Writer, Database>: Sendable {
    /// Prepares a database before the first step of a run, for example with a base schema that
    /// older releases created without migrations.
    ///
    /// It runs once per run that migrates, whether or not a step is pending, and so must be safe to
    /// repeat: in a transaction of its own, or in that of the run where the run is all or nothing.
    /// It returns whether it created anything, which is logged.
    public var bootstrapSchema: (@Sendable (Database) throws -> Bool)?

    /// Checks that the database is sound, in place of the runner's own integrity checks.
    public var verifyIntegrity: (@Sendable (Database) throws -> Void)?

    /// Checks a migrated or rolled back database, in place of all checks of the runner's own.
    ///
    /// It gets the writer, so it can only run once the steps are committed: an error that it
    /// throws reports the problem and undoes nothing. ``verifyBeforeCommit`` is for checks that
    /// must be able to undo.
    public var verifyPostMigration: (@Sendable (Writer) throws -> Void)?

    /// Checks a migrated or rolled back database before the last commit, beside the other checks.
    ///
    /// What it throws undoes the last step, or the whole run where the run is all or nothing. It
    /// runs inside the transaction, and must not change the database.
    public var verifyBeforeCommit: (@Sendable (Database) throws -> Void)?

    /// Creates an integration.
    ///
    /// - Parameters:
    ///   - bootstrapSchema: Prepares a database before the first step of a run.
    ///   - verifyIntegrity: Replaces the runner's integrity checks.
    ///   - verifyPostMigration: Replaces all checks of the runner's own, after the last commit.
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
