import MigrationKit

/// Judges whether versions of a program that know only the schema before a step work with the one
/// after it. What can't be told from the texts counts as a reason why not.
///
/// A version is expected to name the columns that it inserts: an `INSERT` without their list fails as
/// soon as a table has a new one.
struct OlderVersionsCheck {
    private let before: [SchemaObject.Identity: SchemaObject]
    private let after: [SchemaObject.Identity: SchemaObject]
    private let virtualTables: [String]

    init(before: some Sequence<SchemaObject>, after: some Sequence<SchemaObject>) {
        func byIdentity(_ objects: some Sequence<SchemaObject>)
            -> [SchemaObject.Identity: SchemaObject]
        {
            Dictionary(objects.map { ($0.identity, $0) }) { _, last in last }
        }
        self.before = byIdentity(before)
        self.after = byIdentity(after)
        virtualTables = [self.before, self.after].flatMap { objects in
            objects.values.filter(\.isVirtualTable).map(\.name.foldedName)
        }
    }

    private func old(table name: String) -> SchemaObject? {
        before[SchemaObject.Identity(kind: .table, name: name.foldedName)]
    }

    /// Virtual tables keep their content in tables of their own.
    private func isShadow(_ name: String) -> Bool {
        virtualTables.contains { name.foldedName.hasPrefix($0 + "_") }
    }

    // MARK: - The Schema

    /// - Parameter states: What the object was after each change of it; `nil` when it was gone.
    func reasons(for identity: SchemaObject.Identity, _ states: [SchemaObject?]) -> [String] {
        let now = after[identity]
        guard let old = before[identity] else { return now.map(reasons(forNew:)) ?? [] }
        guard !isShadow(old.table) else { return [] }
        guard identity.kind == .table else {
            // What belongs to a table that is gone is gone with it.
            let owner = [SchemaObject.Kind.table, .view]
                .contains { after[.init(kind: $0, name: old.table.foldedName)] != nil }
            if now == nil {
                return owner || identity.kind == .view ? ["\(old.quoted) is gone"] : []
            }
            return now?.meaning == old.meaning ? [] : ["\(old.quoted) has another definition"]
        }
        guard let now else { return ["\(old.quoted) is gone"] }
        if states.contains(nil) {
            return ["\(old.quoted) was created again, and its rows may have changed"]
                + reasons(forChanged: old, now)
        }
        let lost = states.compactMap(\.self).flatMap { lostColumns(of: old, in: $0) }
        let again = Set(lost).subtracting(lostColumns(of: old, in: now)).sorted()
        return reasons(forChanged: old, now)
            + again.map { "column '\($0)' of \(old.quoted) was created again, without its values" }
    }

    private func lostColumns(of old: SchemaObject, in new: SchemaObject) -> [String] {
        guard let (old, new) = try? (TableItems(old.sql), TableItems(new.sql)) else { return [] }
        let names = Set(new.columns.map(\.name))
        return old.columns.map(\.name).filter { !names.contains($0) }
    }

    private func reasons(forChanged old: SchemaObject, _ new: SchemaObject) -> [String] {
        guard old.meaning != new.meaning else { return [] }
        guard let (was, now) = try? (TableItems(old.sql), TableItems(new.sql)) else {
            return ["\(old.quoted) has another definition"]
        }
        var reasons: [String] = []
        for column in was.columns {
            guard let same = now.columns.first(where: { $0.name == column.name }) else {
                reasons.append("column '\(column.name)' of \(old.quoted) is gone")
                continue
            }
            if same.meaning != column.meaning {
                reasons.append("column '\(column.name)' of \(old.quoted) has another definition")
            }
        }
        if !now.columns.map(\.name).starts(with: was.columns.map(\.name)), reasons.isEmpty {
            reasons.append("the columns of \(old.quoted) have another order")
        }
        if was.constraints != now.constraints || was.options != now.options {
            reasons.append("the constraints of \(old.quoted) have changed")
        }
        let names = Set(was.columns.map(\.name))
        return reasons
            + now.columns.filter { !names.contains($0.name) }
            .compactMap { reason(forNew: $0, of: old, names) }
    }

    private func reason(
        forNew column: TableItems.Column,
        of table: SchemaObject,
        _ oldColumns: Set<String>
    ) -> String? {
        let which = "the new column '\(column.name)' of \(table.quoted)"
        if column.isKey || column.isNotNull && !column.isGenerated && !column.hasDefault {
            return "\(which) needs a value"
        }
        if column.isUnique && column.hasDefault {
            return "\(which) refuses its default a second time"
        }
        if !column.expressionsAreTotal
            || column.hasCheck
                && (column.isGenerated || !column.allNames.isDisjoint(with: oldColumns))
        {
            return "\(which) may refuse rows"
        }
        return column.tokens.reference.flatMap {
            $0.refusesDeletes ? refusal(by: which, of: $0.table) : nil
        }
    }

    private func refusal(by which: String, of parent: String) -> String? {
        old(table: parent).map { "\(which) may keep rows of \($0.quoted) from being deleted" }
    }

    private func reasons(forNew object: SchemaObject) -> [String] {
        let sql = SQLTokens(object.sql)
        switch object.kind {
        case .view: return []
        case .table:
            guard !isShadow(object.name), !object.isVirtualTable,
                let items = try? TableItems(object.sql)
            else { return [] }
            let parts = items.columns.map(\.tokens) + items.constraintTokens
            return Set(
                parts.compactMap(\.reference).filter(\.refusesDeletes).compactMap {
                    refusal(by: "the new \(object.quoted)", of: $0.table)
                }
            ).sorted()
        case .index:
            guard let table = old(table: object.table) else { return [] }
            return reason(forNewIndex: object, sql, of: table).map { [$0] } ?? []
        case .trigger:
            let isOfOld =
                old(table: object.table) != nil
                || before[.init(kind: .view, name: object.table.foldedName)] != nil
            guard isOfOld, let begin = sql.tokens.firstIndex(where: { $0.isWord("BEGIN") }) else {
                return []
            }
            return reason(forNewTrigger: object, Array(sql.tokens[begin...])).map { [$0] } ?? []
        }
    }

    /// What a new trigger does when an older version writes.
    private func reason(
        forNewTrigger trigger: SchemaObject,
        _ body: [SQLTokens.Token]
    ) -> String? {
        let refusal = "the new \(trigger.quoted) may refuse changes of '\(trigger.table)'"
        guard body.isTotal else { return refusal }
        for (place, token) in body.enumerated().dropFirst() {
            let isUpdate = token.isWord("UPDATE")
            // The rows of another statement's conflict.
            if isUpdate, body[place - 1].isWord("DO") { return refusal }
            let isDelete = token.isWord("FROM") && body[place - 1].isWord("DELETE")
            guard token.isWord("INTO") || isDelete || isUpdate else { continue }
            let isOr = isUpdate && place + 1 < body.count && body[place + 1].isWord("OR")
            let rest = body.dropFirst(place + (isOr ? 3 : 1))
            guard let name = rest.first?.name else { return refusal }
            if let old = old(table: name) {
                let was = try? TableItems(old.sql)
                let sets = isUpdate ? rest.assignedNames : nil
                guard let was, let sets, sets.allSatisfy({ was.column($0) == nil }) else {
                    return "the new \(trigger.quoted) may change rows of \(old.quoted)"
                }
            } else if let new = after[.init(kind: .table, name: name)], !isDelete,
                !new.isVirtualTable, (try? TableItems(new.sql))?.acceptsEverything != true
            {
                return refusal
            }
        }
        return nil
    }

    private func reason(
        forNewIndex index: SchemaObject,
        _ sql: SQLTokens,
        of table: SchemaObject
    ) -> String? {
        guard let open = sql.tokens.firstIndex(where: { $0.text == "(" }) else { return nil }
        let end = sql.end(ofGroupAt: open)
        let columns = sql.items(open + 1..<end - 1).map { sql.tokens[$0] }
        if sql.tokens[..<open].contains(where: { $0.isWord("UNIQUE") }) {
            // NULL is never equal to NULL. <https://www.sqlite.org/lang_createindex.html>
            let was = try? TableItems(table.sql)
            let now = after[table.identity].flatMap { try? TableItems($0.sql) }
            let isNull = columns.contains { column in
                guard let name = column.first?.name, was?.column(name) == nil,
                    let new = now?.column(name)
                else { return false }
                return !new.hasDefault && !new.isGenerated
            }
            if !isNull { return "the new \(index.quoted) may refuse rows of \(table.quoted)" }
        }
        let expressions = columns + [sql.tokens[end...]]
        return expressions.allSatisfy(\.isTotal)
            ? nil : "the new \(index.quoted) may refuse rows of \(table.quoted)"
    }

    // MARK: - What Reads a Table

    /// Views and triggers that are as they were, but may mean something else with the new columns of a
    /// table: they take all of its columns, or a name in them is that of a new one.
    var reasonsOfReaders: [String] {
        let grown = before.values.compactMap { old -> (name: String, new: Set<String>)? in
            guard old.kind == .table, let now = after[old.identity], now.sql != old.sql,
                let (was, items) = try? (TableItems(old.sql), TableItems(now.sql))
            else { return nil }
            let new = Set(items.columns.map(\.name)).subtracting(was.columns.map(\.name))
            return new.isEmpty ? nil : (old.name.foldedName, new)
        }
        guard !grown.isEmpty else { return [] }
        return before.values.filter { old in
            guard old.kind == .view || old.kind == .trigger, after[old.identity] != nil else {
                return false
            }
            let sql = SQLTokens(old.sql)
            let names = sql.allNames
            return grown.contains { table, new in
                names.contains(table) && (sql.takesAllColumns || !names.isDisjoint(with: new))
            }
        }
        .map { "\($0.quoted) may mean something else with the new columns" }.sorted()
    }

    // MARK: - Rows

    func reasons(updated: [String: Set<String>], deleted: Set<String>) -> [String] {
        let updates = updated.sorted { $0.key < $1.key }.compactMap { name, columns -> String? in
            guard let table = old(table: name), !isShadow(name) else { return nil }
            guard let was = try? TableItems(table.sql) else {
                return "rows of \(table.quoted) were changed"
            }
            let known = columns.map(\.foldedName).filter { was.column($0) != nil }.sorted()
            guard let first = known.first else { return nil }
            return known.count == 1
                ? "values of column '\(first)' of \(table.quoted) were changed"
                : "values of \(known.count) columns of \(table.quoted) were changed"
        }
        let changesIDs = updated["sqlite_sequence"] != nil || deleted.contains("sqlite_sequence")
        let deletes = deleted.sorted().compactMap { name -> String? in
            guard let table = old(table: name), !isShadow(name) else { return nil }
            return "rows of \(table.quoted) were deleted"
        }
        return updates + deletes + (changesIDs ? ["the ids of new rows were changed"] : [])
    }
}

extension SchemaObject {
    /// What an object is known by: SQLite's names don't depend on the case of ASCII letters.
    struct Identity: Hashable, Comparable {
        let kind: Kind
        let name: String

        static func < (one: Self, other: Self) -> Bool {
            (one.kind.rawValue, one.name) < (other.kind.rawValue, other.name)
        }
    }

    var identity: Identity { Identity(kind: kind, name: name.foldedName) }

    /// The same for two texts that SQLite reads in the same way.
    fileprivate var meaning: [String] { SQLTokens(sql).tokens.map(\.exactMeaning) }

    /// `table 'notes'`. A reason is one line.
    fileprivate var quoted: String {
        "\(kind.rawValue) '\(name.split(whereSeparator: \.isNewline).joined(separator: " "))'"
    }
}

/// The columns and constraints of a `CREATE TABLE` statement, as far as they can be compared without
/// being understood.
private struct TableItems {
    struct Column {
        let name: String
        let meaning: String
        let tokens: ArraySlice<SQLTokens.Token>

        private func has(_ words: String...) -> Bool {
            tokens.contains { token in words.contains(where: token.isWord) }
        }

        var isKey: Bool { has("PRIMARY") }
        var isUnique: Bool { has("UNIQUE") }
        var hasCheck: Bool { has("CHECK") }
        var isGenerated: Bool { has("AS") }
        /// Other than NULL.
        var hasDefault: Bool { follows("DEFAULT") { !$0.isWord("NULL") } }
        var isNotNull: Bool { follows("NOT") { $0.isWord("NULL") } }
        var allNames: Set<String> { Set(tokens.dropFirst().filter(\.isName).map(\.name)) }

        /// Whether its default, its `CHECK` and its generated value can be computed from every value.
        var expressionsAreTotal: Bool {
            let tokens = Array(tokens)
            return tokens.indices.allSatisfy { place in
                let words = ["DEFAULT", "CHECK", "AS"]
                guard words.contains(where: tokens[place].isWord), place + 1 < tokens.count,
                    tokens[place + 1].text == "("
                else { return true }
                var depth = 0
                return tokens[(place + 1)...].prefix { token in
                    depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0
                    return depth > 0
                }.isTotal
            }
        }

        private func follows(
            _ word: String,
            _ isMeant: (SQLTokens.Token) -> Bool
        ) -> Bool {
            zip(tokens, tokens.dropFirst()).contains { $0.isWord(word) && isMeant($1) }
        }
    }

    struct NoColumns: Error {}

    /// Whether every row can be inserted, whatever its values.
    var acceptsEverything: Bool {
        constraints.isEmpty && options.isEmpty
            && columns.allSatisfy { column in
                !column.isUnique && !column.isNotNull && !column.hasCheck
                    && column.tokens.reference == nil && column.expressionsAreTotal
                    && (!column.isKey || column.tokens.contains { $0.isWord("INTEGER") })
            }
    }

    let columns: [Column]
    let constraints: Set<String>
    let constraintTokens: [ArraySlice<SQLTokens.Token>]
    /// What comes after the columns: `STRICT`, `WITHOUT ROWID`.
    let options: String

    init(_ text: String) throws {
        let sql = SQLTokens(text)
        guard let open = sql.tokens.firstIndex(where: { $0.text == "(" }),
            sql.tokens.first?.isWord("CREATE") == true, sql.tokens.count > 1,
            sql.tokens[1].isWord("TABLE")
        else { throw NoColumns() }
        let end = sql.end(ofGroupAt: open)
        func meaning(_ range: Range<Int>) -> String {
            range.map { sql.tokens[$0].exactMeaning }.joined(separator: " ")
        }
        let items = sql.items(open + 1..<end - 1)
        let words = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
        let first =
            items.firstIndex { item in words.contains(where: sql.tokens[item.lowerBound].isWord) }
            ?? items.endIndex
        columns = items[..<first].map { item in
            Column(
                name: sql.tokens[item.lowerBound].name,
                meaning: meaning(item),
                tokens: sql.tokens[item]
            )
        }
        constraints = Set(items[first...].map(meaning))
        constraintTokens = items[first...].map { sql.tokens[$0] }
        options = meaning(end..<sql.tokens.count)
    }

    func column(_ name: String) -> Column? { columns.first { $0.name == name } }
}

extension SQLTokens {
    /// Whether it has `*` for columns, or joins by all names that two tables share.
    fileprivate var takesAllColumns: Bool {
        zip(tokens, tokens.dropFirst()).contains { token, next in
            let words = ["SELECT", "DISTINCT", "ALL"]
            let isStar =
                next.text == "*"
                && (token.text == "." || token.text == "," || words.contains(where: token.isWord))
            return isStar || token.isWord("NATURAL")
        }
    }
}

extension Collection<SQLTokens.Token> {
    /// Whether it has only functions, operators and collations that every engine has, and that accept
    /// every value.
    fileprivate var isTotal: Bool {
        let tokens = Array(self)
        return tokens.indices.allSatisfy { place in
            let token = tokens[place]
            let next = place + 1 < tokens.count ? tokens[place + 1] : nil
            // They read malformed JSON. <https://www.sqlite.org/json1.html#jptr>
            if token.text == "->" || token.text == "->>" { return false }
            if ["MATCH", "REGEXP", "RAISE"].contains(where: token.isWord) { return false }
            if token.isWord("COLLATE"), let next {
                return ["binary", "nocase", "rtrim"].contains(next.name)
            }
            guard next?.text == "(", token.kind == .word || token.kind == .quotedName else {
                return true
            }
            let isTable =
                place > 0 && ["INTO", "REFERENCES"].contains(where: tokens[place - 1].isWord)
            return isTable || totalFunctions.contains(token.name)
        }
    }

    /// The names that an `UPDATE` sets; `nil` if they aren't plain.
    fileprivate var assignedNames: [String]? {
        let tokens = Array(self)
        guard let set = tokens.firstIndex(where: { $0.isWord("SET") }) else { return nil }
        var (depth, isStart) = (0, true)
        var names: [String] = []
        for token in tokens[(set + 1)...] {
            let isEnd = token.isWord("WHERE") || token.isWord("FROM") || token.kind == .semicolon
            if depth == 0, isEnd { break }
            if isStart {
                guard token.isName else { return nil }
                names.append(token.name)
            }
            isStart = depth == 0 && token.text == ","
            depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0
        }
        return names
    }

    /// The table that a foreign key refers to, and whether the key keeps its rows from being deleted.
    fileprivate var reference: (table: String, refusesDeletes: Bool)? {
        let tokens = Array(self)
        guard let place = tokens.firstIndex(where: { $0.isWord("REFERENCES") }),
            place + 1 < tokens.count
        else { return nil }
        let onDelete = tokens.indices.first {
            $0 > place && tokens[$0].isWord("DELETE") && tokens[$0 - 1].isWord("ON")
        }
        let gives =
            onDelete.map { $0 + 1 < tokens.count ? tokens[$0 + 1] : tokens[$0] }.map {
                $0.isWord("CASCADE") || $0.isWord("SET")
            } ?? false
        return (tokens[place + 1].unquoted, !gives)
    }
}

/// Words before a parenthesis that no value makes fail. <https://www.sqlite.org/lang_corefunc.html>
private let totalFunctions: Set<String> = [
    "all", "and", "as", "between", "by", "case", "cast", "check", "coalesce", "count", "date",
    "datetime", "default", "distinct", "else", "except", "exists", "from", "ifnull", "iif", "in",
    "instr", "intersect", "is", "join", "key", "length", "limit", "lower", "ltrim", "max", "min",
    "not", "nullif", "on", "or", "quote", "round", "rtrim", "select", "set", "strftime", "substr",
    "substring", "then", "time", "trim", "typeof", "unicode", "union", "upper", "using", "values",
    "when", "where",
]
