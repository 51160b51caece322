import Foundation
import GRDB

/// A statement of a migration that SQLite refused, with its place in the file.
///
/// A step of a ``MigrationFolder`` throws it.
public struct SQLStatementError: Error, Equatable, Sendable {
    /// The name of the file.
    public let file: String

    /// The line in the file, from 1: of the token that SQLite stumbled over, if it named one,
    /// and of the statement's beginning otherwise.
    public let line: Int

    /// The column of that token in characters, from 1; `nil` if SQLite named none.
    public let column: Int?

    /// What SQLite said, such as `near "CREAT": syntax error`.
    public let sqliteMessage: String

    /// SQLite's extended result code. Its `primaryResultCode` tells a full disk or a locked
    /// database from a mistake in the SQL.
    ///
    /// See <https://www.sqlite.org/rescode.html>.
    public let resultCode: ResultCode

    /// The line's text.
    public let sourceLine: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - file: The name of the file.
    ///   - line: The line in the file, from 1.
    ///   - column: The column in characters, from 1, if it is known.
    ///   - sqliteMessage: What SQLite said.
    ///   - resultCode: SQLite's extended result code.
    ///   - sourceLine: The line's text.
    public init(
        file: String,
        line: Int,
        column: Int?,
        sqliteMessage: String,
        resultCode: ResultCode,
        sourceLine: String
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.sqliteMessage = sqliteMessage
        self.resultCode = resultCode
        self.sourceLine = sourceLine
    }
}

extension SQLStatementError: LocalizedError {
    /// The place and SQLite's message, such as `0003_tags.sql:12: near "CREAT": syntax error`.
    public var errorDescription: String? {
        "\(file):\(line): \(sqliteMessage)"
    }

    /// The line of the file, with a caret under the column if that is known.
    public var recoverySuggestion: String? {
        let gutter = "\(line) | "
        let excerpt = Excerpt(of: sourceLine, column: column)
        guard let caret = excerpt.caret else { return gutter + excerpt.text }
        return gutter + excerpt.text + "\n"
            + String(repeating: " ", count: gutter.count - 2) + "| " + caret
    }
}

extension SQLStatementError: CustomStringConvertible {
    /// The same as `errorDescription`.
    public var description: String {
        errorDescription ?? file
    }
}

/// As much of a line as fits a terminal, around a column.
private struct Excerpt {
    let text: String
    let caret: String?

    init(of line: String, column: Int?) {
        let width = 68
        let index = (column ?? 1) - 1
        let dropped = index < width ? 0 : index - width / 2
        // A tab would put the caret somewhere else on every terminal.
        text = String(line.dropFirst(dropped).prefix(width).map { $0 == "\t" ? " " : $0 })
        caret = column.map { _ in String(repeating: " ", count: index - dropped) + "^" }
    }
}
