import Foundation
import MigrationKitGRDB
import TestSupport

/// A random schema with rows, and what several random changes make of it.
///
/// Tables and columns keep their numbers when they are renamed, so that it is known what must become
/// of each row, without knowing how a migration is planned.
struct RandomPair: Encodable {
    let from: SchemaSketch
    let to: SchemaSketch
    let fromStatements: [String]
    let toStatements: [String]
    /// The rows of the present schema.
    let inserts: [String]
    let renames: [[String]]
    let backfills: [String: String]
    /// The changes, for a report.
    let changes: [String]

    init(seed: UInt64) {
        var sketch = SchemaSketch(seed: seed)
        sketch.make()
        from = sketch
        fromStatements = sketch.statements()
        inserts = sketch.inserts()
        for _ in 0..<Int.random(in: 1...5, using: &sketch.random) { sketch.change() }
        to = sketch
        toStatements = sketch.statements()
        changes = sketch.changes
        backfills = sketch.backfills(since: from)
        renames = Self.renames(from, to)
    }

    var schemaRenames: [SchemaRename] {
        renames.map {
            $0.count == 2
                ? SchemaRename(table: $0[0], newName: $0[1])
                : SchemaRename(table: $0[0], column: $0[1], newName: $0[2])
        }
    }

    /// The tables that are in both, with the columns that are in both.
    var pairs: [(old: SchemaSketch.Table, new: SchemaSketch.Table)] {
        from.tables.compactMap { old in to.table(old.number).map { (old, $0) } }
    }

    private static func renames(_ from: SchemaSketch, _ to: SchemaSketch) -> [[String]] {
        from.tables.flatMap { old -> [[String]] in
            guard let new = to.table(old.number) else { return [] }
            return (old.name == new.name ? [] : [[old.name, new.name]])
                + old.columns.compactMap { column in
                    guard let other = new.column(column.number), other.name != column.name else {
                        return nil
                    }
                    return [old.name, column.name, other.name]
                }
        }
    }

    private enum CodingKeys: String, CodingKey {
        case fromStatements = "from"
        case toStatements = "to"
        case inserts, renames, backfills, changes
    }
}

/// The parts of a random schema. In texts, `{7}` is the name of the column with the number 7.
struct SchemaSketch {
    struct Column {
        let number: Int
        var name: String
        var type: String
        var isRequired = false
        var defaultValue: String?
        var collation: String?
        var check: String?
        /// The number of the parent, and the actions.
        var parent: (table: Int, actions: String)?
        var generated: (expression: String, isStored: Bool)?
        var isUnique = false
    }

    struct Table {
        enum Key {
            case none, rowID, autoincrement, text, pair
        }

        let number: Int
        var name: String
        var key: Key
        var columns: [Column] = []
        /// The columns of each `UNIQUE` constraint.
        var uniques: [[Int]] = []
        var checks: [String] = []
        var isStrict = false
        var isWithoutRowID = false

        /// The columns of the primary key come first.
        var keyCount: Int {
            switch key {
            case .none: 0
            case .rowID, .autoincrement, .text: 1
            case .pair: 2
            }
        }

        var hasRowIDColumn: Bool { keyCount == 1 && columns[0].type == "INTEGER" }

        func column(_ number: Int) -> Column? { columns.first { $0.number == number } }
    }

    struct Index {
        var name: String
        let table: Int
        var isUnique = false
        var parts: [String]
        var condition: String?
    }

    struct View {
        var name: String
        let table: Int
        var columns: [Int]
        var filter = ""
        /// A view over this one, and a trigger on it.
        var hasSecond = false
        var hasTrigger = false
    }

    struct Trigger {
        var name: String
        let table: Int
        var event: String
        var value: String
        /// Whether it is a trigger of the log that changes the table.
        var isElsewhere = false
    }

    struct Search {
        var name: String
        let table: Int
        var columns: [Int]
        var options: String
        var isExternal = false
    }

    var random: SeededGenerator
    var tables: [Table] = []
    var indexes: [Index] = []
    var views: [View] = []
    var triggers: [Trigger] = []
    var searches: [Search] = []
    var changes: [String] = []
    /// Whether names and keywords are spelled in another way.
    private var isSpelledOtherwise = false
    private var lastNumber = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    func table(_ number: Int) -> Table? { tables.first { $0.number == number } }

    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    mutating func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func name(_ kinds: [String]) -> String { "\(pick(kinds))\(number())" }

    mutating func respell() { isSpelledOtherwise.toggle() }

    // MARK: - Making

    mutating func make() {
        for _ in 0..<Int.random(in: 2...4, using: &random) { addTable() }
        for _ in 0..<Int.random(in: 0...3, using: &random) { addIndex() }
        for _ in 0..<Int.random(in: 0...2, using: &random) { addView() }
        for _ in 0..<Int.random(in: 0...2, using: &random) { addTrigger() }
        if chance(3) { addSearch() }
    }

    mutating func addTable() {
        let kinds: [Table.Key] = [.none, .rowID, .rowID, .autoincrement, .text, .pair]
        var table = Table(
            number: number(),
            name: name(["note", "Order", "my notes", "no\"te", "näme", "group", "x"]),
            key: pick(kinds)
        )
        table.isStrict = chance(5)
        table.isWithoutRowID = [.text, .pair].contains(table.key) && chance(2)
        for place in 0..<table.keyCount {
            let type = table.key == .text || place == 1 ? "TEXT" : "INTEGER"
            var column = Column(number: number(), name: name(["id", "the key"]), type: type)
            column.isRequired = [.text, .pair].contains(table.key)
            if place == 1, chance(2) { column.collation = "NOCASE" }
            table.columns.append(column)
        }
        tables.append(table)
        for _ in 0..<Int.random(in: 2...5, using: &random) {
            addColumn(to: tables.count - 1, mayBeRequired: true)
        }
        if chance(3) { addCheck(to: tables.count - 1) }
        if chance(4) { addUnique(to: tables.count - 1) }
    }

    mutating func type(isStrict: Bool) -> String {
        isStrict
            ? pick(["INTEGER", "INT", "REAL", "TEXT", "TEXT", "BLOB", "ANY"])
            : pick([
                "TEXT", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "", "DECIMAL(10, 2)",
                "VARCHAR(20)", "BOOLEAN",
            ])
    }

    /// - Returns: The place of the new column.
    mutating func addColumn(to place: Int, mayBeRequired: Bool) {
        let table = tables[place]
        var column = Column(
            number: number(),
            name: name(["a", "body", "The title", "b\"q", "select", "größe"]),
            type: type(isStrict: table.isStrict)
        )
        if chance(3) { column.defaultValue = defaultValue(of: column) }
        if mayBeRequired, chance(4) { column.isRequired = true }
        if chance(4) { column.collation = pick(["NOCASE", "RTRIM", "BINARY"]) }
        if chance(5) { column.check = check(of: column.number) }
        if chance(8) { column.isUnique = true }
        if chance(6), let first = table.columns.last {
            column.generated = (
                pick(["length({\(first.number)})", "ifnull({\(first.number)}, 1) || 'x'"]),
                chance(2)
            )
            column.type = table.isStrict ? "ANY" : column.type
            column.isRequired = false
            column.defaultValue = nil
            column.isUnique = false
        } else if chance(4), let parent = parents.randomElement(using: &random) {
            refer(&column, to: parent)
        }
        let isLast = chance(2)
        tables[place].columns.insert(
            column,
            at: isLast
                ? table.columns.count
                : Int.random(in: table.keyCount...table.columns.count, using: &random)
        )
    }

    /// Tables with one column as their key.
    var parents: [Table] { tables.filter { $0.keyCount == 1 } }

    mutating func refer(_ column: inout Column, to parent: Table) {
        column.parent = (
            parent.number,
            pick([
                "", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE",
                " DEFERRABLE INITIALLY DEFERRED",
            ])
        )
        column.type = parent.columns[0].type
        column.collation = parent.columns[0].collation
        column.defaultValue = nil
        column.isUnique = false
        column.check = nil
    }

    mutating func defaultValue(of column: Column) -> String {
        switch column.type {
        case "TEXT", "VARCHAR(20)":
            pick(["'none'", "''", "'it''s'", "(lower('A') || 'b')", "CURRENT_TIMESTAMP"])
        case "BLOB": pick(["x'00ff'", "x''"])
        case "REAL": pick(["1.5", "-2.0", "1e3", "(1.0 + 1)"])
        default: pick(["0", "5", "-1", "(1 + 1)", "+3"])
        }
    }

    mutating func check(of column: Int) -> String {
        pick([
            "{\(column)} IS NULL OR length({\(column)}) < 900", "length({\(column)}) < 12",
            "{\(column)} <> 'forbidden, (word)'",
        ])
    }

    mutating func addCheck(to place: Int) {
        let numbers = tables[place].columns.map(\.number)
        tables[place].checks.append(
            "{\(pick(numbers))} IS NOT 'x' OR coalesce({\(pick(numbers))}, 1) <> \(number())"
        )
    }

    mutating func addUnique(to place: Int) {
        let numbers = tables[place].columns.filter { $0.generated == nil }.map(\.number)
        let columns = Array(Set([pick(numbers), pick(numbers)])).sorted()
        if !tables[place].uniques.contains(columns) { tables[place].uniques.append(columns) }
    }

    mutating func addIndex() {
        guard !tables.isEmpty else { return }
        let table = pick(tables)
        var index = Index(name: name(["ix", "my index"]), table: table.number, parts: [])
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let column = "{\(pick(table.columns).number)}"
            let part = chance(4) ? "lower(\(column))" : column
            index.parts.append(part + pick(["", "", " DESC", " COLLATE NOCASE"]))
        }
        if chance(3) { index.condition = "{\(pick(table.columns).number)} IS NOT NULL" }
        index.isUnique = chance(6)
        indexes.append(index)
    }

    mutating func addView() {
        guard !tables.isEmpty else { return }
        let table = pick(tables)
        var view = View(
            name: name(["view", "my view"]),
            table: table.number,
            columns: table.columns.map(\.number).shuffled(using: &random)
        )
        view.columns = Array(view.columns.prefix(2))
        view.hasSecond = chance(3)
        view.hasTrigger = chance(3)
        views.append(view)
    }

    mutating func addTrigger() {
        guard !tables.isEmpty else { return }
        let table = pick(tables)
        let column = pick(table.columns).number
        var trigger = Trigger(
            name: name(["tr", "my trigger"]),
            table: table.number,
            event: pick([
                "AFTER INSERT", "BEFORE DELETE", "AFTER UPDATE", "AFTER UPDATE OF {\(column)}",
            ]),
            value: "{\(column)}"
        )
        if chance(4), let plain = table.columns.last(where: { $0.generated == nil }),
            table.columns.count > table.keyCount
        {
            trigger.isElsewhere = true
            trigger.value = "{\(plain.number)}"
        }
        triggers.append(trigger)
    }

    mutating func addSearch() {
        let possible = tables.filter { !$0.isWithoutRowID }
        guard !possible.isEmpty else { return }
        let table = pick(possible)
        let columns = table.columns.filter {
            $0.generated == nil && $0.name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }.map(\.number)
        guard !columns.isEmpty else { return }
        searches.append(
            Search(
                name: name(["search"]),
                table: table.number,
                columns: Array(columns.prefix(2)),
                options: pick(["", ", tokenize='porter'", ", prefix='2 3'"]),
                isExternal: chance(2)
            )
        )
    }

    // MARK: - Statements

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
        return isSpelledOtherwise && isPlain ? name.uppercased() : name.quoted
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
            let second = "again \(view.name)".quoted
            result.append("CREATE VIEW \(second) AS SELECT upper(c0) FROM \(name)")
        }
        if view.hasTrigger {
            let trigger = "on \(view.name)".quoted
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
            ? ", content=\(table.name.string), content_rowid=\(rowID.string)" : ""
        return "CREATE VIRTUAL TABLE \(search.name) USING fts5("
            + columns.joined(separator: ", ") + content + search.options + ")"
    }
}
