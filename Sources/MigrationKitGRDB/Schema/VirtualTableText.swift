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

    /// The table or view that a full-text table reads its texts from, in lower case; `nil` if it has
    /// them itself, or none. <https://www.sqlite.org/fts5.html#external_content_tables>
    package var contentTable: String? { fullTextOption("CONTENT") }

    /// The column of it that gives the rowids, in lower case; `nil` if it isn't named.
    package var contentRowID: String? { fullTextOption("CONTENT_ROWID") }

    /// Whether it is one of FTS4 without texts: nothing can say whether its index is right.
    /// <https://www.sqlite.org/fts3.html#contentless_fts4_tables>
    package var cannotBeChecked: Bool { module == "fts4" && option("CONTENT")?.isEmpty == true }

    private func fullTextOption(_ name: String) -> String? {
        option(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    private func option(_ option: String) -> String? {
        guard ["fts3", "fts4", "fts5"].contains(module) else { return nil }
        let tokens = SQLTokens(arguments).tokens
        let place = tokens.indices.dropLast(2).first {
            tokens[$0].isWord(option) && tokens[$0 + 1].text == "="
        }
        return place.map { tokens[$0 + 2].name }
    }
}
