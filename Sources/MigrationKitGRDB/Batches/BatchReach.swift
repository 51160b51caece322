import GRDB
import MigrationKit

/// What a statement that runs in batches reads and changes, with its triggers, as far as the texts say.
///
/// A batch sees what those before it have changed. Its result is that of the whole statement if no row
/// depends on what was done for another. What can't be proved to be so is refused.
struct BatchReach {
    /// What the statement changes itself, and then what triggers change.
    let effects: [RowEffect]
    private let statement: BatchStatement
    private let sql: String
    /// How often each name is in the text.
    private let names: [String: Int]
    /// The columns of an `UPDATE`.
    private let assigned: Set<String>
    /// The names in the views and virtual tables that the statement names, by the names of these.
    private let behind: [String: Set<String>]
    /// The text of the statement, and of these.
    private let texts: [[SQLTokens.Token]]
    /// The tables behind full-text indexes and the like that the statement names.
    private let shadows: [String]
    private let readsAllColumns: Bool
    /// The key of the table that is gone through.
    private let keyNames: Set<String>
    /// The triggers that fire.
    private let triggers: [BatchTrigger]

    init(_ sql: String, _ statement: BatchStatement, in db: Database) throws {
        (self.sql, self.statement) = (sql, statement)
        let tokens = SQLTokens(sql).tokens
        names = tokens.filter(\.isName).reduce(into: [:]) { $0[$1.name, default: 0] += 1 }
        let list = statement.verb == .update ? tokens[...].assignedNames : []
        assigned = Set(list ?? [])
        readsAllColumns =
            tokens.contains { $0.isWord("NATURAL") }
            || tokens.indices.dropFirst().contains { place in
                let before = tokens[place - 1]
                return tokens[place].text == "*"
                    && (before.isWord("SELECT") || [",", "."].contains(before.text))
            }
        let objects = try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, tbl_name, sql FROM main.sqlite_schema
                WHERE type IN ('trigger', 'view')
                    OR type = 'table' AND sql LIKE 'CREATE VIRTUAL %'
                UNION ALL
                SELECT type, name, tbl_name, sql FROM sqlite_temp_schema WHERE type = 'trigger'
                """
        )
        let behind = Self.namesBehind(objects, named: Set(names.keys))
        self.behind = behind
        let reached = Set(behind.keys).union(behind.values.flatMap { $0 })
        let views = objects.filter {
            $0[0] == "view" && reached.contains(($0[1] as String).foldedName)
        }
        texts = [tokens] + views.map { SQLTokens($0[3]).tokens }
        shadows = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'"
        ).map(\.foldedName).filter(Set(names.keys).contains)
        keyNames = try Self.keyNames(of: statement.table, db)
        var own: [RowEffect] =
            switch statement.verb {
            case .update:
                [RowEffect(table: statement.changed, kind: .update(list.map(Set.init)))]
            case .delete: [RowEffect(table: statement.changed, kind: .delete)]
            case .insert: [RowEffect(table: statement.changed, kind: .insert)]
            }
        if statement.verb == .insert, tokens.contains(where: { $0.isWord("CONFLICT") }) {
            own.append(RowEffect(table: statement.changed, kind: .update(nil)))
        }
        let all = objects.filter { $0[0] == "trigger" }
            .map { BatchTrigger(name: $0[1], table: $0[2], sql: $0[3]) }
        (effects, triggers) = try Self.following(own, all, db)
    }

    /// What changes cause further ones, which may be changes by foreign keys.
    private static func following(
        _ own: [RowEffect],
        _ triggers: [BatchTrigger],
        _ db: Database
    ) throws -> ([RowEffect], [BatchTrigger]) {
        var (effects, fired) = (own, [BatchTrigger]())
        guard !triggers.isEmpty else { return (effects, fired) }
        var place = 0
        while place < effects.count {
            let effect = effects[place]
            place += 1
            var next: [RowEffect] = []
            for trigger in triggers where trigger.fires(on: effect) {
                if !fired.contains(where: { $0.name == trigger.name }) { fired.append(trigger) }
                next += trigger.effects ?? []
            }
            // Those of the statement itself are watched when it runs.
            if let trigger = effect.trigger, effect.kind != .insert {
                next += try actions(on: effect.table, db).flatMap { child in
                    [.delete, .update(nil)].map {
                        RowEffect(table: child, kind: $0, trigger: trigger)
                    }
                }
            }
            effects += next.filter { !effects.contains($0) }
        }
        return (effects, fired)
    }

    private static func actions(on table: String, _ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT DISTINCT m.name FROM main.sqlite_schema AS m,
                    pragma_foreign_key_list(m.name) AS f
                WHERE m.type = 'table' AND f."table" = ? COLLATE NOCASE
                    AND (f.on_delete NOT IN ('NO ACTION', 'RESTRICT')
                        OR f.on_update NOT IN ('NO ACTION', 'RESTRICT'))
                """,
            arguments: [table]
        ).map(\.foldedName)
    }

    private static func namesBehind(_ objects: [Row], named names: Set<String>) -> [String: Set<
        String
    >] {
        var texts: [String: Set<String>] = [:]
        for object in objects where object[0] != "trigger" {
            let name = (object[1] as String).foldedName
            let text = SQLTokens(object[3]).tokens
            texts[name] = Set(text.filter(\.isName).map(\.name)).subtracting([name])
        }
        var behind: [String: Set<String>] = [:]
        for (name, direct) in texts where names.contains(name) {
            var (all, added) = (direct, direct)
            while !added.isEmpty {
                var next: Set<String> = []
                for name in added { next.formUnion(texts[name] ?? []) }
                added = next.subtracting(all)
                all.formUnion(added)
            }
            behind[name] = all
        }
        return behind
    }

    private static func keyNames(of table: String, _ db: Database) throws -> Set<String> {
        let primary = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE pk > 0",
            arguments: [table]
        )
        return Set(primary.map(\.foldedName)).union(["rowid", "oid", "_rowid_"])
    }

    // MARK: - What Depends on Other Rows

    /// Why batches may have another result than the whole statement, as the end of a sentence; `nil` if
    /// they have the same.
    func obstacle(in db: Database) throws -> String? {
        for text in texts {
            if let name = text.counter { return "\(name) depends on the rows before" }
            if let name = text.momentary { return "\(name) has another value in each batch" }
        }
        let changed = statement.changed
        for (name, names) in behind.sorted(by: { $0.key < $1.key })
        where name != changed && names.contains(changed) {
            return """
                it reads the table that it changes through '\(name)', and a batch sees the batches \
                before it
                """
        }
        let walked = try TableShape(statement.table, in: db)
        let shape = try TableShape(changed, in: db)
        if let reason = unkeptRowid(of: walked) { return reason }
        let questions = try BatchQuestions(
            texts[0],
            statement,
            walked: walked,
            changed: shape,
            in: db
        )
        if statement.verb == .insert, !questions.areAboutOwnRows {
            return """
                it asks for other rows of '\(changed)' than that which it adds by its key, and a batch sees \
                the batches before it
                """
        }
        let conflicts = BatchConflicts(
            texts[0],
            statement,
            walked: walked,
            changed: shape,
            adding: questions.added
        )
        if let reason = try conflicts?.obstacle() ?? conflicts?.joinObstacle(in: db) {
            return reason
        }
        for table in Set(effects.map(\.table)).sorted() {
            let text = try String.fetchOne(
                db,
                sql:
                    "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
                arguments: [table]
            )
            // Not the table's own name.
            let tokens = text.map { SQLTokens($0).tokens.drop { $0.text != "(" } }
            guard let name = tokens?.counter else { continue }
            return "\(name) in the table '\(table)' depends on the rows before"
        }
        if let trigger = triggers.first(where: { $0.counter != nil }) {
            return """
                \(trigger.counter ?? "") in the trigger '\(trigger.name)' depends on the rows before
                """
        }
        if let trigger = triggers.first(where: { $0.effects == nil }) {
            return "what the trigger '\(trigger.name)' changes can't be told"
        }
        for effect in effects {
            guard let trigger = effect.trigger, try reads(effect, in: db) else { continue }
            return """
                the trigger '\(trigger)' changes what the statement reads of '\(effect.table)', \
                perhaps in rows of other batches
                """
        }
        let hasJoin = statement.verb == .insert && statement.hasFurtherTables
        func isInOrder() throws -> Bool { try !hasJoin && goesByKey(in: db) }
        if let conflicts, conflicts.numbersRows, try !isInOrder() {
            return """
                as a whole it may take the rows in another order than by their key, and the rows of \
                '\(changed)' would get other numbers
                """
        }
        let trigger = try triggers.first { trigger in
            try conflicts?.ownRule != nil || !trigger.onlyAdds || numbersRows(trigger, in: db)
        }
        guard let trigger, try !isInOrder() else { return nil }
        return """
            as a whole it takes the rows in another order than by their key, and the result of the \
            trigger '\(trigger.name)' may depend on that
            """
    }

    /// `VACUUM` gives rows other rowids, unless an `INTEGER PRIMARY KEY` keeps them. A row would be copied
    /// twice, and another one not at all. <https://www.sqlite.org/lang_vacuum.html>
    private func unkeptRowid(of walked: TableShape?) -> String? {
        guard statement.verb == .insert, let walked, walked.rowid == nil,
            !walked.rowidNames.isDisjoint(with: names.keys)
        else { return nil }
        return """
            '\(statement.table)' has no INTEGER PRIMARY KEY, and VACUUM in another program would give its \
            rows other rowids
            """
    }

    /// Whether rows that a trigger adds may get a number by their order, or stand in each other's way.
    private func numbersRows(_ trigger: BatchTrigger, in db: Database) throws -> Bool {
        try (trigger.effects ?? []).contains { effect in
            guard let shape = try TableShape(effect.table, in: db) else { return false }
            return shape.rowid != nil || !shape.rules.isEmpty
        }
    }

    /// Whether the statement may read what another one, or a trigger, changes.
    func reads(_ effect: RowEffect, in db: Database) throws -> Bool {
        let isWalked = effect.table == statement.table.foldedName
        let isBehind = behind.values.contains { $0.contains(effect.table) }
        if shadows.contains(where: { $0.hasPrefix("\(effect.table)_") }) { return true }
        // Once, it is the table that gets rows.
        let least = statement.verb == .insert && effect.table == statement.changed ? 1 : 0
        guard isWalked || isBehind || names[effect.table, default: 0] > least else { return false }
        guard case .update(let columns?) = effect.kind, !isBehind, !readsAllColumns else {
            return true
        }
        let generated = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden IN (2, 3)",
            arguments: [effect.table]
        )
        // Such a column changes with others.
        if generated.contains(where: { names[$0.foldedName] != nil }) { return true }
        return columns.contains { column in
            isWalked && keyNames.contains(column)
                || names[column, default: 0] > (isWalked && assigned.contains(column) ? 1 : 0)
        }
    }

    /// Whether the key is in the order of its values, as for batches. One of a table WITHOUT
    /// ROWID may not be.
    private func isKeyAscending(in db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT NOT EXISTS (
                    SELECT 1 FROM pragma_table_list AS l, pragma_index_list(l.name, 'main') AS p,
                        pragma_index_xinfo(p.name, 'main') AS i
                    WHERE l.schema = 'main' AND l.name = ? COLLATE NOCASE AND l.wr AND p.origin = 'pk'
                        AND i.key AND (i."desc" OR i.coll <> 'BINARY')
                )
                """,
            arguments: [statement.table]
        ) ?? false
    }

    /// Whether the whole statement takes the rows in the order in which batches do.
    private func goesByKey(in db: Database) throws -> Bool {
        guard let plan = try? Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)") else {
            // What is wrong with it is said when it runs.
            return true
        }
        let first: String? = plan.first { $0[1] == 0 }?[3]
        let words = (first ?? "").split(separator: " ")
        guard words.count > 1, ["SCAN", "SEARCH"].contains(words[0]),
            [statement.table, statement.qualifier.unquotedName].contains(where: {
                words[1] == $0 || $0.contains(" ")
            })
        else { return false }
        let text = words.joined(separator: " ")
        // The values of IN may come in the order of another index.
        guard !text.contains("=?") || !texts[0].contains(where: { $0.isWord("IN") }) else {
            return false
        }
        guard !text.contains(" USING ") || text.contains(" PRIMARY KEY") else { return false }
        return try isKeyAscending(in: db)
    }
}
