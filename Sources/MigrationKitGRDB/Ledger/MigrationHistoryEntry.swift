import Foundation

/// Something that was done to the migrations of a database.
public struct MigrationHistoryEntry: Equatable, Sendable {
    /// What was done.
    public enum Event: String, Equatable, Sendable, CaseIterable {
        /// The step ran.
        case applied

        /// The step was taken back.
        case rolledBack

        /// The step was noted as applied without running: a baseline, or another tool's doing.
        case recorded

        /// The text that the step has now was accepted in place of the one that ran.
        case repaired

        /// The ledger's entry was given to a step of another name, whose own entry
        /// (``recorded``) comes next.
        case renamed

        /// The step was taken out of the ledger, without anything being undone.
        case forgotten
    }

    /// The step's identifier.
    public let identifier: String

    /// What was done.
    public let event: Event

    /// When it was done.
    public let time: Date

    /// How long it took, in seconds; `nil` where nothing ran.
    public let seconds: Double?

    /// The step's checksum at that time; `nil` where it has none, or none any more.
    public let checksum: String?
}
