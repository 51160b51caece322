import Foundation
import TestSupport

/// A random schema with contents, and a change of one of its tables.
///
/// The changes don't touch what other things name, except for a renamed column: what must be there
/// afterwards is known without knowing how a rebuild works.
struct RandomSchema: Encodable {
    enum Change: String, CaseIterable, Encodable {
        case identity, add, rename, drop, type, require
    }

    /// The statements that create the schema and fill it.
    var setup: [String] = []
    /// The table that changes.
    let table: String
    let change: Change
    /// The column that changes; empty for no change.
    private(set) var column = ""
    /// Its new name, type or definition.
    private(set) var detail = ""
    /// The definition with the change.
    private(set) var definition = ""
    /// The features of the schema, for a report.
    var features: Set<String> = []

    /// Whether a table refers to the one that changes.
    var hasChildren: Bool {
        features.contains { $0.hasPrefix("child ") || $0 == "self-reference" }
    }

    // What the table is made of.
    private struct Column {
        var name: String
        var type: String
        var constraints = ""
        var isGenerated = false
        var sql: String {
            [name.quoted, type, constraints].filter { !$0.isEmpty }.joined(separator: " ")
        }
    }

    private var columns: [Column] = []
    private var constraints: [String] = []
    private var options: [String] = []
    private(set) var key: [String] = []
    private(set) var hasRowID = true
    private var keyType = "INTEGER"
    private var random: SeededGenerator
    private var isStrict = false

    private enum CodingKeys: String, CodingKey {
        case setup, table, change, column, detail, definition, features
    }

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        table = Self.pick(["note", "note", "Note", "order", "my notes", "no\"te"], &random)
        change = Self.pick(Change.allCases, &random)
        self.random = random
        setup.append("CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT)")
        setup.append("INSERT INTO author VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        setup.append("CREATE TABLE log (what)")
        makeKey()
        makeColumns()
        applyChange()
        setup.append(createTable(columns, constraints))
        fill()
        makeIndexes()
        makeViews()
        makeChildren()
        if hasRowID, chance(4) { makeSearch() }
        makeTriggers()
        if chance(5) {
            features.insert("statistics")
            setup.append("ANALYZE")
        }
    }

    mutating func chance(_ one: Int) -> Bool {
        Int.random(in: 0..<one, using: &random) == 0
    }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        Self.pick(values, &random)
    }

    private static func pick<Value>(_ values: [Value], _ random: inout SeededGenerator) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    private func createTable(_ columns: [Column], _ constraints: [String]) -> String {
        let body = (columns.map(\.sql) + constraints).joined(separator: ",\n  ")
        let tail = options.isEmpty ? "" : " " + options.joined(separator: ", ")
        return "CREATE TABLE \(table.quoted) (\n  \(body)\n)\(tail)"
    }

    // MARK: The table

    private mutating func makeKey() {
        isStrict = chance(5)
        if isStrict {
            options.append("STRICT")
            features.insert("STRICT")
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1:
            columns.append(Column(name: "id", type: "INTEGER", constraints: "PRIMARY KEY"))
            key = ["id"]
        case 2:
            columns.append(
                Column(name: "id", type: "INTEGER", constraints: "PRIMARY KEY AUTOINCREMENT")
            )
            key = ["id"]
            features.insert("AUTOINCREMENT")
        case 3:
            features.insert("implicit rowid")
        case 4:
            columns.append(Column(name: "code", type: "TEXT", constraints: "PRIMARY KEY NOT NULL"))
            key = ["code"]
            keyType = "TEXT"
            features.insert("implicit rowid")
        default:
            columns.append(Column(name: "id", type: "INTEGER", constraints: "NOT NULL"))
            columns.append(
                Column(name: "part", type: "TEXT", constraints: "NOT NULL COLLATE NOCASE")
            )
            constraints.append(pick(["PRIMARY KEY (id, part)", "PRIMARY KEY (part DESC, id)"]))
            options.append("WITHOUT ROWID")
            key = ["id", "part"]
            hasRowID = false
            features.insert("WITHOUT ROWID")
        }
    }

    private mutating func makeColumns() {
        columns.append(
            Column(
                name: "title",
                type: "TEXT",
                constraints: pick(["", "COLLATE NOCASE", "COLLATE RTRIM"])
            )
        )
        if columns.last?.constraints != "" { features.insert("collation") }
        columns.append(
            Column(
                name: "body",
                type: "TEXT",
                constraints: pick(["", "DEFAULT 'it''s'", "DEFAULT (1 + 1)"])
            )
        )
        columns.append(
            Column(
                name: "amount",
                type: isStrict ? "REAL" : pick(["REAL", "NUMERIC", "DECIMAL(10,2)"])
            )
        )
        columns.append(Column(name: "raw", type: "BLOB"))
        if chance(6) {
            features.insert("column of any type")
            columns[columns.count - 1].type = isStrict ? "ANY" : ""
        }
        if chance(2) {
            let action = pick([
                "", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE",
            ])
            columns.append(
                Column(
                    name: "author",
                    type: "INTEGER",
                    constraints:
                        "REFERENCES author(id)\(action)\(pick(["", " DEFERRABLE INITIALLY DEFERRED"]))"
                )
            )
        }
        if key.count == 1, chance(3) {
            features.insert("self-reference")
            columns.append(
                Column(
                    name: "parent",
                    type: keyType,
                    constraints:
                        "REFERENCES \(table.quoted)(\(key[0]))\(pick(["", " ON DELETE CASCADE"]))"
                )
            )
        }
        if chance(5) {
            features.insert("generated column")
            columns.append(
                Column(
                    name: "made",
                    type: "TEXT",
                    constraints: "GENERATED ALWAYS AS (lower(title) || '-' || ifnull(body, '')) "
                        + pick(["VIRTUAL", "STORED"]),
                    isGenerated: true
                )
            )
        }
        columns.append(Column(name: "plain_old", type: "TEXT"))
        columns.append(
            Column(name: "count_of", type: "INTEGER", constraints: pick(["", "DEFAULT 7"]))
        )
        if chance(2) { columns.append(Column(name: "spare", type: "INTEGER")) }
        if chance(3) {
            features.insert("CHECK")
            constraints.append("CHECK (count_of IS NULL OR count_of > -1000000)")
            if chance(4) {
                constraints.append(
                    "CONSTRAINT \"sizes, all\" CHECK (length(title) < 900 AND (\(table.quoted).body <> 'x)' OR 1))"
                )
            }
        }
        if chance(4) {
            features.insert("UNIQUE")
            constraints.append("UNIQUE (title, count_of, raw)\(pick(["", " ON CONFLICT IGNORE"]))")
        }
    }

    private mutating func applyChange() {
        var newColumns = columns
        func edit(_ name: String, _ change: (inout Column) -> Void) {
            for place in newColumns.indices where newColumns[place].name == name {
                change(&newColumns[place])
            }
        }
        switch change {
        case .identity: break
        case .add:
            column = "added"
            detail = pick(["TEXT", "INTEGER NOT NULL DEFAULT 5", "TEXT DEFAULT 'new'"])
            let words = detail.split(separator: " ", maxSplits: 1)
            newColumns.insert(
                Column(
                    name: column,
                    type: String(words[0]),
                    constraints: words.count > 1 ? String(words[1]) : ""
                ),
                at: Int.random(in: 0...newColumns.count, using: &random)
            )
        case .rename:
            (column, detail) = ("plain_old", "plain_new")
            edit(column) { $0.name = "plain_new" }
        case .drop:
            column = "plain_old"
            newColumns.removeAll { $0.name == "plain_old" }
        case .type:
            (column, detail) = ("count_of", "TEXT")
            edit(column) { $0.type = "TEXT" }
        case .require:
            column = "title"
            edit(column) { $0.constraints += " NOT NULL" }
        }
        definition = createTable(newColumns, constraints)
    }

    // MARK: The rows

    private mutating func text() -> String {
        pick([
            "''", "'Abc'", "'abc  '", "'007'", "'it''s'", "'näö'", "'1e3'", "'3.0'", "NULL",
            "'\(Int.random(in: 0..<100000, using: &random))'",
            "'word \(Int.random(in: 0..<50, using: &random))'",
        ])
    }

    private mutating func value(of column: Column, row: Int) -> String {
        switch column.name {
        case "id": return "\(row * 3)"
        case "code": return "'c\(row)'"
        case "part": return "'p\(row % 2)'"
        case "author": return pick(["NULL", "1", "2", "3"])
        case "parent": return row > 1 ? (keyType == "TEXT" ? "'c1'" : "3") : "NULL"
        case "title" where change == .require: return "'t\(row)'"
        case "count_of": return pick(["NULL", "0", "\(row)", "-5", "9007199254740993"])
        case "amount":
            return isStrict
                ? pick(["NULL", "1.5", "3.0", "1e300", "-0.0", "0.1"])
                : pick(["NULL", "1.5", "3.0", "1e300", "12", "'abc'", "x'00ff'", "0.1"])
        case "raw" where isStrict && column.type == "BLOB":
            return pick(["NULL", "x'00ff61'", "x''"])
        case "raw":
            return pick(["NULL", "x'00ff61'", "x''", "5", "2.5", "'text'", "'a' || char(0) || 'b'"])
        case "spare": return pick(["NULL", "1", "9223372036854775807"])
        default: return text()
        }
    }

    private mutating func fill() {
        let names = columns.filter { !$0.isGenerated }
        let list = names.map(\.name.quoted).joined(separator: ", ")
        for row in 0..<Int.random(in: 0..<10, using: &random) {
            let values = names.map { value(of: $0, row: row + 1) }
            setup.append(
                "INSERT OR IGNORE INTO \(table.quoted) (\(list)) VALUES (\(values.joined(separator: ", ")))"
            )
        }
        // Rowids with gaps, and a mark that is higher than any of them.
        if chance(2) {
            let last = hasRowID ? "rowid" : "id"
            setup.append(
                "DELETE FROM \(table.quoted) WHERE \(last) IN "
                    + "(SELECT max(\(last)) FROM \(table.quoted) UNION SELECT 2)"
            )
        }
        if features.contains("AUTOINCREMENT"), chance(3) {
            setup.append("UPDATE sqlite_sequence SET seq = 1000 WHERE name = \(table.string)")
        }
        if features.contains("implicit rowid"), chance(3) {
            setup.append("UPDATE \(table.quoted) SET rowid = rowid * 10 WHERE rowid % 2 = 1")
        }
    }
}

extension String {
    var quoted: String { "\"" + replacing("\"", with: "\"\"") + "\"" }
    var string: String { "'" + replacing("'", with: "''") + "'" }
}
