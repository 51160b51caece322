import MigrationKit

/// Judges whether versions of a program that know only the schema before a step work with the one
/// after it. What can't be told from the texts counts as a reason why not.
///
/// A version is expected to name the columns that it inserts: an `INSERT` without their list fails as
/// soon as a table has a new one.
final class OlderVersionsCheck {
    private let objects: (before: () -> [SchemaObject], after: () -> [SchemaObject])
    // Most steps need neither: those of a large schema take longer than the step.
    private lazy var before = Self.byIdentity(objects.before())
    private lazy var after = Self.byIdentity(objects.after())
    private let inserted: Set<String>
    private let additions: SchemaAdditions

    /// The objects are without those that belong to SQLite or to a virtual table.
    ///
    /// - Parameters:
    ///   - inserted: The tables that got rows.
    ///   - additions: What earlier steps of the run have added.
    init(
        before: @escaping () -> [SchemaObject],
        after: @escaping () -> [SchemaObject],
        inserted: Set<String>,
        additions: SchemaAdditions
    ) {
        objects = (before, after)
        self.additions = additions
        self.inserted = inserted
    }

    private static func byIdentity(
        _ objects: [SchemaObject]
    ) -> [SchemaObject.Identity: SchemaObject] {
        Dictionary(objects.map { ($0.identity, $0) }) { _, last in last }
    }

    private func old(table name: String) -> SchemaObject? {
        before[SchemaObject.Identity(kind: .table, name: name.foldedName)]
    }

    /// The triggers of a table after the step.
    private func triggers(of table: String) -> [SchemaObject] {
        after.values.filter { $0.kind == .trigger && $0.table.isSameName(as: table) }
    }

    private func isNew(_ object: SchemaObject) -> Bool { before[object.identity] == nil }

    // MARK: - The Schema

    /// - Parameter states: What an object was before the step and after each change of it; `nil` when
    ///   it wasn't there.
    func reasons(for states: [SchemaObject?]) -> [StepEffect.Reason] {
        let (old, now) = (states.first ?? nil, states.last ?? nil)
        guard let old else { return now.map(reasons(forNew:))?.map { StepEffect.Reason($0) } ?? [] }
        guard old.kind == .table else { return reasons(forChanged: old, to: now) }
        guard let now else { return [.init("\(old.quoted) is gone")] }
        let changed = reasons(forChanged: old, now).map { StepEffect.Reason($0) }
        if states.contains(where: { $0 == nil }) {
            let again = "\(old.quoted) was created again, and its rows may have changed"
            return [.init(again, stillRuns: true)] + changed
        }
        let lost = states.dropFirst().dropLast().compactMap(\.self).flatMap {
            lostColumns(of: old, in: $0)
        }
        let again = Set(lost).subtracting(lostColumns(of: old, in: now)).sorted()
        return changed
            + again.map { name in
                let text = "column '\(name)' of \(old.quoted) was created again, without its values"
                return .init(text, stillRuns: true)
            }
    }

    /// What happened to an index, a view or a trigger.
    private func reasons(forChanged old: SchemaObject, to now: SchemaObject?) -> [StepEffect.Reason]
    {
        if let now {
            return now.meaning == old.meaning
                ? [] : [.init("\(old.quoted) has another definition")]
        }
        // What belongs to a table that is gone is gone with it.
        let isMissing =
            old.kind == .view
            || [.table, .view].contains {
                after[.init(kind: $0, name: old.table.foldedName)] != nil
            }
        // Without a unique index, the conflict clause that names its columns fails.
        let stillRuns = old.kind == .trigger || old.kind == .index && !old.isUniqueIndex
        return isMissing ? [.init("\(old.quoted) is gone", stillRuns: stillRuns)] : []
    }

    private func lostColumns(of old: SchemaObject, in new: SchemaObject) -> [String] {
        guard let (old, new) = try? (TableText(old.sql), TableText(new.sql)) else { return [] }
        let names = Set(new.columns.map(\.name))
        return old.columns.map(\.name).filter { !names.contains($0) }
    }

    private func reasons(forChanged old: SchemaObject, _ new: SchemaObject) -> [String] {
        guard old.sql != new.sql else { return [] }
        guard let (was, now) = try? (TableText(old.sql), TableText(new.sql)) else {
            return old.meaning == new.meaning ? [] : ["\(old.quoted) has another definition"]
        }
        var reasons: [String] = []
        for column in was.columns {
            guard let same = now.column(column.name) else {
                reasons.append("column '\(column.name)' of \(old.quoted) is gone")
                continue
            }
            if now.meaning(same.range) != was.meaning(column.range) {
                reasons.append("column '\(column.name)' of \(old.quoted) has another definition")
            }
        }
        if !now.columns.map(\.name).starts(with: was.columns.map(\.name)), reasons.isEmpty {
            reasons.append("the columns of \(old.quoted) have another order")
        }
        let haveSameConstraints =
            Set(was.tableConstraints.map(was.meaning)) == Set(now.tableConstraints.map(now.meaning))
        if !haveSameConstraints || was.meaning(was.options) != now.meaning(now.options) {
            reasons.append("the constraints of \(old.quoted) have changed")
        }
        let names = Set(was.columns.map(\.name))
        return reasons
            + now.columns.filter { !names.contains($0.name) }
            .compactMap { reason(forNew: $0, of: new, now) }
    }

    private func reason(
        forNew column: TableText.Column,
        of table: SchemaObject,
        _ text: TableText
    ) -> String? {
        let which = "the new column '\(column.name)' of \(table.quoted)"
        if rowidNames.contains(column.name) { return "\(which) hides the key" }
        switch ColumnDemands(column, of: text).problem(isStrict: text.isStrict) {
        case .needsValue: return "\(which) needs a value"
        case .repeatsDefault: return "\(which) refuses its default a second time"
        case .mayRefuse: return "\(which) may refuse rows"
        case nil: break
        }
        let refuses = text.references.contains { reference in
            reference.column == column.name && old(table: reference.referencedTable) != nil
                && !keepsNoRow(reference, of: table, text)
        }
        return refuses ? "\(which) may keep rows of a table from being changed" : nil
    }

    /// Whether a foreign key lets the rows that it refers to go.
    private func keepsNoRow(
        _ reference: TableText.Constraint,
        of table: SchemaObject,
        _ text: TableText
    ) -> Bool {
        switch reference.onUpdate {
        case nil, "NO ACTION", "RESTRICT": break
        case "CASCADE" where !text.hasCheck: break
        default: return false
        }
        guard triggers(of: table.name).isEmpty || !isNew(table) else { return false }
        switch reference.onDelete {
        // Rows that refer to these may keep them.
        case "CASCADE":
            return after.values.allSatisfy { other in
                guard other.kind == .table, isNew(other) || isNew(table),
                    other.identity != table.identity, let text = try? TableText(other.sql)
                else { return true }
                return text.references.allSatisfy {
                    !$0.referencedTable.isSameName(as: table.name) || $0.onDelete == "CASCADE"
                }
            }
        case "SET NULL":
            let column = reference.column.flatMap(text.demands(of:))
            return column?.mayBeNull == true && !text.hasCheck
        default: return false
        }
    }

    private func reasons(forNew object: SchemaObject) -> [String] {
        switch object.kind {
        case .view: return []
        case .table:
            guard let text = try? TableText(object.sql) else { return [] }
            return Set(
                text.references.compactMap { reference -> String? in
                    guard let parent = old(table: reference.referencedTable),
                        !keepsNoRow(reference, of: object, text)
                    else { return nil }
                    return "the new \(object.quoted) may keep rows of \(parent.quoted) from being "
                        + "changed or deleted"
                }
            ).sorted()
        case .index:
            guard let table = old(table: object.table) else { return [] }
            return reason(forNewIndex: object, of: table).map { [$0] } ?? []
        case .trigger:
            let isOfOld =
                old(table: object.table) != nil
                || before[.init(kind: .view, name: object.table.foldedName)] != nil
            let sql = SQLTokens(object.sql)
            guard isOfOld, let begin = sql.tokens.firstIndex(where: { $0.isWord("BEGIN") }) else {
                return []
            }
            // Its condition is computed for every row, too.
            let body = sql.tokens.isTotal ? Array(sql.tokens[begin...]) : nil
            return reason(forNewTrigger: object, body).map { [$0] } ?? []
        }
    }

    /// What a new trigger does when an older version writes.
    ///
    /// - Parameter body: From `BEGIN` on; `nil` if it may fail by itself.
    private func reason(
        forNewTrigger trigger: SchemaObject,
        _ body: [SQLTokens.Token]?
    ) -> String? {
        let refusal = "the new \(trigger.quoted) may refuse changes of '\(trigger.table)'"
        guard let body else { return refusal }
        for (place, token) in body.enumerated().dropFirst() {
            let isUpdate = token.isWord("UPDATE")
            // The rows of another statement's conflict.
            if isUpdate, body[place - 1].isWord("DO") { return refusal }
            let isDelete = token.isWord("FROM") && body[place - 1].isWord("DELETE")
            guard token.isWord("INTO") || isDelete || isUpdate else { continue }
            let isOr = isUpdate && place + 1 < body.count && body[place + 1].isWord("OR")
            let rest = body.dropFirst(place + (isOr ? 3 : 1))
            guard let name = rest.first?.name else { return refusal }
            let now = after[.init(kind: .table, name: name)]
            let text = now.flatMap { try? TableText($0.sql) }
            if let old = old(table: name) {
                let was = try? TableText(old.sql)
                let columns = (isUpdate ? rest.assignedNames : nil)?.map { name in
                    was?.column(name) == nil ? text?.demands(of: name) : nil
                }
                guard let columns, columns.allSatisfy({ $0?.isPlain == true }) else {
                    return "the new \(trigger.quoted) may change rows of \(old.quoted)"
                }
                continue
            }
            guard let now, triggers(of: now.name).isEmpty,
                now.isVirtualTable
                    ? accepts(virtualTable: now, isInsert: token.isWord("INTO"))
                    : isDelete || text?.acceptsEverything == true
            else { return refusal }
        }
        return nil
    }

    /// Whether a virtual table takes whatever a trigger writes. A full-text table without texts of its own
    /// fails to remove a text that it didn't get: that of an earlier row, if the step hasn't filled it, or
    /// a row's new text, which it finds in place of the old one.
    /// <https://www.sqlite.org/fts5.html#external_content_tables>
    private func accepts(virtualTable table: SchemaObject, isInsert: Bool) -> Bool {
        let tokens = SQLTokens(table.sql).tokens
        let pairs = zip(tokens, tokens.dropFirst())
        switch pairs.first(where: { word, _ in word.isWord("USING") })?.1.name {
        case "fts3", "fts4": return true
        case "fts5":
            let keepsTexts = !pairs.contains { $0.isWord("CONTENT") && $1.text == "=" }
            return keepsTexts || isInsert && inserted.contains(table.name)
        default: return false
        }
    }

    private func reason(forNewIndex index: SchemaObject, of table: SchemaObject) -> String? {
        let refusal = "the new \(index.quoted) may refuse rows of \(table.quoted)"
        guard let text = IndexText(index.sql) else { return refusal }
        if index.isUniqueIndex {
            // NULL is never equal to NULL. <https://www.sqlite.org/lang_createindex.html>
            let was = try? TableText(table.sql)
            let now = after[table.identity].flatMap { try? TableText($0.sql) }
            let isNull =
                text.columns.contains { column in
                    let name = text.sql.tokens[column.lowerBound].name
                    return column.count == 1 && was?.column(name) == nil
                        && now?.demands(of: name)?.isNullByDefault == true
                } && !triggers(of: table.name).contains(where: isNew)
            if !isNull { return refusal }
        }
        let expressions = text.columns + (text.condition.map { [$0] } ?? [])
        return expressions.allSatisfy { text.sql.tokens[$0].isTotal } ? nil : refusal
    }

    // MARK: - What Reads a Table

    /// Views and triggers that are as they were, but may mean something else with the new columns of a
    /// table: they take all of its columns, or a name in them is that of a new one.
    ///
    /// - Parameter changes: The states of each object that was changed.
    func reasonsOfReaders(after changes: some Sequence<[SchemaObject?]>) -> [String] {
        let tables = changes.compactMap { states -> (old: SchemaObject, now: SchemaObject)? in
            guard let old = states.first ?? nil, let now = states.last ?? nil,
                old.kind == .table, old.sql != now.sql
            else { return nil }
            return (old, now)
        }
        guard !tables.isEmpty else { return [] }
        let readers = objects.before().filter { $0.kind == .view || $0.kind == .trigger }
            .filter { after[$0.identity] != nil }
        guard !readers.isEmpty else { return [] }
        let grown = tables.compactMap { old, now -> (name: String, new: Set<String>)? in
            guard let (was, text) = try? (TableText(old.sql), TableText(now.sql)) else {
                return nil
            }
            let new = Set(text.columns.map(\.name)).subtracting(was.columns.map(\.name))
            return new.isEmpty ? nil : (old.name.foldedName, new)
        }
        guard !grown.isEmpty else { return [] }
        return readers.filter { old in
            let sql = SQLTokens(old.sql)
            let names = sql.allNames
            return grown.contains { table, new in
                names.contains(table) && (sql.takesAllColumns || !names.isDisjoint(with: new))
            }
        }
        .map { "\($0.quoted) may mean something else with the new columns" }.sorted()
    }

    // MARK: - Rows

    /// Versions that don't know a column or a table can't miss its values: what was added by an earlier step
    /// counts only for those that know that one.
    func reasons(updated: [String: Set<String>], deleted: Set<String>) -> [String] {
        // Rows of a virtual table may be commands, which its triggers need.
        let commands = inserted.sorted().compactMap { name -> String? in
            guard let table = old(table: name), table.isVirtualTable else { return nil }
            return "the content of \(table.quoted) was changed"
        }
        let updates = updated.sorted { $0.key < $1.key }.flatMap { name, columns in
            old(table: name).map { reasons(updated: columns, of: $0) } ?? []
        }
        let changesIDs = updated["sqlite_sequence"] != nil || deleted.contains("sqlite_sequence")
        let deletes = deleted.sorted().compactMap { name -> String? in
            guard let table = old(table: name) else { return nil }
            let text = "rows of \(table.quoted) were deleted"
            return OlderVersions.reason(text, adder: additions.adder(of: table))
        }
        return commands + updates + deletes
            + (changesIDs ? ["the ids of new rows were changed"] : [])
    }

    private func reasons(updated columns: Set<String>, of table: SchemaObject) -> [String] {
        guard let was = try? TableText(table.sql) else {
            return ["rows of \(table.quoted) were changed"]
        }
        let known = columns.map(\.foldedName)
            .filter { was.column($0) != nil || rowidNames.contains($0) }.sorted()
        let byAdder = Dictionary(grouping: known) { additions.adder(ofColumn: $0, of: table) }
        return byAdder.sorted { $0.value[0] < $1.value[0] }.map { adder, columns in
            let values =
                columns.count == 1 ? "column '\(columns[0])'" : "\(columns.count) columns"
            return OlderVersions.reason(
                "values of \(values) of \(table.quoted) were changed",
                adder: adder
            )
        }
    }
}

extension SchemaObject {
    /// What an object is known by: SQLite's names don't depend on the case of ASCII letters.
    package struct Identity: Hashable, Comparable {
        let kind: Kind
        let name: String

        package static func < (one: Self, other: Self) -> Bool {
            (one.kind.rawValue, one.name) < (other.kind.rawValue, other.name)
        }
    }

    package var identity: Identity { Identity(kind: kind, name: name.foldedName) }

    /// SQLite itself has written the text up to the name.
    fileprivate var isUniqueIndex: Bool { sql.hasPrefix("CREATE UNIQUE INDEX ") }

    /// The same for two texts that SQLite reads in the same way.
    fileprivate var meaning: [String] { SQLTokens(sql).tokens.map(\.exactMeaning) }

    /// `table 'notes'`. A reason is one line.
    fileprivate var quoted: String {
        "\(kind.rawValue) '\(name.split(whereSeparator: \.isNewline).joined(separator: " "))'"
    }
}
