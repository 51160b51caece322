import MigrationKitCommon

/// A change that may lose rows or be refused because of rows.
public struct SchemaHazard: Hashable, Sendable {
    /// The kinds of hazards, by the names under which they are allowed. A hazard that the linter finds
    /// has its rule's name; it has none for `reusesRowIDs` and `rewritesTable`, by which nothing is
    /// lost.
    public enum Kind: String, Sendable, CaseIterable {
        case dropTable = "drop-table"
        case dropColumn = "drop-column"
        case narrowsType = "narrows-type"
        case mayViolateNotNull = "may-violate-not-null"
        case mayViolateUnique = "may-violate-unique"
        case mayViolateCheck = "may-violate-check"
        case mayViolateStrict = "may-violate-strict"
        case mayViolateForeignKey = "may-violate-foreign-key"
        case reusesRowIDs = "reuses-rowids"
        case rewritesTable = "rewrites-table"
    }

    /// What may happen.
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

extension SchemaHazard.Kind {
    /// Whether the migration fails if rows are as the hazard says.
    package var mayRefuseRows: Bool {
        switch self {
        case .narrowsType, .mayViolateNotNull, .mayViolateUnique, .mayViolateCheck,
            .mayViolateStrict, .mayViolateForeignKey:
            true
        case .dropTable, .dropColumn, .reusesRowIDs, .rewritesTable: false
        }
    }

    /// Whether values aren't what they were.
    package var losesValues: Bool {
        switch self {
        case .dropTable, .dropColumn, .narrowsType: true
        case .mayViolateNotNull, .mayViolateUnique, .mayViolateCheck, .mayViolateStrict,
            .mayViolateForeignKey, .reusesRowIDs, .rewritesTable:
            false
        }
    }
}

extension SchemaHazard: Encodable {
    /// Encodes the hazard, without the query.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": kind.rawValue, "table": table, "column": column, "message": message,
            "suggestion": suggestion,
        ])
    }
}
