/// Other processes use a store. The run comes back to it after the others.
public struct BusyStore: Error {
    /// That a store is busy.
    public init() {}
}
