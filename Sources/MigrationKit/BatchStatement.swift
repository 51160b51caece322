/// A statement that can be limited to a range of the keys of one table.
package struct BatchStatement: Sendable {
    /// The table that is gone through: the one that is changed or, for an `INSERT`, the first one that
    /// its `SELECT` reads.
    package let table: String

    /// What it does to rows.
    package enum Verb: Sendable {
        case update, delete, insert
    }

    package let verb: Verb

    /// The table that is changed, folded.
    package let changed: String

    /// What the table that is gone through is called in the statement.
    package let qualifier: String
    /// Whether an `INSERT` reads others than the table that is gone through, as another table of a join.
    package let hasFurtherTables: Bool
    /// Up to the table.
    private let head: String
    /// From there to the condition.
    private let middle: String
    private let condition: String?
    /// What follows the condition.
    private let tail: String
    /// Of an `INSERT`, what it selects, up to the table; `nil` for other statements.
    private let selection: String?

    /// Reads a statement. Nothing is compiled.
    ///
    /// - Throws: A ``Obstacle`` that says what is in the way.
    package init(_ sql: String) throws(Obstacle) {
        let text = SQLTokens(sql)
        var tokens = text.tokens
        while tokens.last?.kind == .semicolon { tokens.removeLast() }
        let top = tokens.indices.filter { tokens[$0].depth == 0 && tokens[$0].kind == .word }
        let verbs = ["UPDATE", "DELETE", "INSERT", "REPLACE"]
        guard let verb = top.first(where: { place in verbs.contains { tokens[place].isWord($0) } }),
            let last = tokens.last, verb == 0 || tokens[0].isWord("WITH")
        else { throw Obstacle("it must be UPDATE, DELETE, or INSERT with SELECT") }
        try Self.check(tokens, top.filter { $0 > verb })

        var place = try Self.placeOfTable(tokens, top, verb: verb)
        func symbol(at place: Int) -> String? {
            tokens.indices.contains(place) ? tokens[place].text : nil
        }
        if symbol(at: place + 1) == "." {
            guard tokens[place].name == "main" else {
                throw Obstacle("its table isn't in the database")
            }
            place += 2
        }
        guard tokens.indices.contains(place), tokens[place].isName, symbol(at: place + 1) != "("
        else {
            throw Obstacle("its SELECT must read a table first, whose rows are taken in batches")
        }
        table = tokens[place].unquoted
        var alias: Int?
        if tokens.indices.contains(place + 1) {
            if tokens[place + 1].isWord("AS") {
                alias = place + 2
            } else if tokens[place + 1].isName, !Self.followsTable(tokens[place + 1]) {
                alias = place + 1
            }
        }
        qualifier = tokens[alias ?? place].text
        let end = (alias ?? place) + 1
        self.verb =
            switch tokens[verb].keyword {
            case "UPDATE": .update
            case "DELETE": .delete
            default: .insert
            }
        changed = Self.changed(tokens, self.verb, verb: verb) ?? tokens[place].name
        try Self.checkReading(tokens, of: self.verb, verb: verb, table: place, changed)
        let upsert = top.first {
            $0 > end && tokens[$0].isWord("ON") && $0 + 1 < tokens.count
                && tokens[$0 + 1].isWord("CONFLICT")
        }
        let filter = top.first { $0 >= end && $0 < upsert ?? .max && tokens[$0].isWord("WHERE") }
        let from = tokens[end - 1].range.upperBound
        let to = upsert.map { tokens[$0].range.lowerBound } ?? last.range.upperBound
        func source(_ range: Range<Int>) -> String {
            String(decoding: text.bytes[range], as: UTF8.self)
        }
        head = source(0..<from)
        middle = source(from..<(filter.map { tokens[$0].range.lowerBound } ?? to))
        hasFurtherTables =
            self.verb == .insert
            && !tokens[end..<(filter ?? upsert ?? tokens.endIndex)].isEmpty
        condition = filter.map { source(tokens[$0].range.upperBound..<to) }
        tail = source(to..<last.range.upperBound)
        let select = top.first { $0 > verb && tokens[$0].isWord("SELECT") }
        selection =
            self.verb == .insert
            ? select.map {
                source(0..<tokens[verb].range.lowerBound)
                    + source(tokens[$0].range.lowerBound..<from)
            } : nil
    }

    /// A query for whether an `INSERT` adds a row even if its tables have none: it selects an aggregate,
    /// perhaps of a subquery whose columns are the statement's own; `nil` for other statements.
    /// <https://www.sqlite.org/lang_aggfunc.html>
    package var addsRowOfNone: String? {
        selection.map { "SELECT EXISTS (\($0)\(middle)\nWHERE 0)" }
    }

    /// Why a statement can't be limited, as the end of a sentence.
    package struct Obstacle: Error {
        package let reason: String

        fileprivate init(_ reason: String) { self.reason = reason }
    }

    /// The statement for some of its rows.
    ///
    /// - Parameters:
    ///   - index: A clause that keeps SQLite from another way through the table than by the range.
    ///   - range: A condition, given what the table is called.
    package func sql(_ index: String, _ range: (_ qualifier: String) -> String) -> String {
        // A comment at the end of a line may stand before each.
        let wanted = condition.map { "(\($0)\n) AND " } ?? ""
        return "\(head) \(index)\(middle)\nWHERE \(wanted)\(range(qualifier))\n\(tail)"
    }

    /// A condition that holds if the statement is for a row of which another one holds. It can't be compiled
    /// if it is about further tables.
    package func isPending(where further: String) -> String {
        let wanted = condition.map { "(\($0)\n) AND " } ?? ""
        return
            "EXISTS (SELECT 1 FROM \(table.quotedName) AS \(qualifier) WHERE \(wanted)\(further))"
    }

    /// A condition that holds as long as the table has a row that the statement is for; `nil` if it is
    /// for all. It can't be compiled if it is about further tables.
    package var isPending: String? {
        condition.map {
            "EXISTS (SELECT 1 FROM \(table.quotedName) AS \(qualifier) WHERE \($0)\n)"
        }
    }

    // MARK: - Reading

    /// A batch sees what those before it have changed, so the statement must not read the table that it
    /// changes other than row by row. For an `INSERT`, it may ask whether a row is there.
    private static func checkReading(
        _ tokens: [SQLTokens.Token],
        of kind: Verb,
        verb: Int,
        table: Int,
        _ changed: String
    ) throws(Obstacle) {
        let isReplace =
            tokens[verb].isWord("REPLACE")
            || tokens[verb + 1].isWord("OR") && tokens[verb + 2].isWord("REPLACE")
        guard !isReplace else { throw Obstacle("REPLACE may delete other rows") }
        let name = tokens[table].name
        let isDefined = tokens[..<verb].indices.contains { place in
            tokens[place].depth == 0 && tokens[place].isName && tokens[place].name == name
        }
        guard !isDefined else {
            throw Obstacle("it must read a table first, whose rows are taken in batches")
        }
        for place in tokens.indices.dropFirst() where tokens[place].isName {
            guard tokens[place].name == changed, place != table || kind == .insert else { continue }
            let before = tokens[place - 1].text == "." && place > 2 ? place - 3 : place - 1
            let reads =
                ["FROM", "JOIN"].contains { tokens[before].isWord($0) }
                || tokens[before].text == "," && isInFrom(tokens, before)
            guard reads, kind != .insert || !isQuestion(tokens, place) else { continue }
            throw Obstacle(
                "it reads the table that it changes, and a batch sees the batches before it"
            )
        }
    }

    /// The table that an `INSERT` adds rows to.
    private static func changed(_ tokens: [SQLTokens.Token], _ kind: Verb, verb: Int) -> String? {
        guard kind == .insert else { return nil }
        let into = tokens[verb...].firstIndex { $0.isWord("INTO") } ?? verb
        let isQualified = into + 2 < tokens.count && tokens[into + 2].text == "."
        return tokens[min(into + (isQualified ? 3 : 1), tokens.count - 1)].name
    }

    /// Whether a comma stands between two tables.
    private static func isInFrom(_ tokens: [SQLTokens.Token], _ comma: Int) -> Bool {
        let words = ["SELECT", "FROM", "SET", "WHERE", "ON", "VALUES", "INTO"]
        let word = tokens[..<comma].last { token in
            token.depth == tokens[comma].depth && words.contains(where: token.isWord)
        }
        return word?.isWord("FROM") ?? false
    }

    /// Whether a table is read in `EXISTS (...)` or `IN (...)`.
    private static func isQuestion(_ tokens: [SQLTokens.Token], _ place: Int) -> Bool {
        let group = tokens[..<place].lastIndex {
            $0.text == "(" && $0.depth == tokens[place].depth - 1
        }
        guard let group, group > 0 else { return false }
        return tokens[group - 1].isWord("EXISTS") || tokens[group - 1].isWord("IN")
    }

    private static func placeOfTable(
        _ tokens: [SQLTokens.Token],
        _ top: [Int],
        verb: Int
    ) throws(Obstacle) -> Int {
        func isWord(_ word: String, at place: Int) -> Bool {
            tokens.indices.contains(place) && tokens[place].isWord(word)
        }
        switch tokens[verb].keyword {
        case "UPDATE": return isWord("OR", at: verb + 1) ? verb + 3 : verb + 1
        case "DELETE": return verb + 2
        default:
            guard let select = top.first(where: { $0 > verb && isWord("SELECT", at: $0) }),
                let from = top.first(where: { $0 > select && isWord("FROM", at: $0) })
            else { throw Obstacle("it must take its rows from a table, with SELECT") }
            guard !hasAggregate(tokens[(select + 1)..<from]) else {
                throw Obstacle("a batch can't compute what depends on all rows")
            }
            return from + 1
        }
    }

    /// What no range of the rows can do for all of them.
    private static func check(_ tokens: [SQLTokens.Token], _ places: [Int]) throws(Obstacle) {
        for place in places {
            let token = tokens[place]
            switch token.keyword {
            case "ORDER", "LIMIT":
                throw Obstacle(
                    "ORDER BY and LIMIT have no place in it: batches take their rows by the key"
                )
            case "RETURNING", "GROUP", "HAVING", "UNION", "INTERSECT", "EXCEPT", "DISTINCT",
                "WINDOW",
                "INDEXED":
                throw Obstacle("\(token.text.uppercased()) has no place in it")
            case "RIGHT", "FULL":
                let next = place + 1 < tokens.count ? tokens[place + 1].keyword : nil
                guard next != "JOIN", next != "OUTER" else {
                    throw Obstacle("its rows must come from the first table")
                }
            default: break
            }
        }
        let isParameter: (SQLTokens.Token) -> Bool = {
            $0.kind != .string && $0.kind != .quotedName
                && "?:@#$".contains($0.text.first ?? " ")
        }
        guard !tokens.contains(where: isParameter) else { throw Obstacle("it has a parameter") }
    }

    /// Whether what is selected depends on more than one row. <https://www.sqlite.org/lang_aggfunc.html>
    private static func hasAggregate(_ tokens: ArraySlice<SQLTokens.Token>) -> Bool {
        let names: Set<String> = [
            "avg", "count", "group_concat", "max", "median", "min", "percentile", "string_agg",
            "sum",
            "total", "json_group_array", "json_group_object", "jsonb_group_array",
            "jsonb_group_object",
        ]
        var place = tokens.startIndex
        /// The depth of a subquery, which may have some.
        var subquery: Int?
        while place < tokens.endIndex - 1 {
            let token = tokens[place]
            if let depth = subquery, token.depth <= depth { subquery = nil }
            if subquery == nil {
                if token.text == "(", tokens[place + 1].isWord("SELECT") { subquery = token.depth }
                if token.isWord("OVER") { return true }
                if token.isName, tokens[place + 1].text == "(", names.contains(token.name) {
                    let group = tokens[(place + 2)...].prefix { $0.depth > token.depth }
                    let hasOthers = group.contains { $0.text == "," && $0.depth == token.depth + 1 }
                    // Of several values, each row has its own.
                    if !hasOthers || !["max", "min"].contains(token.name) { return true }
                }
            }
            place += 1
        }
        return false
    }

    /// Whether a word follows the name of a table, and is no name for it.
    private static func followsTable(_ token: SQLTokens.Token) -> Bool {
        let words = [
            "CROSS", "INNER", "JOIN", "LEFT", "NATURAL", "NOT", "ON", "SET", "USING", "WHERE",
            "RIGHT",
            "FULL",
        ]
        return words.contains(where: token.isWord)
    }
}
