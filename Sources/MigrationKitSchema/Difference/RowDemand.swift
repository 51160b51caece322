/// What must hold for an old row to become a new one, and may not hold.
///
/// The difference of two schemas reports it as a hazard; the linter tries it on generated rows.
package struct RowDemand: Hashable, Sendable {
    /// What must hold.
    package enum Requirement: Sendable, CaseIterable {
        /// A value stays the same although its column's type changes.
        case fits
        case notNull
        case unique
        case check
        /// A value has a type that its column of a `STRICT` table takes.
        case types
        /// There is the row that a foreign key refers to.
        case parent

        /// The hazard, which has the name of the linter's rule.
        package var hazard: SchemaHazard.Kind {
            switch self {
            case .fits: .narrowsType
            case .notNull: .mayViolateNotNull
            case .unique: .mayViolateUnique
            case .check: .mayViolateCheck
            case .types: .mayViolateStrict
            case .parent: .mayViolateForeignKey
            }
        }
    }

    package let requirement: Requirement

    /// The table, by its old name.
    package let table: String

    /// The old column; `nil` if several are concerned, or a new one.
    package let column: String?

    /// The old columns on whose values it depends.
    package let columns: [String]

    /// The table that the rows must refer to, by its old name; `nil` for another requirement.
    package var parent: String?

    /// Whether the migration fails on rows that don't satisfy it. Otherwise it changes their values.
    package var isRefused = true

    /// What may happen, in one sentence that names tables and columns, and no value.
    package let message: String

    /// The same with the expression that the rows must satisfy; `nil` if there is none.
    package var detail: String?

    /// The way around it.
    package let suggestion: String

    /// A query over the old database for the number of rows that don't satisfy it, all of those that
    /// have the same key among them; `nil` if SQL can't say it.
    package let countQuery: String?
}
