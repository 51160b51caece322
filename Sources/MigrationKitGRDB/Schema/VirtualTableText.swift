/// The text of a `CREATE VIRTUAL TABLE` statement.
package struct VirtualTableText {
    /// The module's name, in lower case.
    package let module: String

    /// The module's arguments without meaningless differences; empty if it has none.
    package let arguments: String

    /// - Parameter text: `CREATE VIRTUAL TABLE name USING module (argument, ...)`.
    /// - Returns: `nil` if it isn't one.
    package init?(_ text: String) {
        let sql = SQLTokens(text)
        let tokens = sql.tokens
        guard let using = tokens.firstIndex(where: { $0.isWord("USING") }),
            using + 1 < tokens.count
        else { return nil }
        module = tokens[using + 1].name
        let open = using + 2
        guard open < tokens.count, tokens[open].text == "(" else {
            arguments = ""
            return
        }
        // The module reads the quotes itself: only around a simple name they mean nothing.
        arguments = tokens[open + 1..<max(open + 1, sql.end(ofGroupAt: open) - 1)]
            .map(\.exactMeaning).joined(separator: " ")
    }
}
