/// How far a run is, after a store.
public struct FleetEvent: Sendable {
    /// The store that is done.
    public let store: FleetStore
    /// How many are done, well or not.
    public let done: Int
    /// How many of these failed.
    public let failed: Int
    /// How many there are.
    public let count: Int
}
