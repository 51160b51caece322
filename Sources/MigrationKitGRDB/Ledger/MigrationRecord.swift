import Foundation
import MigrationKit

/// What is recorded about an applied step.
public struct MigrationRecord: Equatable, Sendable {
    /// When it was applied, or recorded as applied; `nil` if that isn't known.
    public let appliedAt: Date?

    /// How long it took, in seconds; `nil` if it was recorded without running.
    public let seconds: Double?

    /// The step's checksum then, or the one that was accepted since.
    public let checksum: String?

    /// What the step means for versions of the program that don't know it; `nil` if that isn't known.
    public let older: OlderVersions?

    /// The SQL that takes the step back; `nil` if there is none.
    public let rollbackSQL: String?

    /// The version of the program that applied it, as it calls itself; `nil` if it didn't say.
    public let appVersion: String?
}
