import Foundation

/// The state of every migration of a database at one moment.
public struct MigrationOverview: Equatable, Sendable {
    /// The identifiers of all applied steps, including those that the runner doesn't have.
    public let applied: Set<String>

    /// The identifiers of the steps that are not applied, in order.
    public let pending: [String]

    /// The identifiers of the pending steps that come before an applied one, in order; empty if the
    /// runner allows them.
    public let late: [String]

    /// The identifiers of the steps that were changed after they were applied, in order, and then of those
    /// that were changed after their batches had begun.
    public let changed: [String]

    /// The identifiers of the applied steps that are missing from the runner, sorted.
    public let missing: [String]

    /// The identifiers of the applied steps after the runner's last one, sorted: a newer program
    /// applied them, or they were renamed or deleted.
    public let newer: [String]

    /// What is recorded about the applied steps, by their identifiers.
    public let records: [String: MigrationRecord]

    /// The pending steps that are begun: their batches go on with the next run, unless they were changed.
    public let begun: [String: BegunMigration]
}

/// A step whose batches aren't all done.
public struct BegunMigration: Equatable, Sendable {
    /// When it began; `nil` if another program has written something else.
    public let since: Date?

    /// How many rows it has changed.
    public let rowsChanged: Int
}
