/// Why a step can't be part of an all-or-nothing run.
public enum MigrationBatchObstacle: Equatable, Sendable {
    /// It runs outside of a transaction.
    case usesNoTransaction

    /// It needs foreign keys checked by every statement, and another step of the run needs them
    /// off. SQLite can't change that inside a transaction.
    case mixedForeignKeyChecks
}
