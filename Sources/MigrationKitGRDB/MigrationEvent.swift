/// What a run tells while it goes on.
public enum MigrationEvent: Equatable, Sendable {
    /// Whether a step is applied or undone.
    public enum Direction: Equatable, Sendable {
        /// The step is applied.
        case forward

        /// The step is rolled back.
        case back
    }

    /// A step begins: the `index`th, counted from 1, of `count` in this run.
    case stepStarted(identifier: String, direction: Direction, index: Int, count: Int)

    /// A step is committed.
    case stepFinished(identifier: String, direction: Direction, seconds: Double)

    /// A step, or the verification that belongs to it, failed and is undone.
    case stepFailed(identifier: String, direction: Direction)

    /// The database is being verified.
    case verifying
}
