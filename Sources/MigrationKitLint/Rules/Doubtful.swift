import MigrationKitSchema

/// The rules of the group "Missing or doubtful", but for `no-rollback` and `check-incomplete`.
enum Doubtful {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        newTables(in: step, &findings)
        unindexedKeys(in: step, &findings)
        manyAlters(in: step, &findings)
        doubleQuotedStrings(in: step, &findings)
        wayDown(of: step, &findings)
    }

    // MARK: - Tables

    private static func newTables(in step: StepRecord, _ findings: inout FindingList) {
        let formerPages = Set(step.before.tables.values.map(\.rootPage))
        let new = step.after.tables.values.filter { table in
            step.before.table(table.name) == nil && !table.isVirtual
                && !formerPages.contains(table.rootPage)
        }
        for table in new.sorted(by: { $0.name < $1.name }) {
            let creation = step.statements.last { statement in
                if case .createTable(let name) = statement.kind {
                    name.isSameName(as: table.name)
                } else {
                    false
                }
            }
            if !table.isStrict {
                findings.add(
                    .tableNotStrict,
                    at: creation,
                    "table '\(table.name)' isn't STRICT, so its columns accept values of any type",
                    fix: "Add STRICT after the closing parenthesis."
                )
            }
            if table.isAutoincrement {
                findings.add(
                    .needlessAutoincrement,
                    at: creation,
                    "table '\(table.name)' has AUTOINCREMENT, which is only needed if ids of "
                        + "deleted rows must never be given out again",
                    fix: "Leave it out. An INTEGER PRIMARY KEY counts up without it."
                )
            }
        }
    }

    private static func unindexedKeys(in step: StepRecord, _ findings: inout FindingList) {
        let dropsIndex = step.statements.contains {
            if case .dropIndex = $0.kind { true } else { false }
        }
        let changed = step.after.tables.values.filter { table in
            let before = step.before.table(table.name)
            return dropsIndex || before?.sql != table.sql || before?.rootPage != table.rootPage
        }
        for table in changed.sorted(by: { $0.name < $1.name }) {
            let before = step.before.table(table.name)
            for key in table.foreignKeys where !step.after.hasIndex(on: key.columns, of: table) {
                if let before, before.foreignKeys.contains(where: { $0.columns == key.columns }),
                    !step.before.hasIndex(on: key.columns, of: before)
                {
                    continue
                }
                let creation = step.rebuilds.first { $0.table.isSameName(as: table.name) }?.creation
                findings.add(
                    .foreignKeyWithoutIndex,
                    at: creation
                        ?? step.last { before, after in
                            before.table(table.name)?.foreignKeys.contains(key) != true
                                && after.table(table.name)?.foreignKeys.contains(key) == true
                        },
                    "table '\(table.name)' has no index on \(listed(key.columns)), so a change of "
                        + "a row in '\(key.table)' reads the whole table",
                    fix: "CREATE INDEX \(table.name)_\(key.columns.joined(separator: "_")) ON "
                        + "\(table.name) (\(key.columns.joined(separator: ", ")));"
                )
            }
        }
    }

    /// Each DROP COLUMN writes all rows: <https://www.sqlite.org/lang_altertable.html>
    private static func manyAlters(in step: StepRecord, _ findings: inout FindingList) {
        var drops: [String: [StatementRecord]] = [:]
        for statement in step.statements where statement.failure == nil {
            guard case .dropColumn(let table, _) = statement.kind else { continue }
            drops[table.foldedName, default: []].append(statement)
        }
        for statements in drops.values where statements.count >= 3 {
            guard case .dropColumn(let table, _) = statements[0].kind else { continue }
            findings.add(
                .manyAlters,
                at: statements[0],
                "table '\(table)' is written \(statements.count) times, once for each dropped "
                    + "column",
                fix: "Rebuild the table once: create it anew, copy, drop, rename."
            )
        }
    }

    // MARK: - Strings in Double Quotes

    /// SQLite takes a name in double quotes for a string if it names nothing. A name that is
    /// nowhere in the schema or in the statement, in a statement that SQLite accepts, is one.
    private static func doubleQuotedStrings(in step: StepRecord, _ findings: inout FindingList) {
        // Programs with GRDB refuse such a string, but still accept it as a default.
        for statement in step.statements where statement.takesNameForString {
            guard !statement.failureIsExplained else { continue }
            findings.add(
                .doubleQuotedString,
                level: .error,
                at: statement,
                "a string is in double quotes, which are for names, so SQLite refuses the statement",
                fix:
                    "Write strings in single quotes. Migrations that are applied already run as they "
                    + "are with double-quoted-strings = true in migrationkit.toml."
            )
        }
        let suspects = step.statements.filter { statement in
            statement.failure == nil && !statement.takesNameForString
                && statement.parsed.words.contains { $0.text.hasPrefix("\"") }
                && !statement.actions.contains { $0.database == "temp" }
        }
        guard !suspects.isEmpty else { return }
        for statement in suspects {
            let names = statement.before.names.union(statement.after.names)
                .union(statement.parsed.ownNames)
            let words = statement.parsed.words
            for (number, word) in words.enumerated() where word.text.hasPrefix("\"") {
                let previous = number > 0 ? words[number - 1] : nil
                let next = number + 1 < words.count ? words[number + 1].text : ""
                guard previous?.mayPrecedeString ?? false, ![".", "("].contains(next),
                    previous?.keyword == "DEFAULT" || !names.contains(word.name)
                else { continue }
                findings.add(
                    .doubleQuotedString,
                    at: statement,
                    "a text in double quotes names no column, so SQLite takes it for a string",
                    fix: "Write strings in single quotes."
                )
                break
            }
        }
    }

    // MARK: - The Rollback

    private static func wayDown(of step: StepRecord, _ findings: inout FindingList) {
        guard let down = step.down, step.incomplete == nil, step.succeeds else { return }
        if let failed = down.statements.first(where: { $0.failure != nil }) {
            guard failed.failure?.lack == nil else { return }
            findings.add(
                .rollbackDiffers,
                at: failed,
                "the rollback fails: "
                    + (failed.failure.map { SQLiteMessage($0).withoutValues(in: failed) } ?? "")
            )
        } else if down.failure != nil {
            findings.add(.rollbackDiffers, at: nil, "the rollback fails")
        } else if let difference = step.before.difference(to: down.after) {
            findings.add(
                .rollbackDiffers,
                at: down.statements.first,
                "the rollback doesn't restore the schema: \(difference)",
                fix: "Undo the statements in the reverse order."
            )
        } else if !down.tablesWithMoreRows.isEmpty {
            let tables = down.tablesWithMoreRows.compactMap { step.before.table($0)?.name }
            findings.add(
                .rollbackDiffers,
                at: down.statements.first,
                "the rollback leaves rows in \(listed(tables)) that the migration has inserted",
                fix: "Delete them in the rollback."
            )
        }
    }
}

extension SQLTokens.Token {
    /// Whether an expression may come after it.
    fileprivate var mayPrecedeString: Bool {
        guard let keyword else { return kind == .symbol && ![")", ".", ";"].contains(text) }
        return [
            "SELECT", "DISTINCT", "WHERE", "AND", "OR", "NOT", "THEN", "ELSE", "WHEN", "CASE",
            "LIKE", "GLOB", "MATCH", "REGEXP", "BETWEEN", "IS", "DEFAULT", "HAVING", "LIMIT",
        ].contains(keyword)
    }
}

extension ParsedStatement {
    /// The names that the statement itself defines: after `AS`, `WITH` and a closing parenthesis.
    fileprivate var ownNames: Set<String> {
        var names: Set<String> = []
        for (word, next) in zip(words, words.dropFirst()) {
            if ["AS", "WITH", "RECURSIVE", "WINDOW"].contains(word.keyword) || word.text == ")" {
                names.insert(next.name)
            }
            if next.keyword == "AS", [.quotedName, .string].contains(word.kind) {
                names.insert(word.name)
            }
        }
        return names
    }
}

extension SchemaModel {
    /// All names, with those that tables have without declaring them, in lower case.
    fileprivate var names: Set<String> {
        var names: Set<String> = [
            "rowid", "oid", "_rowid_", "rank", "key", "value", "type", "atom", "id", "parent",
            "fullkey", "path", "json", "root", "name", "tbl_name", "rootpage", "sql", "seq",
        ]
        for (name, table) in tables {
            names.insert(name)
            names.formUnion(table.columns.map { $0.name.foldedName })
        }
        for view in views.values {
            // Their columns are not read; their text has the names.
            names.formUnion(SQLTokens(view.sql).tokens.map(\.name))
        }
        names.formUnion(indexes.keys)
        names.formUnion(triggers.keys)
        return names
    }

    /// Whether an index begins with these columns, in any order.
    fileprivate func hasIndex(on columns: [String], of table: Table) -> Bool {
        let wanted = Set(columns.map { $0.foldedName })
        let full = indexes(of: table.name).filter { $0.condition == nil }.map {
            $0.columns.map(\.text)
        }
        let unique = table.uniques.map { $0.columns.map(\.text) }
        return (full + unique + [table.primaryKey]).contains { key in
            key.count >= wanted.count
                && Set(key.prefix(wanted.count).map { $0.foldedName }) == wanted
        }
    }

    /// What another schema has more, less or otherwise, as a clause; `nil` if both mean the same.
    /// The order of columns doesn't count.
    fileprivate func difference(to other: SchemaModel) -> String? {
        func difference<Object>(
            _ kind: String,
            _ before: [String: Object],
            _ after: [String: Object],
            name: (Object) -> String,
            compare: (Object, Object) -> String?
        ) -> String? {
            for key in Set(before.keys).union(after.keys).sorted() {
                switch (before[key], after[key]) {
                case (let old?, nil): return "\(kind) '\(name(old))' is missing"
                case (nil, let new?): return "\(kind) '\(name(new))' is left behind"
                case (let old?, let new?):
                    guard let detail = compare(old, new) else { continue }
                    return "\(kind) '\(name(old))' \(detail)"
                case (nil, nil): continue
                }
            }
            return nil
        }
        return difference("table", tables, other.tables, name: \.name) {
            $0.difference(to: $1)
        }
            ?? difference("index", indexes, other.indexes, name: \.name) {
                $0.hasSameDefinition(as: $1) ? nil : "differs"
            }
            ?? difference("trigger", triggers, other.triggers, name: \.name) {
                $0.definition == $1.definition ? nil : "differs"
            }
            ?? difference("view", views, other.views, name: \.name) {
                $0.definition == $1.definition ? nil : "differs"
            }
    }
}

extension SchemaModel.Table {
    /// What another table has more, less or otherwise, as the end of a sentence; `nil` if both are
    /// the same apart from the order of columns and constraints.
    fileprivate func difference(to other: Self) -> String? {
        func same<Part>(_ parts: [Part], _ others: [Part], _ meaning: (Part) -> String) -> Bool {
            parts.map(meaning).sorted() == others.map(meaning).sorted()
        }
        for column in columns {
            guard let now = other.column(column.name) else {
                return "lacks column '\(column.name)'"
            }
            if column.meaning != now.meaning {
                return "defines column '\(column.name)' differently"
            }
        }
        if let new = other.columns.first(where: { column($0.name) == nil }) {
            return "still has column '\(new.name)'"
        }
        if key?.meaning != other.key?.meaning || hasRowIDColumn != other.hasRowIDColumn {
            return "has a different primary key"
        }
        if !same(uniques, other.uniques, \.meaning) { return "has different UNIQUE constraints" }
        if !same(checks, other.checks, \.meaning) { return "has different CHECKs" }
        if !same(foreignKeys, other.foreignKeys, { $0.meaning(in: self) }) {
            return "has different foreign keys"
        }
        return options == other.options ? nil : "differs in STRICT, WITHOUT ROWID or AUTOINCREMENT"
    }
}
