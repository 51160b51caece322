import MigrationKit

/// What a run reports while it goes on.
public enum MigrationEvent: Equatable, Sendable {
    /// Whether steps are applied or undone.
    public enum Direction: Equatable, Sendable {
        /// Steps are applied.
        case forward

        /// Steps are rolled back.
        case back
    }

    /// Another process is migrating the database; its number, if it is known. Reported once.
    case waiting(holder: Int32?)

    /// A run begins that has something to do.
    case runStarted(direction: Direction, count: Int)

    /// A step begins: the `index`th, counted from 1, of `count` in this run.
    case stepStarted(identifier: String, direction: Direction, index: Int, count: Int)

    /// A step goes on; reported about ten times a second while a statement runs.
    case stepContinues(identifier: String, seconds: Double)

    /// How many rows the step that goes on has changed; reported behind `stepContinues`. Rows count
    /// when their statement is done.
    case stepAdvanced(identifier: String, rowsChanged: Int)

    /// A step is done: committed, or for a run that is all or nothing, ready to be.
    case stepFinished(MigrationReport.Step, direction: Direction)

    /// A step, or the verification that belongs to it, failed and is undone. What a step without a
    /// transaction did before it failed stays.
    case stepFailed(identifier: String, direction: Direction)

    /// A step failed at its commit and isn't undone: the system reported the error after the commit.
    /// If the run is all or nothing, this is its last step, and all of them are done. The changes may
    /// not survive a loss of power.
    ///
    /// - `isDone`: `nil` if it can't be told whether the step is done or undone: the ledger can't be
    ///   read either, or the next program may find the commit in the write-ahead log.
    case stepFailedLate(identifier: String, direction: Direction, isDone: Bool?)

    /// The database is being verified.
    case verifying

    /// A run that is all or nothing is undone, with the steps that were done in it.
    case rolledBack(identifiers: [String])

    /// The run has ended well.
    case runFinished(MigrationReport)
}
