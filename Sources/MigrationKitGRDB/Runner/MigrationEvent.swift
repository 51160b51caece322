import MigrationKit

/// What a run reports while it is running.
public enum MigrationEvent: Equatable, Sendable {
    /// Whether steps are applied or undone.
    public enum Direction: Equatable, Sendable {
        /// Steps are applied.
        case forward

        /// Steps are rolled back.
        case back
    }

    /// Another process is migrating the database, with its process id if it is known. Reported
    /// once.
    case waiting(holder: Int32?)

    /// A run begins, and has something to do.
    case runStarted(direction: Direction, count: Int)

    /// A step begins: the `index`th, counted from 1, of `count` in this run.
    case stepStarted(identifier: String, direction: Direction, index: Int, count: Int)

    /// A step is still running; reported about ten times a second while a statement runs.
    case stepContinues(identifier: String, seconds: Double)

    /// How many rows the running step has changed; reported after `stepContinues`. Rows count when
    /// their statement has ended.
    case stepAdvanced(identifier: String, rowsChanged: Int)

    /// A step is done: committed or, if the run is all or nothing, ready for the commit.
    case stepFinished(MigrationReport.Step, direction: Direction)

    /// A step or its verification failed and was undone. What a step without a transaction did
    /// before it failed stays.
    case stepFailed(identifier: String, direction: Direction)

    /// A step failed after its commit, and wasn't undone: the system reported the error too late.
    /// If the run is all or nothing, this is its last step, and all of them are done. A power cut
    /// could still undo the changes.
    ///
    /// - `isDone`: `nil` if it is unknown whether the step is done: the ledger can't be read
    ///   either, or the next program may find the commit in the write-ahead log.
    case stepFailedLate(identifier: String, direction: Direction, isDone: Bool?)

    /// The database is being verified.
    case verifying

    /// A run that is all or nothing was undone, with these steps.
    case rolledBack(identifiers: [String])

    /// The run has succeeded.
    case runFinished(MigrationReport)
}
