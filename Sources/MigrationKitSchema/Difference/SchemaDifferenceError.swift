import Foundation
import MigrationKitCommon

/// Why two schemas can't be compared, or no migration between them can be written.
public enum SchemaDifferenceError: Error, Equatable, Sendable {
    /// A rename names nothing that goes, or nothing that comes.
    case unknownRename(SchemaRename, reason: String)

    /// A new column is NOT NULL, and nothing gives it a value for existing rows.
    case needsBackfill(table: String, column: String)

    /// A backfill names no column of the wanted schema that gets a value.
    case unknownBackfill(String)

    /// SQLite refuses a statement of a schema or of the plan.
    case refused(object: String, reason: String)

    /// After the planned statements, this change is still to be made.
    case notReached(String)
}

extension SchemaDifferenceError: LocalizedError {
    /// What is wrong, missing or refused, in one line.
    public var errorDescription: String? {
        switch self {
        case .unknownRename(let rename, let reason): "can't rename \(rename): \(reason)"
        case .needsBackfill(let table, let column):
            "the new column \(table).\(column) is NOT NULL and has no value for existing rows"
        case .unknownBackfill(let name):
            "the backfill of \(name) has no use: it is no column that gets a value"
        case .refused(let object, let reason):
            "SQLite refuses \(object): \(reason)"
        case .notReached(let change):
            "the planned migration doesn't reach the wanted schema: \(change)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .unknownRename:
            "Rename a table or column that only the present schema has to one that only the wanted "
                + "schema has, such as notes.body=text."
        case .needsBackfill:
            "Give it a default in the wanted schema, or a backfill: an expression over the old row."
        case .unknownBackfill:
            "Name a column of the wanted schema as TABLE.COLUMN, in a table that changes."
        case .refused:
            """
            Correct it in the schema. Modules of the app must be registered in the configuration.
            """
        case .notReached:
            "Nothing was written. Please report both definitions."
        }
    }
}

extension SchemaDifferenceError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .unknownRename: ErrorCode("unknownRename", .usage)
        case .needsBackfill: ErrorCode("needsBackfill", .usage)
        case .unknownBackfill: ErrorCode("unknownBackfill", .usage)
        case .refused: ErrorCode("brokenSchema", .dataError)
        case .notReached: ErrorCode("migrationNotPlanned", .failed)
        }
    }
}
