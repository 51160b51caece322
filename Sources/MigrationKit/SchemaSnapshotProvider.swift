/// Something that can write down the schema which a list of migrations leads to.
public protocol SchemaSnapshotProvider<Snapshot> {
    /// The form of the snapshot, for example SQL text.
    associatedtype Snapshot

    /// Makes the snapshot. The same migrations always give the same one.
    ///
    /// - Returns: The snapshot.
    /// - Throws: Whatever kept the schema from being built or read.
    func generateCanonicalSnapshot() throws -> Snapshot
}
