import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon

/// A statement of a migration that SQLite refused, with its place in the file.
///
/// The steps of a ``MigrationFolder`` throw it.
public struct SQLStatementError: Error, Equatable, Sendable {
    /// The name of the file.
    public let file: String

    /// The line in the file, from 1: that of the token which SQLite reports, otherwise the first
    /// line of the statement.
    public let line: Int

    /// The column of that token in characters, from 1; `nil` if SQLite reports none.
    public let column: Int?

    /// SQLite's message, such as `near "CREAT": syntax error`. It may contain values: the text of a
    /// `RAISE`, or of a `CHECK` constraint. The error's description doesn't.
    public let sqliteMessage: String

    /// SQLite's extended result code. Its `primaryResultCode` distinguishes a full disk or a locked
    /// database from a mistake in the SQL.
    ///
    /// See <https://www.sqlite.org/rescode.html>.
    public let resultCode: ResultCode

    /// The line's text.
    public let sourceLine: String

    /// What the statement does to which table, such as `ALTER TABLE notes`; `nil` if it names none.
    public let statement: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - file: The name of the file.
    ///   - line: The line in the file, from 1.
    ///   - column: The column in characters, from 1, if it is known.
    ///   - sqliteMessage: SQLite's message.
    ///   - resultCode: SQLite's extended result code.
    ///   - sourceLine: The line's text.
    ///   - statement: What the statement does to which table.
    public init(
        file: String,
        line: Int,
        column: Int?,
        sqliteMessage: String,
        resultCode: ResultCode,
        sourceLine: String,
        statement: String? = nil
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.sqliteMessage = sqliteMessage
        self.resultCode = resultCode
        self.sourceLine = sourceLine
        self.statement = statement
    }
}

extension SQLStatementError: LocalizedError {
    /// The place and SQLite's message, such as `0003_tags.sql:12:8: near "CREAT": syntax error`.
    /// Without the column if it isn't known, and without values.
    public var errorDescription: String? {
        let place = column.map { "\(line):\($0)" } ?? "\(line)"
        let message = SQLiteMessage(sqliteMessage, code: resultCode.rawValue)
        return "\(file):\(place): \(message.withoutValues)"
    }

    /// The line of the file, with a caret under the column if that is known. What it has in single
    /// quotes isn't shown, since it may be a secret.
    public var recoverySuggestion: String? {
        Excerpt(of: sourceLine.withoutStrings(), line: line, column: column).text
    }
}

extension SQLStatementError: CustomStringConvertible {
    /// The same as `errorDescription`.
    public var description: String {
        errorDescription ?? file
    }
}

extension SQLStatementError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        let code: ErrorCode? =
            switch resultCode.primaryResultCode {
            // What a step attaches itself has its name in the message; the journal hasn't.
            case .SQLITE_CANTOPEN where sqliteMessage != "unable to open database file": nil
            // The statement does what it may not.
            case .SQLITE_AUTH, .SQLITE_PERM: nil
            default: ErrorCode(sqlite: resultCode.rawValue)
            }
        return code ?? ErrorCode("failed", .failed)
    }
}
