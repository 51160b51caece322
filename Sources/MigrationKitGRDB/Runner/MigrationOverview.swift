/// Where every migration of a database stands, as it was at one moment.
public struct MigrationOverview: Equatable, Sendable {
    /// The identifiers of all applied steps, also of those that the runner doesn't know.
    public let applied: Set<String>

    /// The identifiers of the steps that are not applied, in order.
    public let pending: [String]

    /// The identifiers of the pending steps that come before an applied one, in order; none where the
    /// runner applies them all the same.
    public let late: [String]

    /// The identifiers of the steps that were changed after they were applied, in order.
    public let changed: [String]

    /// The identifiers of the applied steps that the runner should have and hasn't, sorted.
    public let missing: [String]

    /// The identifiers of the applied steps that the runner doesn't know, sorted: a newer program
    /// does, or they were renamed or deleted.
    public let newer: [String]

    /// What is remembered of the applied steps, by their identifiers.
    public let records: [String: MigrationRecord]
}
