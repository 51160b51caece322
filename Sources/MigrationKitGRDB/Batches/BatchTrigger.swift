import MigrationKit

/// A change of rows of a table, as a text says it.
struct RowEffect: Hashable {
    enum Kind: Hashable {
        case insert, delete
        /// The columns, folded; `nil` if they can't be told.
        case update(Set<String>?)
    }

    /// Its name, folded.
    let table: String
    let kind: Kind
    /// The trigger that does it; `nil` for the statement itself.
    var trigger: String?
}

/// What a trigger does, as its text says.
struct BatchTrigger {
    let name: String
    /// The table or view that it belongs to, folded.
    let table: String
    private let event: String?
    /// Those of `UPDATE OF`, folded.
    private let columns: Set<String>?
    /// `nil` if that can't be told.
    let effects: [RowEffect]?
    /// Whether it only adds rows that are made of the changed one's values: their order is of no meaning.
    let onlyAdds: Bool
    /// What in it depends on rows that were changed before, such as `changes()`.
    let counter: String?

    init(name: String, table: String, sql: String) {
        (self.name, self.table) = (name, table.foldedName)
        let tokens = SQLTokens(sql).tokens
        counter = tokens.counter
        let verbs = ["DELETE", "INSERT", "UPDATE"]
        let head = tokens.firstIndex { token in verbs.contains(where: token.isWord) }
        event = head.flatMap { tokens[$0].keyword }
        let rest = tokens[((head ?? -1) + 1)...]
        columns =
            rest.first?.isWord("OF") == true
            ? Set(rest.dropFirst().prefix { !$0.isWord("ON") }.filter(\.isName).map(\.name)) : nil
        guard let begin = tokens.firstIndex(where: { $0.isWord("BEGIN") }) else {
            (effects, onlyAdds) = (nil, false)
            return
        }
        let statements = tokens[(begin + 1)...].split { $0.kind == .semicolon }
            .filter { !($0.first?.isWord("END") ?? true) }
        let all = statements.map { RowEffect.all(of: $0, by: name) }
        effects = all.contains { $0 == nil } ? nil : all.flatMap { $0 ?? [] }
        let reading = ["FROM", "CONFLICT", "OR", "REPLACE", "UPDATE", "DELETE"]
        onlyAdds =
            !tokens[(begin + 1)...].contains { reading.contains(where: $0.isWord) }
            && !rest.prefix { !$0.isWord("BEGIN") }.contains { $0.isWord("SELECT") }
    }

    /// Whether a change of its table may fire it.
    func fires(on effect: RowEffect) -> Bool {
        guard effect.table == table else { return false }
        switch (effect.kind, event) {
        case (.insert, "INSERT"), (.delete, "DELETE"), (_, nil): return true
        case (.update(let changed), "UPDATE"):
            guard let changed, let columns else { return true }
            return !columns.isDisjoint(with: changed)
        default: return false
        }
    }
}

extension RowEffect {
    /// What a statement of a trigger does itself; `nil` if that can't be told.
    fileprivate static func all(of statement: ArraySlice<SQLTokens.Token>, by trigger: String)
        -> [RowEffect]?
    {
        let tokens = Array(statement)
        func effect(_ place: Int, _ kinds: [Kind]) -> [RowEffect]? {
            guard tokens.indices.contains(place), tokens[place].isName else { return nil }
            return kinds.map {
                RowEffect(table: tokens[place].name, kind: $0, trigger: trigger)
            }
        }
        let replaces = tokens.contains { $0.isWord("REPLACE") }
        switch tokens.first?.keyword {
        case "SELECT": return []
        case "DELETE": return effect(2, [.delete])
        case "UPDATE":
            let isOr = tokens.count > 1 && tokens[1].isWord("OR")
            let columns = tokens[...].assignedNames.map(Set.init)
            return effect(isOr ? 3 : 1, [.update(columns)] + (replaces ? [.delete] : []))
        case "INSERT", "REPLACE":
            guard let into = tokens.firstIndex(where: { $0.isWord("INTO") }) else { return nil }
            let updates = tokens.contains { $0.isWord("CONFLICT") }
            return effect(
                into + 1,
                [.insert] + (replaces ? [.delete] : []) + (updates ? [.update(nil)] : [])
            )
        default: return nil
        }
    }
}
