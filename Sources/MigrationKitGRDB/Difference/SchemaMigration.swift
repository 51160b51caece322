import GRDB

/// The statements that lead from one schema to another, and back, and lose nothing that wasn't
/// allowed to be lost.
public struct SchemaMigration: Sendable {
    /// The way to the wanted schema, without semicolons at the ends.
    public let up: [String]

    /// The way back.
    public let down: [String]

    /// What the way back can't bring back, each in a few words, such as `the rows of notes`.
    public let notBroughtBack: [String]

    /// What may lose or refuse rows on the way up.
    public let hazards: [SchemaHazard]

    /// Plans the way on a database in memory.
    ///
    /// - Parameters:
    ///   - difference: What differs.
    ///   - backfills: SQL expressions over the old row for columns of the wanted schema, such as
    ///     `["notes.n": "length(body)"]`.
    ///   - configuration: The configuration of the database in memory: the functions and collations
    ///     that the schemas use.
    /// - Throws: ``SchemaMigrationError``.
    public init(
        _ difference: SchemaDifference,
        backfills: [String: String] = [:],
        configuration: Configuration = Configuration()
    ) throws {
        up = []
        down = []
        notBroughtBack = []
        hazards = []
    }
}

/// A change that may lose rows or be refused because of rows.
public struct SchemaHazard: Hashable, Sendable {
    /// What may happen.
    public enum Kind: String, Sendable, CaseIterable {
        case dropsTable = "drops-table"
        case dropsColumn = "drops-column"
        case narrowsType = "narrows-type"
        case mayViolateNotNull = "may-violate-not-null"
        case mayViolateUnique = "may-violate-unique"
        case mayViolateCheck = "may-violate-check"
        case mayViolateForeignKey = "may-violate-foreign-key"
        case rewritesTable = "rewrites-table"
    }

    public let kind: Kind

    /// The table, by its name in the present schema.
    public let table: String

    /// The column; `nil` if the whole table is concerned.
    public let column: String?

    /// What may happen, in one sentence.
    public let message: String

    /// The way around it, usually in two steps.
    public let suggestion: String

    /// A query over the present database for the number of rows that are concerned; `nil` if it
    /// can't be asked.
    public let countQuery: String?
}

/// Why a migration between two schemas can't be written.
public enum SchemaMigrationError: Error, Equatable {
    /// A new column is NOT NULL, and nothing gives it a value for existing rows.
    case needsBackfill(table: String, column: String)

    /// A backfill names no column of the wanted schema that gets a value.
    case unknownBackfill(String)

    /// SQLite refuses a statement of the plan.
    case refused(object: String, reason: String)
}
