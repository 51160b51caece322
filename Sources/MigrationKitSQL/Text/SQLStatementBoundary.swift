import MigrationKit

/// Follows the tokens of a statement, and finds its end.
///
/// A statement ends with a semicolon. `CREATE TRIGGER` ends with the semicolon after an `END` that
/// itself follows a semicolon, as in <https://www.sqlite.org/c3ref/complete.html>. So the `END` of
/// a `CASE` doesn't end it.
struct SQLStatementBoundary {
    private enum State {
        /// Only spaces so far.
        case start
        /// After `EXPLAIN`, which may precede any statement.
        case explain
        /// After `CREATE`, with or without `TEMP`.
        case create
        /// In a statement that ends with the next semicolon.
        case plain
        /// In the body of a trigger, not after a semicolon.
        case trigger
        /// In the body of a trigger, after a semicolon.
        case triggerStatementEnd
        /// After the `END` of a trigger.
        case triggerEnd
    }

    private var state = State.start

    /// Whether a comment at this point is inside a trigger's body.
    var isInTriggerBody: Bool {
        state == .trigger || state == .triggerStatementEnd
    }

    /// Whether the text may end here: no trigger is waiting for its `END`.
    var isComplete: Bool {
        state == .start
    }

    /// Processes the next token. Spaces and comments change nothing.
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
