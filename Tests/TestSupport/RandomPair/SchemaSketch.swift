/// The parts of a random schema. In texts, `{7}` is the name of the column with the number 7.
package struct SchemaSketch {
    package struct Column {
        package let number: Int
        package var name: String
        var type: String
        var isRequired = false
        var defaultValue: String?
        var collation: String?
        var check: String?
        /// The number of the parent, and the actions.
        var parent: (table: Int, actions: String)?
        package var generated: (expression: String, isStored: Bool)?
        var isUnique = false
    }

    package struct Table {
        enum Key {
            case none, rowID, autoincrement, text, pair
        }

        package let number: Int
        package var name: String
        var key: Key
        package var columns: [Column] = []
        /// The columns of each `UNIQUE` constraint.
        var uniques: [[Int]] = []
        var checks: [String] = []
        var isStrict = false
        package var isWithoutRowID = false

        /// The columns of the primary key come first.
        var keyCount: Int {
            switch key {
            case .none: 0
            case .rowID, .autoincrement, .text: 1
            case .pair: 2
            }
        }

        package var hasRowIDColumn: Bool { keyCount == 1 && columns[0].type == "INTEGER" }

        package func column(_ number: Int) -> Column? { columns.first { $0.number == number } }
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

    package struct Search {
        package var name: String
        let table: Int
        var columns: [Int]
        var options: String
        package var isExternal = false
    }

    var random: SeededGenerator
    package var tables: [Table] = []
    var indexes: [Index] = []
    var views: [View] = []
    var triggers: [Trigger] = []
    package var searches: [Search] = []
    var changes: [String] = []
    /// Whether names and keywords are spelled in another way.
    private(set) var isSpelledOtherwise = false
    private var lastNumber = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    package func table(_ number: Int) -> Table? { tables.first { $0.number == number } }

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
}
