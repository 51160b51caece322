import GRDB
import MigrationKit

extension MigrationStep<Database> {
    /// Creates a step that changes many rows, a batch at a time.
    ///
    /// - Parameters:
    ///   - identifier: The unique name of the step, such as `0007_sizes`.
    ///   - sourceFile: The file that defines it; by default the one that calls this.
    ///   - batches: The statements, in the order in which they run.
    ///   - foreignKeyChecks: When foreign keys are checked, once all batches are done.
    ///   - checksum: A text that changes whenever the step's effect changes.
    ///   - older: Whether versions that don't know the step work with its result; `nil` to let the
    ///     runner judge.
    ///   - rollbackSQL: The statements that undo the change, in one transaction. They are kept in the
    ///     database. Without `rollback`, a rollback runs them, too.
    ///   - requirements: What must hold before the first batch.
    ///   - checks: What must hold after the last one.
    ///   - rollback: Undoes the change, if that is possible.
    public init(
        identifier: String,
        sourceFile: String = #fileID,
        batched batches: [MigrationBatch],
        foreignKeyChecks: MigrationForeignKeyChecks = .deferred,
        checksum: String? = nil,
        older: OlderVersions? = nil,
        rollbackSQL: String? = nil,
        requirements: [CheckQuery] = [],
        checks: [CheckQuery] = [],
        rollback: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.init(
            identifier: identifier,
            sourceFile: sourceFile,
            foreignKeyChecks: foreignKeyChecks,
            checksum: checksum,
            older: older,
            rollbackSQL: rollbackSQL,
            requirements: requirements,
            checks: checks,
            batches: batches,
            apply: { db in for batch in batches { try db.execute(sql: batch.sql) } },
            rollback: rollback
        )
    }
}
