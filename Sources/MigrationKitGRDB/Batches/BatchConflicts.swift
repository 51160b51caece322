import GRDB
import MigrationKit

/// What a statement's rows may do to each other where it changes or reads them: two with the same key, a
/// number that SQLite gives, several rows of another table for one.
///
/// The whole statement decides that by the order in which it takes the rows, which isn't that of batches.
struct BatchConflicts {
    private let statement: BatchStatement
    private let tokens: [SQLTokens.Token]
    /// The table that is gone through.
    private let walked: TableShape
    /// The table that is changed; `nil` if it is no table with rows of its own.
    private let changed: TableShape?
    /// What an `INSERT` adds, by column.
    private let added: [String: String]
    /// Where its own verb is.
    private let verb: Int

    init?(
        _ tokens: [SQLTokens.Token],
        _ statement: BatchStatement,
        walked: TableShape?,
        changed: TableShape?,
        adding added: [String: String]
    ) {
        let verbs = ["UPDATE", "DELETE", "INSERT", "REPLACE"]
        guard let walked,
            let verb = tokens.firstIndex(where: { token in
                token.depth == 0 && verbs.contains(where: token.isWord)
            })
        else { return nil }
        (self.tokens, self.statement, self.walked, self.added) = (tokens, statement, walked, added)
        (self.verb, self.changed) = (verb, changed)
    }

    /// Whether a row of the table may be one of several results.
    var hasFurtherTables: Bool {
        switch statement.verb {
        case .delete: false
        case .update: from != nil
        case .insert: statement.hasFurtherTables
        }
    }

    // MARK: - Keys

    /// The rule of the statement itself, such as `OR IGNORE`.
    var ownRule: String? {
        guard tokens[verb + 1].isWord("OR"), let rule = tokens[verb + 2].keyword else { return nil }
        // The others end in an error.
        return ["IGNORE", "REPLACE"].contains(rule) ? "OR \(rule)" : nil
    }

    private var hasConflictClause: Bool {
        tokens.indices.dropFirst(verb + 1).contains { place in
            tokens[place].depth == 0 && tokens[place].isWord("CONFLICT")
                && tokens[place - 1].isWord("ON")
        }
    }

    /// Why it may depend on the order of rows which of two with the same key is kept; `nil` if no two of
    /// the statement's rows can have one.
    func obstacle() -> String? {
        guard let changed, statement.verb != .delete else { return nil }
        var rules = ownRule.map { [$0] } ?? []
        // The rule of a statement takes the place of those that are declared.
        if !tokens[verb + 1].isWord("OR") {
            rules += changed.rules.sorted().map { "ON CONFLICT \($0)" }
        }
        if hasConflictClause { rules.append("ON CONFLICT") }
        guard let rule = rules.first else { return nil }
        let name = statement.changed
        guard statement.verb == .insert else {
            let assigned = tokens[verb...].assignedNames.map(Set.init)
            guard changed.hasKey(changedBy: assigned) else { return nil }
            return """
                which of two rows with the same key of '\(name)' is kept depends on their order (\(rule))
                """
        }
        guard !rules.contains("ON CONFLICT REPLACE") else {
            return "'\(name)' has a key with ON CONFLICT REPLACE, which may delete other rows"
        }
        let updates = tokens.indices.filter { tokens[$0].depth == 0 && tokens[$0].isWord("DO") }
        for place in updates where tokens[place + 1].isWord("UPDATE") {
            guard changed.hasKey(changedBy: tokens[place...].assignedNames.map(Set.init)) else {
                continue
            }
            return "DO UPDATE changes a key of '\(name)', and other rows may then have the same"
        }
        var keys = changed.keys
        // Without it, SQLite gives each row another number.
        if let rowid = changed.rowid, added.isEmpty || added[rowid] != nil {
            keys.append(TableShape.Key(columns: [rowid], names: [rowid]))
        }
        guard hasFurtherTables || keys.contains(where: { !isOwn($0) }) else {
            guard changed.isAutoincrement, numbersRows else { return nil }
            return "AUTOINCREMENT gives other numbers if rows are left out (\(rule))"
        }
        return """
            two rows may have the same key of '\(name)', and which of them is kept depends on their order \
            (\(rule)); it needs the key of '\(statement.table)' in each unique key of '\(name)', and no \
            further table
            """
    }

    /// Whether no two rows that are added have the same key: the one that they come from has all of its own
    /// in it.
    private func isOwn(_ key: TableShape.Key) -> Bool {
        guard let changed else { return false }
        var sources: Set<String> = []
        for column in key.columns {
            guard let source = added[column], changed.keepsApart(column, from: source, of: walked)
            else { continue }
            if walked.rowidNames.contains(source) { return true }
            sources.insert(source)
        }
        return walked.keys.contains { !$0.columns.isEmpty && $0.columns.isSubset(of: sources) }
    }

    /// Whether SQLite gives the rows that are added their numbers, as far as can be told.
    var numbersRows: Bool {
        guard statement.verb == .insert, let rowid = changed?.rowid else { return false }
        var words = (added[rowid] ?? "").split(separator: " ")[...]
        guard let first = words.popFirst(), walked.rowidNames.contains(String(first)) else {
            return true
        }
        while let sign = words.popFirst() {
            guard ["+", "-"].contains(sign), let number = words.popFirst(), Int64(number) != nil
            else {
                return true
            }
        }
        return false
    }

    // MARK: - UPDATE FROM

    /// Where FROM stands in an `UPDATE`.
    private var from: Int? {
        guard statement.verb == .update else { return nil }
        return tokens.indices.first { place in
            place > verb && tokens[place].depth == 0 && tokens[place].isWord("FROM")
        }
    }

    /// Why several rows of FROM may be there for one; `nil` if not.
    func joinObstacle(in db: Database) throws -> String? {
        guard let from else { return nil }
        let reason = """
            FROM may have several rows for one of '\(statement.table)', and which of them counts depends on \
            their order: it needs one table, and '=' with a unique key of it
            """
        let filter = tokens.indices.first { place in
            place > from && tokens[place].depth == 0 && tokens[place].isWord("WHERE")
        }
        guard let filter else { return reason }
        var source = tokens[(from + 1)..<filter]
        if source.count > 2, source.dropFirst().first?.text == "." { source = source.dropFirst(2) }
        guard let table = source.popFirst(), table.isName else { return reason }
        if source.first?.isWord("AS") == true { source.removeFirst() }
        let alias = source.popFirst() ?? table
        let isDefined = tokens[..<verb].contains { $0.depth == 0 && $0.name == table.name }
        guard source.isEmpty, alias.isName, !isDefined,
            let other = try TableShape(table.unquoted, in: db)
        else { return reason }
        let condition = tokens[(filter + 1)...].filter { $0.kind != .semicolon }
        let words = ["OR", "CASE", "BETWEEN"]
        let isOther = condition.contains { token in
            token.depth == 0 && words.contains(where: token.isWord)
        }
        guard !isOther else { return reason }

        func column(
            _ side: ArraySlice<SQLTokens.Token>,
            _ names: Set<String>,
            _ shape: TableShape,
            _ rest: TableShape
        ) -> String? {
            let side = Array(side)
            guard let last = side.last, last.isName, last.kind != .string else { return nil }
            let isColumn = shape.types[last.name] != nil || shape.rowidNames.contains(last.name)
            switch side.count {
            case 1:
                return isColumn && rest.types[last.name] == nil && shape.types[last.name] != nil
                    ? last.name : nil
            case 3:
                return isColumn && side[1].text == "." && names.contains(side[0].name)
                    ? last.name : nil
            default: return nil
            }
        }
        let owners: Set = [statement.qualifier.unquotedName.foldedName]
        var found: Set<String> = []
        let hasCollation =
            walked.hasCollation || other.hasCollation || tokens.contains { $0.isWord("COLLATE") }
        for part in condition.split(whereSeparator: { $0.depth == 0 && $0.isWord("AND") }) {
            let sides = part.split { $0.depth == 0 && ["=", "=="].contains($0.text) }
            guard sides.count == 2 else { continue }
            for (one, two) in [(sides[0], sides[1]), (sides[1], sides[0])] {
                guard let key = column(one, [alias.name], other, walked),
                    let own = column(two, owners, walked, other)
                else { continue }
                if other.rowidNames.contains(key) { return nil }
                if !hasCollation, walked.types[own] == other.types[key] { found.insert(key) }
            }
        }
        let isUnique = other.keys.contains { !$0.columns.isEmpty && $0.columns.isSubset(of: found) }
        return isUnique ? nil : reason
    }
}
