import GRDB
import MigrationKit

/// What an `INSERT` asks about the table that it adds rows to, in `EXISTS (...)` and `IN (...)`.
///
/// Its rows don't depend on each other if each asks for the row that it adds itself, by its own key. As a
/// whole, the statement asks before it adds any.
struct BatchQuestions {
    private let tokens: [SQLTokens.Token]
    private let statement: BatchStatement
    /// The table that is gone through, and the one that rows are added to.
    private let walked: TableShape?
    private let changed: TableShape?
    /// The names of the one that is gone through, folded.
    private let owners: [String]
    /// The columns that rows are added with, folded, and what is selected for each.
    let added: [String: String]
    private let columns: Set<String>

    init(
        _ tokens: [SQLTokens.Token],
        _ statement: BatchStatement,
        walked: TableShape?,
        changed: TableShape?,
        in db: Database
    ) throws {
        (self.tokens, self.statement) = (tokens, statement)
        (self.walked, self.changed) = (walked, changed)
        owners = [statement.qualifier.unquotedName.foldedName, statement.table.foldedName]
        let names = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_info(?, 'main')",
            arguments: [statement.changed]
        ).map(\.foldedName)
        columns = Set(names)
        added = Self.added(tokens, owners, names)
    }

    private static func added(
        _ tokens: [SQLTokens.Token],
        _ owners: [String],
        _ columns: [String]
    ) -> [String: String] {
        guard
            let into = tokens.firstIndex(where: { $0.isWord("INTO") }),
            let select = tokens.indices.first(where: {
                $0 > into && tokens[$0].depth == 0 && tokens[$0].isWord("SELECT")
            }),
            let from = tokens.indices.first(where: {
                $0 > select && tokens[$0].depth == 0 && tokens[$0].isWord("FROM")
            })
        else { return [:] }
        let list = tokens[into..<select].filter { $0.depth == 1 && $0.isName }.map(\.name)
        var items: [[SQLTokens.Token]] = [[]]
        for token in tokens[(select + 1)..<from] {
            if token.depth == 0, token.text == "," {
                items.append([])
            } else {
                items[items.count - 1].append(token)
            }
        }
        // Nobody counts how many columns a star stands for.
        guard !items.contains(where: { $0.last?.text == "*" }) else { return [:] }
        let texts = items.map { text($0.prefix { !$0.isWord("AS") }, without: owners) }
        return Dictionary(zip(list.isEmpty ? columns : list, texts)) { first, _ in first }
    }

    /// An expression without the name of the table that is gone through.
    private static func text(
        _ tokens: ArraySlice<SQLTokens.Token>,
        without owners: [String]
    ) -> String {
        let isOwner = tokens.count > 1 && tokens.dropFirst().first?.text == "."
        let isOwn = isOwner && tokens.first.map { owners.contains($0.name) } == true
        return tokens.dropFirst(isOwn ? 2 : 0).map(\.meaning).joined(separator: " ")
    }

    /// Whether rows ask only for themselves.
    var areAboutOwnRows: Bool {
        tokens.indices.dropFirst().allSatisfy { place in
            guard tokens[place].isName, tokens[place].name == statement.changed else { return true }
            let before = tokens[place - 1].text == "." && place > 2 ? place - 3 : place - 1
            guard tokens[before].isWord("FROM") || tokens[before].isWord("JOIN") else {
                return true
            }
            return isAboutOwnRow(place)
        }
    }

    /// - Parameter place: That of the table in the question.
    private func isAboutOwnRow(_ place: Int) -> Bool {
        let depth = tokens[place].depth
        guard
            let open = tokens[..<place].lastIndex(where: { $0.text == "(" && $0.depth == depth - 1 }
            ),
            open > 0
        else { return false }
        let group = tokens[(open + 1)...].prefix { $0.depth >= depth }
        // Its names: that of the table, and another.
        let alias = tokens[(place + 1)...].first { !$0.isWord("AS") }
        let names = [statement.changed, alias?.name ?? ""]
        // A table of the question may have the name of the one that is gone through. Then what looks like the
        // own row's column is its own.
        func namesTable(_ index: Int) -> Bool {
            let before = tokens[index - 1]
            return before.text == "," || ["FROM", "JOIN", "AS"].contains(where: before.isWord)
        }
        let isShadowed = group.indices.contains { index in
            // Also as an alias without AS.
            owners.contains(tokens[index].name) && (namesTable(index) || namesTable(index - 1))
                && !["WHERE", "ON"].contains(where: tokens[index].isWord)
                && tokens[index - 1].text != "."
        }
        guard !isShadowed else { return false }
        typealias Tokens = ArraySlice<SQLTokens.Token>
        /// `takesNull`: whether the answer is another one as soon as a row with NULL is there.
        var pairs: [(asked: Tokens, own: Tokens, takesNull: Bool)] = []
        if tokens[open - 1].isWord("IN") {
            let end = tokens[open - 2].isWord("NOT") ? open - 2 : open - 1
            let stops = ["WHERE", "AND", "ON"]
            let begin = tokens[..<end].lastIndex { token in stops.contains(where: token.isWord) }
            let item = group.dropFirst().prefix { !$0.isWord("FROM") }
            pairs.append((item, tokens[((begin ?? end - 1) + 1)..<end], true))
        } else {
            guard let filter = group.firstIndex(where: { $0.depth == depth && $0.isWord("WHERE") })
            else { return false }
            let condition = group[(filter + 1)...]
            guard !condition.contains(where: { $0.isWord("OR") }) else { return false }
            for part in condition.split(whereSeparator: { $0.depth == depth && $0.isWord("AND") }) {
                let sides = part.split {
                    $0.depth == depth && ["=", "=="].contains($0.text) || $0.isWord("IS")
                }
                guard sides.count == 2 else { continue }
                let takesNull = part.contains { $0.isWord("IS") }
                pairs += [(sides[0], sides[1], takesNull), (sides[1], sides[0], takesNull)]
            }
        }
        guard let walked, let changed else { return false }
        let keys = pairs.compactMap { asked, own, takesNull -> String? in
            guard let column = column(asked, of: names),
                added[column] == Self.text(own, without: owners),
                let key = key(own), changed.keepsApart(column, from: key, of: walked)
            else { return nil }
            if walked.rowidNames.contains(key) { return key }
            // What is added to a text would make numbers of it, and NULLs are equal rows.
            let isPlain = own.allSatisfy { !["+", "-"].contains($0.text) }
            let hasNull = takesNull && !walked.required.contains(key)
            return isPlain && !hasNull && !walked.hasCollation ? key : nil
        }
        return keys.contains(where: walked.rowidNames.contains)
            || walked.keys.contains { !$0.columns.isEmpty && $0.columns.isSubset(of: keys) }
    }

    /// The column of the table that is asked about.
    private func column(_ tokens: ArraySlice<SQLTokens.Token>, of names: [String]) -> String? {
        let tokens = Array(tokens)
        guard let last = tokens.last, columns.contains(last.name) else { return nil }
        switch tokens.count {
        case 1: return last.name
        case 3 where tokens[1].text == "." && names.contains(tokens[0].name): return last.name
        default: return nil
        }
    }

    /// The column of the own row's key, if nothing but a whole number is added to it.
    private func key(_ tokens: ArraySlice<SQLTokens.Token>) -> String? {
        var rest = Array(tokens)[...]
        if rest.count > 2, rest[1].text == "." {
            guard owners.contains(rest[0].name) else { return nil }
            rest = rest.dropFirst(2)
        } else if let name = rest.first?.name, columns.contains(name) {
            // It is the asked row's in EXISTS, and perhaps in IN.
            guard tokens.startIndex > 0, isOutside(tokens) else { return nil }
        }
        guard let name = rest.popFirst()?.name else { return nil }
        while let sign = rest.popFirst() {
            // A larger one would make different keys the same.
            guard ["+", "-"].contains(sign.text), let number = rest.popFirst(),
                Int32(number.text) != nil
            else { return nil }
        }
        return name
    }

    /// Whether an operand stands before IN, where the asked table has no names.
    private func isOutside(_ operand: ArraySlice<SQLTokens.Token>) -> Bool {
        let next = tokens[operand.endIndex...].first { !$0.isWord("NOT") }
        return next?.isWord("IN") ?? false
    }
}
