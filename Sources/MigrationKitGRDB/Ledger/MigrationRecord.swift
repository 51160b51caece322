import Foundation

/// What is recorded about an applied step.
public struct MigrationRecord: Equatable, Sendable {
    /// When it was applied, or recorded as applied; `nil` if that isn't known.
    public let appliedAt: Date?

    /// How long it took, in seconds; `nil` if it was recorded without running.
    public let seconds: Double?

    /// The step's checksum then, or the one that was accepted since.
    public let checksum: String?
}
