import MigrationKitGRDB

// What a statement with a SELECT reads, from its words.

extension ParsedStatement {
    /// Whether a conflict fails whatever the table says: `INSERT OR ABORT` and its like.
    /// <https://www.sqlite.org/lang_conflict.html>
    var refusesConflicts: Bool {
        guard case .insert(_, let conflict?) = kind else { return false }
        return ["ABORT", "FAIL", "ROLLBACK"].contains(conflict)
    }

    /// `INSERT OR IGNORE`, `OR REPLACE` or `ON CONFLICT ... DO NOTHING`.
    var hasConflictClause: Bool {
        guard case .insert(_, let conflict) = kind else { return false }
        let isUpsert = zip(words, words.dropFirst()).contains {
            $0.depth == 0 && $0.keyword == "DO" && $1.keyword == "NOTHING"
        }
        return isUpsert || ["IGNORE", "REPLACE"].contains(conflict)
    }

    /// Whether a `SELECT` may leave rows out.
    var filtersRows: Bool {
        let outer = words.filter { $0.depth == 0 }
        let filters: Set = ["DISTINCT", "GROUP", "HAVING", "LIMIT", "INTERSECT", "EXCEPT"]
        return outer.indices.contains { place in
            guard let keyword = outer[place].keyword else { return false }
            let next = outer.indices.contains(place + 1) ? outer[place + 1].text.uppercased() : nil
            switch keyword {
            // SQLite's own advice before an upsert: https://www.sqlite.org/lang_upsert.html
            case "WHERE": return !["TRUE", "1"].contains(next)
            case "JOIN": return !outer[..<place].suffix(2).contains { $0.keyword == "LEFT" }
            default: return filters.contains(keyword)
            }
        }
    }

    /// Whether a query in it, at any depth, may give fewer rows than it reads.
    var mayLeaveOutRows: Bool {
        let filters: Set = [
            "WHERE", "JOIN", "DISTINCT", "GROUP", "HAVING", "LIMIT", "INTERSECT", "EXCEPT",
        ]
        return words.indices.contains { place in
            guard let keyword = words[place].keyword else { return false }
            guard keyword == "UNION" else { return filters.contains(keyword) }
            return !words.indices.contains(place + 1) || words[place + 1].keyword != "ALL"
        }
    }

    /// The words after the first `SELECT` that isn't in parentheses, that one included.
    private var selection: ArraySlice<SQLTokens.Token> {
        words.drop { $0.depth > 0 || $0.keyword != "SELECT" }
    }

    /// The words between that `SELECT` and its `FROM`.
    private var selectList: ArraySlice<SQLTokens.Token> {
        selection.dropFirst().prefix { $0.depth > 0 || $0.keyword != "FROM" }
    }

    /// The query of an `INSERT ... SELECT`; `nil` if it uses what comes before it.
    func query(in text: String) -> String? {
        hasKeywordAnywhere("WITH") ? nil : text.part(selection)
    }

    /// The condition of an `UPDATE` or `DELETE`; `nil` without one.
    func condition(in text: String) -> String? {
        let rest = words.drop { $0.depth > 0 || $0.keyword != "WHERE" }.dropFirst()
        let ends: Set = ["ORDER", "LIMIT", "RETURNING"]
        return text.part(rest.prefix { $0.depth > 0 || !ends.contains($0.keyword ?? "") })
    }

    /// The words between the `SET` of an `UPDATE` and its `WHERE`.
    private var assignments: ArraySlice<SQLTokens.Token> {
        words.drop { $0.keyword != "SET" }.dropFirst()
            .prefix { $0.depth > 0 || $0.keyword != "WHERE" }
    }

    /// Whether an `UPDATE` sets something else than literals.
    var setsMoreThanLiterals: Bool {
        zip(assignments, assignments.dropFirst()).contains { word, next in
            word.text == "=" && !(next.isLiteral || ["-", "NULL"].contains(next.text.uppercased()))
        } || assignments.contains { $0.text == "(" }
    }

    /// Whether a `SELECT` joins rows, or computes something with them.
    var joinsOrComputes: Bool {
        hasKeywordAnywhere("JOIN")
            || selectedValues?.contains { $0.column == nil && $0.text.contains("(") } ?? false
    }

    /// Whether it gives a column's value, or what is computed with it, to another one.
    func passesOn(_ column: String) -> Bool {
        if case .update = kind {
            return assignments.contains { $0.name.isSameName(as: column) }
        }
        return selectList.contains { $0.text == "*" || $0.name.isSameName(as: column) }
    }

    /// What a `SELECT` lists for a column.
    struct SelectedValue {
        /// The column, if it is one without an expression.
        var column: String?
        /// The column of `CAST(column AS ...)`.
        var castColumn: String?
        /// Its text, without the names of tables.
        var text = ""
    }

    /// What a `SELECT` lists.
    ///
    /// - Returns: `nil` for `*`.
    var selectedValues: [SelectedValue]? {
        let elements = selectList.split(omittingEmptySubsequences: false) {
            $0.depth == 0 && $0.text == ","
        }
        if elements.count == 1, elements[0].last?.text == "*" { return nil }
        return elements.map { element in
            let element =
                ["DISTINCT", "ALL"].contains(element.first?.keyword) ? element.dropFirst() : element
            let isRenamed = element.dropLast().last.map { $0.depth == 0 && $0.keyword == "AS" }
            let all = Array(isRenamed == true ? element.dropLast(2) : element)
            let words = all.indices.filter { place in
                let isTable = place + 1 < all.count && all[place + 1].text == "."
                return !isTable && all[place].text != "."
            }.map { all[$0] }
            let isName =
                words.count == 1 && !words[0].isLiteral
                && !Self.values.contains(words[0].keyword ?? "")
            let isCast =
                words.count > 3 && words[0].keyword == "CAST" && words[3].keyword == "AS"
            return SelectedValue(
                column: isName ? words[0].unquoted : nil,
                castColumn: isCast ? words[2].unquoted : nil,
                text: words.map(\.text).joined(separator: " ")
            )
        }
    }

    private static let values: Set = [
        "NULL", "TRUE", "FALSE", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
    ]

    /// For each element of a `SELECT` the column, if it is one without an expression.
    ///
    /// - Returns: `nil` for `*`.
    var selectedColumns: [String?]? { selectedValues?.map(\.column) }

    /// Whether the list of a `SELECT` has the column only in expressions such as `f(column)`.
    func computes(with column: String) -> Bool {
        let places = selectList.filter { $0.name.isSameName(as: column) }
        return !places.isEmpty && places.allSatisfy { $0.depth > 0 }
    }

    /// Whether it has `CAST(column AS ...)`.
    func casts(_ column: String) -> Bool {
        zip(words, words.dropFirst(2)).contains {
            $0.keyword == "CAST" && $1.name.isSameName(as: column)
        }
    }
}

extension String {
    /// The text of a statement from the first to the last of some of its words; `nil` without any.
    fileprivate func part(_ words: ArraySlice<SQLTokens.Token>) -> String? {
        guard let first = words.first, let last = words.last else { return nil }
        return String(
            decoding: Array(utf8)[first.range.lowerBound..<last.range.upperBound],
            as: UTF8.self
        )
    }
}
