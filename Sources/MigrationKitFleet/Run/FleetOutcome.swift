/// What became of a store in a run.
public enum FleetOutcome<Value: Sendable>: Sendable {
    /// The work is done.
    case done(Value)
    /// The work failed. The error says in what state the store is.
    case failed(any Error)
    /// The run was cancelled during the work. What was not committed is undone.
    case interrupted
    /// The run ended before this store was started.
    case notStarted
}
