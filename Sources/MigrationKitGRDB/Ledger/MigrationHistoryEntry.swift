import Foundation
import MigrationKit
import MigrationKitCommon

/// Something that was done to the migrations of a database.
public struct MigrationHistoryEntry: Equatable, Sendable {
    /// What was done.
    public enum Event: String, Equatable, Sendable, CaseIterable {
        /// The step ran.
        case applied

        /// The step's batches began. An entry says when they were done.
        case begun

        /// The step was rolled back.
        case rolledBack

        /// The step was recorded as applied without running: by a baseline, or because another tool
        /// had run it.
        case recorded

        /// The step's new text was accepted instead of the one that ran.
        case repaired

        /// The step was renamed. The entry of the new name (``recorded``) comes next.
        case renamed

        /// The step was removed from the ledger without being undone.
        case forgotten
    }

    /// The step's identifier.
    public let identifier: String

    /// What was done.
    public let event: Event

    /// When it was done.
    public let time: Date

    /// How long it took, in seconds; `nil` if nothing ran.
    public let seconds: Double?

    /// The step's checksum at that time; `nil` if it has none.
    public let checksum: String?

    /// What the step means for versions of the program that don't know it; `nil` if nothing was
    /// applied, or that isn't known.
    public let older: OlderVersions?

    /// The SQL that takes the step back; `nil` if nothing was applied, or there is none.
    public let rollbackSQL: String?

    /// The version of the program that did it, as it calls itself; `nil` if it didn't say.
    public let appVersion: String?

    /// The backup that has what a downgrade has deleted; `nil` if there is none.
    public let backup: String?
}

extension MigrationHistoryEntry: Encodable {
    /// Encodes the entry. Its time is in the form of ISO 8601, in UTC.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "identifier": identifier, "event": event.rawValue, "time": time.iso8601,
            "seconds": seconds, "checksum": checksum, "older": older,
            "appVersion": appVersion, "backup": backup,
        ])
    }
}
