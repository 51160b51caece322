import MigrationKit
import MigrationKitGRDB

/// What a statement is, from its words. SQLite itself says what it does: see ``StatementAction``.
struct ParsedStatement {
    enum Kind: Equatable {
        case createTable(String)
        case createTemporary(String)
        case createIndex(String, table: String, isUnique: Bool)
        case createTrigger(String)
        case createView(String)
        case createVirtualTable(String)
        case dropTable(String)
        case dropIndex(String)
        case dropTrigger(String)
        case dropView(String)
        case renameTable(String, to: String)
        case renameColumn(table: String, column: String, to: String)
        case addColumn(table: String, column: String)
        case dropColumn(table: String, column: String)
        /// The conflict clause in upper case: `REPLACE`, `IGNORE`, ...
        case insert(into: String, conflict: String?)
        case update(String, conflict: String?)
        case delete(from: String)
        /// The name in lower case, and the value's first token.
        case pragma(String, value: String?)
        case select
        case other(String)
    }

    let kind: Kind
    let words: [SQLTokens.Token]

    init(_ text: String) {
        words = SQLTokens(text).tokens.filter { $0.kind != .semicolon }
        var reader = WordReader(words: words)
        kind = Self.kind(&reader)
    }

    /// The name of the object that it creates, changes, drops or writes.
    var target: String? {
        switch kind {
        case .createTable(let name), .createTemporary(let name), .createTrigger(let name),
            .createView(let name), .createVirtualTable(let name), .dropTable(let name),
            .dropIndex(let name), .dropTrigger(let name), .dropView(let name),
            .renameTable(let name, _), .renameColumn(let name, _, _), .addColumn(let name, _),
            .dropColumn(let name, _), .insert(let name, _), .update(let name, _),
            .delete(let name), .createIndex(let name, _, _):
            name
        case .pragma, .select, .other: nil
        }
    }

    /// Whether a keyword stands outside of parentheses.
    func hasKeyword(_ keyword: String) -> Bool {
        words.contains { $0.depth == 0 && $0.keyword == keyword }
    }

    /// Whether a keyword stands anywhere.
    func hasKeywordAnywhere(_ keyword: String) -> Bool {
        words.contains { $0.keyword == keyword }
    }

    /// The columns of `INSERT INTO table (columns)`; `nil` if it lists none.
    var insertedColumns: [String]? {
        guard case .insert(let table, _) = kind,
            let place = words.firstIndex(where: { $0.depth == 0 && $0.keyword == "INTO" })
        else { return nil }
        var index = place + 1
        if words.indices.contains(index + 1), words[index + 1].text == "." { index += 2 }
        guard words.indices.contains(index), words[index].name.isSameName(as: table) else {
            return nil
        }
        index += 1
        if words.indices.contains(index), words[index].keyword == "AS" { index += 2 }
        guard words.indices.contains(index), words[index].text == "(" else { return nil }
        let names = words[(index + 1)...].prefix { $0.text != ")" }
        return names.filter { $0.text != "," }.map(\.unquoted)
    }

    private static func kind(_ reader: inout WordReader) -> Kind {
        if reader.take("EXPLAIN") {
            if reader.take("QUERY") { _ = reader.take("PLAN") }
            return .select
        }
        if reader.take("WITH") {
            reader.skip(toAny: ["INSERT", "REPLACE", "UPDATE", "DELETE", "SELECT"])
        }
        guard let verb = reader.keyword() else { return .other("") }
        switch verb {
        case "CREATE": return create(&reader)
        case "DROP":
            let what = reader.keyword()
            if reader.take("IF") { _ = reader.take("EXISTS") }
            let name = reader.name() ?? ""
            switch what {
            case "TABLE": return .dropTable(name)
            case "INDEX": return .dropIndex(name)
            case "TRIGGER": return .dropTrigger(name)
            case "VIEW": return .dropView(name)
            default: return .other(verb)
            }
        case "ALTER": return alter(&reader)
        case "INSERT":
            let conflict = reader.take("OR") ? reader.keyword() : nil
            guard reader.take("INTO"), let name = reader.name() else { return .other(verb) }
            return .insert(into: name, conflict: conflict)
        case "REPLACE":
            guard reader.take("INTO"), let name = reader.name() else { return .other(verb) }
            return .insert(into: name, conflict: "REPLACE")
        case "UPDATE":
            let conflict = reader.take("OR") ? reader.keyword() : nil
            return reader.name().map { .update($0, conflict: conflict) } ?? .other(verb)
        case "DELETE":
            guard reader.take("FROM"), let name = reader.name() else { return .other(verb) }
            return .delete(from: name)
        case "PRAGMA":
            guard let name = reader.name() else { return .other(verb) }
            let isChange = reader.take("=") || reader.take("(")
            return .pragma(name.foldedName, value: isChange ? reader.next()?.unquoted : nil)
        case "SELECT", "VALUES": return .select
        default: return .other(verb)
        }
    }

    private static func create(_ reader: inout WordReader) -> Kind {
        let isTemporary = reader.take("TEMP") || reader.take("TEMPORARY")
        let isUnique = reader.take("UNIQUE")
        let isVirtual = reader.take("VIRTUAL")
        guard let what = reader.keyword() else { return .other("CREATE") }
        if reader.take("IF") { _ = reader.take("NOT"); _ = reader.take("EXISTS") }
        guard let name = reader.name() else { return .other("CREATE") }
        if isTemporary { return .createTemporary(name) }
        switch what {
        case "TABLE": return isVirtual ? .createVirtualTable(name) : .createTable(name)
        case "INDEX":
            _ = reader.take("ON")
            return .createIndex(name, table: reader.name() ?? "", isUnique: isUnique)
        case "TRIGGER": return .createTrigger(name)
        case "VIEW": return .createView(name)
        default: return .other("CREATE")
        }
    }

    private static func alter(_ reader: inout WordReader) -> Kind {
        guard reader.take("TABLE"), let table = reader.name() else { return .other("ALTER") }
        switch reader.keyword() {
        case "RENAME":
            if reader.take("TO") { return .renameTable(table, to: reader.name() ?? "") }
            _ = reader.take("COLUMN")
            let column = reader.name() ?? ""
            _ = reader.take("TO")
            return .renameColumn(table: table, column: column, to: reader.name() ?? "")
        case "ADD":
            _ = reader.take("COLUMN")
            return .addColumn(table: table, column: reader.name() ?? "")
        case "DROP":
            _ = reader.take("COLUMN")
            return .dropColumn(table: table, column: reader.name() ?? "")
        default:
            return .other("ALTER")
        }
    }
}

/// Reads the words of a statement in order.
private struct WordReader {
    let words: [SQLTokens.Token]
    private var place = 0

    init(words: [SQLTokens.Token]) {
        self.words = words
    }

    private var current: SQLTokens.Token? { place < words.count ? words[place] : nil }

    mutating func next() -> SQLTokens.Token? {
        guard let word = current else { return nil }
        place += 1
        return word
    }

    /// Moves past a keyword or a symbol.
    mutating func take(_ text: String) -> Bool {
        guard let word = current, (word.keyword ?? word.text) == text else { return false }
        place += 1
        return true
    }

    mutating func keyword() -> String? { next()?.keyword }

    /// A name, without that of its database before it.
    mutating func name() -> String? {
        guard let first = next() else { return nil }
        guard take(".") else { return first.unquoted }
        return next()?.unquoted
    }

    mutating func skip(toAny keywords: Set<String>) {
        while let word = current, word.depth > 0 || !keywords.contains(word.keyword ?? "") {
            place += 1
        }
    }
}
