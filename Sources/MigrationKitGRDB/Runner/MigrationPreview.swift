import MigrationKit

/// What a run would do.
public struct MigrationPreview: Equatable, Encodable, Sendable {
    /// The steps that would be applied, with the time that each took and the rows it changed.
    public let steps: [MigrationReport.Step]

    /// The schema before, as SQL.
    public let schemaBefore: String

    /// The schema after, as SQL.
    public let schemaAfter: String

    /// The tables, indexes, views and triggers that would be created, changed and dropped.
    public let objects: [ObjectChange]

    /// The steps that a run would apply after these, and that weren't tried: the first of them can't run in
    /// the transaction that a dry run undoes, and the others may need it.
    public internal(set) var notTried: [String] = []

    /// What happens to a table, index, view or trigger.
    public struct ObjectChange: Equatable, Encodable, Sendable {
        /// The kinds of change.
        public enum Kind: String, Equatable, Encodable, Sendable {
            /// The object is new.
            case created

            /// The object has another definition.
            case changed

            /// The object is gone.
            case dropped
        }

        /// What happens to the object.
        public let kind: Kind

        /// `table`, `index`, `view` or `trigger`.
        public let type: String

        /// The object's name.
        public let name: String

        private enum CodingKeys: String, CodingKey {
            case kind = "change"
            case type, name
        }
    }

    private enum CodingKeys: String, CodingKey {
        case steps = "wouldApply"
        case schemaBefore, schemaAfter, objects
    }
}
