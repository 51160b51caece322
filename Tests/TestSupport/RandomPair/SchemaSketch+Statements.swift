import MigrationKitGRDB

/// The statements that create a random schema.
extension SchemaSketch {
    /// A text with names instead of the numbers of columns.
    func text(_ template: String, _ table: Table, before: String = "") -> String {
        table.columns.reduce(template) {
            $0.replacing("{\($1.number)}", with: before + spelled($1.name))
        }
    }

    private func spelled(_ name: String) -> String {
        let isPlain =
            name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            && name.last?.isNumber == true
        return isSpelledOtherwise && isPlain ? name.uppercased() : name.quotedName
    }

    func statements() -> [String] {
        ["CREATE TABLE log (what)"] + tables.map(createTable) + indexes.map(createIndex)
            + views.flatMap(createViews) + searches.map(createSearch)
            + triggers.map(createTrigger)
    }

    private func createTable(_ table: Table) -> String {
        var lines = table.columns.enumerated().map { place, column in
            definition(column, isKey: place < table.keyCount && table.keyCount == 1, table)
        }
        if table.key == .pair {
            lines.append("PRIMARY KEY ({\(table.columns[0].number)}, {\(table.columns[1].number)})")
        }
        lines += table.uniques.map { key in
            "UNIQUE (\(key.map { "{\($0)}" }.joined(separator: ", ")))"
        }
        lines += table.checks.map { "CHECK (\($0))" }
        let options = [
            table.isStrict ? "STRICT" : nil, table.isWithoutRowID ? "WITHOUT ROWID" : nil,
        ].compactMap(\.self).joined(separator: ", ")
        let body = text(lines.joined(separator: ",\n  "), table)
        return isSpelledOtherwise
            ? "create table \(spelled(table.name))( -- a comment\n\(body)) \(options)"
            : "CREATE TABLE \(spelled(table.name)) (\n  \(body)\n) \(options)"
    }

    private func definition(_ column: Column, isKey: Bool, _ table: Table) -> String {
        var words = ["{\(column.number)}", column.type]
        if isKey {
            words.append(table.key == .autoincrement ? "PRIMARY KEY AUTOINCREMENT" : "PRIMARY KEY")
        }
        if column.isRequired { words.append("NOT NULL") }
        if column.isUnique { words.append("UNIQUE") }
        if let value = column.defaultValue { words.append("DEFAULT \(value)") }
        if let collation = column.collation { words.append("COLLATE \(collation)") }
        if let check = column.check { words.append("CHECK (\(check))") }
        if let (number, actions) = column.parent, let parent = self.table(number) {
            let target = spelled(parent.columns[0].name)
            words.append("REFERENCES \(spelled(parent.name)) (\(target))\(actions)")
        }
        if let (expression, isStored) = column.generated {
            words.append("AS (\(expression)) \(isStored ? "STORED" : "VIRTUAL")")
        }
        return words.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private func createIndex(_ index: Index) -> String {
        guard let table = table(index.table) else { return "" }
        let parts = text(index.parts.joined(separator: ", "), table)
        let condition = index.condition.map { " WHERE \(text($0, table))" } ?? ""
        return "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX \(spelled(index.name)) "
            + "ON \(spelled(table.name)) (\(parts))\(condition)"
    }

    private func createViews(_ view: View) -> [String] {
        guard let table = table(view.table) else { return [] }
        let columns = view.columns.enumerated().map { "{\($1)} AS c\($0)" }
        let name = spelled(view.name)
        let list = text(columns.joined(separator: ", "), table)
        var result = [
            "CREATE VIEW \(name) AS SELECT \(list) FROM \(spelled(table.name))\(view.filter)"
        ]
        if view.hasSecond {
            let second = "again \(view.name)".quotedName
            result.append("CREATE VIEW \(second) AS SELECT upper(c0) FROM \(name)")
        }
        if view.hasTrigger {
            let trigger = "on \(view.name)".quotedName
            result.append(
                "CREATE TRIGGER \(trigger) INSTEAD OF INSERT ON \(name) "
                    + "BEGIN INSERT INTO log VALUES (new.c0); END"
            )
        }
        return result
    }

    private func createTrigger(_ trigger: Trigger) -> String {
        guard let table = table(trigger.table) else { return "" }
        let head = "CREATE TRIGGER \(spelled(trigger.name)) "
        if trigger.isElsewhere {
            return head + "AFTER DELETE ON log BEGIN UPDATE \(spelled(table.name)) "
                + text("SET \(trigger.value) = NULL WHERE \(trigger.value) = 'gone'; END", table)
        }
        let row = trigger.event.contains("DELETE") ? "old." : "new."
        return head + text(trigger.event, table) + " ON \(spelled(table.name)) BEGIN "
            + "INSERT INTO log SELECT \(text(trigger.value, table, before: row)) -- ;\n; END"
    }

    private func createSearch(_ search: Search) -> String {
        guard let table = table(search.table) else { return "" }
        let columns = search.columns.compactMap { table.column($0)?.name }
        let rowID =
            [.rowID, .autoincrement].contains(table.key) ? table.columns[0].name : "rowid"
        let content =
            search.isExternal
            ? ", content=\(table.name.sqlString), content_rowid=\(rowID.sqlString)" : ""
        return "CREATE VIRTUAL TABLE \(search.name) USING fts5("
            + columns.joined(separator: ", ") + content + search.options + ")"
    }
}
