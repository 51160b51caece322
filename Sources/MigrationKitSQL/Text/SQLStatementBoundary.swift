import MigrationKit

/// Follows the tokens of a statement, and knows where it ends.
///
/// A statement ends with a semicolon, and `CREATE TRIGGER` with the semicolon behind the `END`
/// that itself follows a semicolon: the rule of
/// <https://www.sqlite.org/c3ref/complete.html>. So the `END` of a `CASE` ends nothing.
struct SQLStatementBoundary {
    private enum State {
        /// Nothing but space so far.
        case start
        /// Behind `EXPLAIN`, which may precede any statement.
        case explain
        /// Behind `CREATE`, with or without `TEMP`.
        case create
        /// In a statement that ends with the next semicolon.
        case plain
        /// In the body of a trigger, behind something other than a semicolon.
        case trigger
        /// In the body of a trigger, behind a semicolon.
        case triggerStatementEnd
        /// Behind the `END` of a trigger.
        case triggerEnd
    }

    private var state = State.start

    /// Whether a comment that comes now would stand inside a trigger's body.
    var isInTriggerBody: Bool {
        state == .trigger || state == .triggerStatementEnd
    }

    /// Whether the text may stop here: no trigger waits for its `END`.
    var isComplete: Bool {
        state == .start
    }

    /// Takes the next token. Space and comments change nothing.
    ///
    /// - Parameters:
    ///   - kind: The token's kind.
    ///   - word: The token in upper case, if it is a word.
    mutating func take(_ kind: SQLToken.Kind, word: String?) {
        switch kind {
        case .space, .lineComment, .blockComment: return
        case .semicolon: state = isInTriggerBody ? .triggerStatementEnd : .start
        case .word, .quoted, .symbol, .unterminated: state = next(word: word)
        }
    }

    private func next(word: String?) -> State {
        switch (state, word) {
        case (.start, "EXPLAIN"): .explain
        case (.start, "CREATE"), (.explain, "CREATE"): .create
        case (.explain, _): .explain
        case (.create, "TEMP"), (.create, "TEMPORARY"): .create
        case (.create, "TRIGGER"): .trigger
        case (.triggerStatementEnd, "END"): .triggerEnd
        case (.start, _), (.create, _), (.plain, _): .plain
        case (.trigger, _), (.triggerStatementEnd, _), (.triggerEnd, _): .trigger
        }
    }
}
