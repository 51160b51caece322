/// Writes the schema that a list of migrations produces.
public protocol SchemaSnapshotProvider<Snapshot> {
    /// The form of the snapshot, for example SQL text.
    associatedtype Snapshot

    /// Makes the snapshot. The same migrations always give the same one.
    ///
    /// - Returns: The snapshot.
    /// - Throws: An error if the schema can't be built or read.
    func generateCanonicalSnapshot() throws -> Snapshot
}
