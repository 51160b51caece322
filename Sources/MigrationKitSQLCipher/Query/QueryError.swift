import Foundation
import MigrationKitCommon

/// Why a person's own SQL doesn't run.
package enum QueryError: Error, Equatable, Sendable {
    /// What the SQL wanted to do, and may not.
    package enum Refusal: Equatable, Sendable {
        /// Change something, with an access that only reads.
        case write
        /// Change the schema, or the file as a whole.
        case schema
        /// Change the record of migrations.
        case ledger
        /// Change a table that SQLite keeps for itself, such as `sqlite_sequence`.
        case ownTable
        /// Begin or end a transaction.
        case transaction
        /// Attach or detach a file.
        case otherFile
        case pragma(String)
        case function(String)
    }

    case refused(Refusal)

    /// SQLite can't compile it. The line is that of the mistake, if the text has several.
    case invalid(String, line: Int?)

    /// It failed while it ran.
    case failed(String)

    /// It makes or reads a text or a blob that is larger than allowed.
    case tooLarge

    /// The changes leave a reference to a row that doesn't exist.
    case foreignKeys
}

extension QueryError: LocalizedError {
    package var errorDescription: String? {
        switch self {
        case .refused(.write): "the SQL would change the database"
        case .refused(.schema): "the SQL would change the schema or the whole file"
        case .refused(.ledger): "the SQL would change the record of migrations"
        case .refused(.ownTable): "the SQL would change a table of SQLite's own"
        case .refused(.transaction): "the SQL begins or ends a transaction"
        case .refused(.otherFile): "the SQL attaches or detaches a file"
        case .refused(.pragma(let name)): "PRAGMA \(name) is not allowed here"
        case .refused(.function(let name)): "the function \(name)() is not allowed here"
        case .invalid(let message, let line):
            "the SQL can't be used: \(message)" + (line.map { " (line \($0))" } ?? "")
        case .failed(let message): "the SQL failed: \(message)"
        case .tooLarge: "a value is too large"
        case .foreignKeys:
            "the SQL failed: a foreign key would refer to a row that does not exist"
        }
    }

    package var recoverySuggestion: String? {
        switch self {
        case .refused(.write):
            "To change rows, use --write. --dry-run shows how many, and undoes it."
        case .refused(.schema):
            "A change of the schema is a migration: 'create' writes its file, and 'migrate' applies it."
        case .refused(.ledger): "Use 'baseline', 'repair', 'rollback' or 'migrate'."
        case .refused(.ownTable): "A migration may, if it must be."
        case .refused(.transaction): "The SQL of --write runs in one transaction already."
        case .refused(.otherFile), .refused(.function):
            "The SQL can use only the database that was opened."
        case .refused(.pragma): "Only pragmas that show something and change nothing are."
        case .invalid: "'tables' lists the tables and views."
        case .tooLarge:
            """
            Select less: length(column) is the size, substr(column, 1, 1000) the beginning. Or \
            allow more with --largest-value.
            """
        case .failed, .foreignKeys: nil
        }
    }
}

extension QueryError: CodedError {
    package var code: ErrorCode {
        switch self {
        case .refused: ErrorCode("sqlRefused", .usage)
        case .invalid: ErrorCode("sqlInvalid", .usage)
        case .failed, .tooLarge, .foreignKeys: ErrorCode("sqlFailed", .failed)
        }
    }
}
