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
        if column.isGenerated, !column.tokens.isTotal { return "\(which) may refuse rows" }
        if column.hasCheck, column.isGenerated || !column.allNames.isDisjoint(with: oldColumns) {
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
            guard isOfOld, sql.tokens.contains(where: { $0.isWord("RAISE") }) else { return [] }
            return ["the new \(object.quoted) may refuse changes of '\(object.table)'"]
        }
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
        let deletes = deleted.sorted().compactMap { name -> String? in
            guard let table = old(table: name), !isShadow(name) else { return nil }
            return "rows of \(table.quoted) were deleted"
        }
        return updates + deletes
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

        private func follows(
            _ word: String,
            _ isMeant: (SQLTokens.Token) -> Bool
        ) -> Bool {
            zip(tokens, tokens.dropFirst()).contains { $0.isWord(word) && isMeant($1) }
        }
    }

    struct NoColumns: Error {}

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

extension Collection<SQLTokens.Token> {
    /// Whether it calls only functions that accept every value.
    fileprivate var isTotal: Bool {
        zip(self, dropFirst()).allSatisfy { token, next in
            next.text != "(" || token.kind != .word && token.kind != .quotedName
                || totalFunctions.contains(token.name)
        }
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
    "and", "as", "by", "case", "check", "coalesce", "collate", "date", "datetime", "default",
    "desc",
    "else", "ifnull", "iif", "in", "instr", "is", "key", "length", "like", "lower", "ltrim", "max",
    "min", "not", "nullif", "on", "or", "quote", "replace", "round", "rtrim", "strftime", "substr",
    "substring", "then", "time", "trim", "typeof", "unicode", "upper", "when", "where",
]
