import MigrationKit

/// The text of a `CREATE INDEX` statement.
package struct IndexText {
    package let sql: SQLTokens
    /// The tokens of each column or expression, without ASC and DESC.
    package let columns: [Range<Int>]
    /// The tokens of a partial index's condition.
    package let condition: Range<Int>?

    /// - Parameter text: `CREATE INDEX name ON table (column, ...) WHERE condition`.
    /// - Returns: `nil` if it isn't one.
    package init?(_ text: String) {
        sql = SQLTokens(text)
        let tokens = sql.tokens
        guard let open = tokens.firstIndex(where: { $0.text == "(" }) else { return nil }
        let end = sql.end(ofGroupAt: open)
        guard tokens[end - 1].text == ")", end - 1 > open else { return nil }
        columns = sql.items(open + 1..<end - 1).map { [tokens] item in
            let hasDirection = ["ASC", "DESC"].contains(where: tokens[item.upperBound - 1].isWord)
            return hasDirection ? item.dropLast() : item
        }
        guard !columns.contains(where: \.isEmpty) else { return nil }
        guard end < tokens.count else {
            condition = nil
            return
        }
        guard tokens[end].isWord("WHERE"), end + 1 < tokens.count else { return nil }
        condition = end + 1..<tokens.count
    }

    /// The columns and expressions as they are written.
    package var columnSources: [String] { columns.map(sql.source) }

    /// The condition as it is written.
    package var conditionSource: String? { condition.map(sql.source) }
}
