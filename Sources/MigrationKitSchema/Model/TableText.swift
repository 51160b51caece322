import MigrationKitGRDB

/// The text of a `CREATE TABLE` statement with a list of columns: what no pragma reports, and
/// changes of the text. <https://www.sqlite.org/lang_createtable.html>
package struct TableText: Sendable {
    /// A constraint of a column or of the table.
    struct Constraint: Sendable {
        enum Kind: Sendable {
            case primaryKey, notNull, unique, check, foreignKey, generated
        }

        let kind: Kind
        /// The name of a `CHECK`, as its message shows it.
        let name: String?
        /// The column, in lower case; `nil` for a constraint of the table.
        let column: String?
        /// The columns of a key.
        var columns: [KeyColumn] = []
        /// `IGNORE`, `REPLACE`, ...; `nil` if none is declared.
        var conflict: String?
        /// The tokens of the condition or the expression.
        var expression = 0..<0
        /// Whether a foreign key is `DEFERRABLE INITIALLY DEFERRED`.
        var isDeferred = false
    }

    struct KeyColumn: Sendable {
        /// The name in lower case.
        let name: String
        /// In upper case; `nil` for that of the column.
        let collation: String?
    }

    let sql: SQLTokens
    /// The table's name, without its quotes.
    package let name: String
    /// The place of the token after the name, which is an opening parenthesis.
    private let open: Int
    /// The tokens that define each column: from its name to its last constraint.
    private let columns: [Range<Int>]
    /// The constraints of columns and of the table, in order.
    let constraints: [Constraint]

    /// - Parameter text: The statement, with or without a semicolon.
    /// - Throws: ``Problem`` if the text isn't one such statement.
    package init(_ text: String) throws {
        sql = SQLTokens(text)
        let tokens = sql.tokens
        var place = 0
        func take(_ words: String...) -> Bool {
            guard place + words.count <= tokens.count,
                zip(tokens[place...], words).allSatisfy({ $0.isWord($1) })
            else { return false }
            place += words.count
            return true
        }
        guard take("CREATE", "TABLE") else { throw Problem.isNoCreateTable }
        _ = take("IF", "NOT", "EXISTS")
        if place + 2 < tokens.count, tokens[place + 1].text == "." {
            guard tokens[place].name == "main" else { throw Problem.isNoCreateTable }
            place += 2
        }
        guard place + 1 < tokens.count, tokens[place + 1].text == "(" else {
            throw Problem.isNoCreateTable
        }
        let last = tokens.lastIndex { $0.kind != .semicolon } ?? 0
        guard !tokens[..<last].contains(where: { $0.kind == .semicolon }) else {
            throw Problem.hasMoreStatements
        }
        name = tokens[place].unquoted
        open = place + 1

        let items = sql.items(open + 1..<sql.end(ofGroupAt: open) - 1)
        let words = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
        let first =
            items.firstIndex { item in
                words.contains(where: tokens[item.lowerBound].isWord)
            } ?? items.endIndex
        columns = Array(items[..<first])
        var reader = ConstraintReader(sql: sql)
        for column in columns { reader.read(column, ofColumn: true) }
        for (number, item) in items[first...].enumerated() {
            reader.read(item, ofColumn: false, keepsName: number == 0)
        }
        constraints = reader.constraints
    }

    package enum Problem: Error {
        case isNoCreateTable, hasMoreStatements
    }

    /// An expression of the table.
    ///
    /// - Parameter known: The names that something has, in lower case.
    func expression(_ range: Range<Int>, known: Set<String>) -> SchemaModel.Expression {
        SchemaModel.Expression(sql, range, known: known)
    }

    /// The conditions of the `CHECK` constraints as they are written, in order.
    package var checks: [String] {
        constraints.filter { $0.kind == .check }.map { sql.source($0.expression) }
    }
}

// MARK: - Constraints

/// Reads the constraints of a `CREATE TABLE` statement.
private struct ConstraintReader {
    let sql: SQLTokens
    private(set) var constraints: [TableText.Constraint] = []
    /// SQLite keeps a constraint's name for those that follow it, until the next column, and from
    /// the last column to the first constraint of the table.
    private var name: String?
    private var place = 0
    private var end = 0
    private var column: String?

    init(sql: SQLTokens) {
        self.sql = sql
    }

    /// - Parameters:
    ///   - item: The tokens of a column or of one or more constraints of the table.
    ///   - keepsName: Whether the name of the constraint before applies.
    mutating func read(_ item: Range<Int>, ofColumn isColumn: Bool, keepsName: Bool = false) {
        if !keepsName { name = nil }
        (place, end) = (item.lowerBound, item.upperBound)
        column = isColumn ? sql.tokens[place].name : nil
        if isColumn { place += 1 }
        while place < end { readOne() }
    }

    private mutating func readOne() {
        guard place < end, sql.tokens[place].kind == .word else {
            skip()
            return
        }
        if take("CONSTRAINT") {
            name = place < end ? sql.tokens[place].unquoted : nil
            place += 1
        } else if take("PRIMARY", "KEY") {
            add(.primaryKey) { $0.readKey(&$1) }
        } else if take("UNIQUE") {
            add(.unique) { $0.readKey(&$1) }
        } else if take("NOT", "NULL") {
            add(.notNull) { $1.conflict = $0.conflict() }
        } else if take("NOT", "DEFERRABLE") {
            readTiming(isDeferrable: false)
        } else if take("DEFERRABLE") {
            readTiming(isDeferrable: true)
        } else if take("CHECK") || take("AS") {
            let isCheck = sql.tokens[place - 1].isWord("CHECK")
            add(isCheck ? .check : .generated) { $1.expression = $0.group() }
        } else if take("DEFAULT") {
            if place < end, ["+", "-"].contains(sql.tokens[place].text) { place += 1 }
            skip()
        } else if take("COLLATE") || take("MATCH") {
            place += 1
        } else if take("FOREIGN", "KEY") {
            skip()
        } else if take("REFERENCES") {
            place += 1
            add(.foreignKey) { _, _ in }
        } else {
            place += 1
        }
    }

    private mutating func add(
        _ kind: TableText.Constraint.Kind,
        _ read: (inout Self, inout TableText.Constraint) -> Void
    ) {
        var constraint = TableText.Constraint(
            kind: kind,
            name: kind == .check ? name : nil,
            column: column
        )
        read(&self, &constraint)
        constraints.append(constraint)
    }

    private mutating func readKey(_ key: inout TableText.Constraint) {
        if let column {
            key.columns = [TableText.KeyColumn(name: column, collation: nil)]
            _ = take("ASC") || take("DESC")
        } else {
            key.columns = sql.items(group()).map { item in
                let tokens = sql.tokens[item]
                let collation = tokens.firstIndex { $0.isWord("COLLATE") }
                    .flatMap { $0 + 1 < item.upperBound ? tokens[$0 + 1].unquoted : nil }
                return TableText.KeyColumn(
                    name: tokens.first?.name ?? "",
                    collation: collation?.uppercased()
                )
            }
        }
        key.conflict = conflict()
    }

    /// When the foreign key before it is checked.
    private mutating func readTiming(isDeferrable: Bool) {
        let isInitially = take("INITIALLY", "DEFERRED")
        if !isInitially { _ = take("INITIALLY", "IMMEDIATE") }
        guard let last = constraints.lastIndex(where: { $0.kind == .foreignKey }) else { return }
        constraints[last].isDeferred = isDeferrable && isInitially
    }

    private mutating func conflict() -> String? {
        guard take("ON", "CONFLICT"), place < end else { return nil }
        place += 1
        return sql.tokens[place - 1].text.uppercased()
    }

    /// What is in the parentheses that begin here.
    private mutating func group() -> Range<Int> {
        guard place < end, sql.tokens[place].text == "(" else { return place..<place }
        let start = place + 1
        skip()
        return start..<max(start, place - 1)
    }

    /// Moves past a token, or past all in parentheses.
    private mutating func skip() {
        guard place < end else { return }
        place = sql.tokens[place].text == "(" ? sql.end(ofGroupAt: place) : place + 1
    }

    private mutating func take(_ words: String...) -> Bool {
        guard place + words.count <= end,
            zip(sql.tokens[place...], words).allSatisfy({ $0.isWord($1) })
        else { return false }
        place += words.count
        return true
    }
}

// MARK: - Changing the Text

extension TableText {
    /// The statement for a table with another name.
    ///
    /// A `CHECK` may name the table before a column. SQLite checks that at once, and renames it
    /// again with the table.
    package func renamed(to newName: String) -> String {
        let own = name.foldedName
        let last = sql.tokens.lastIndex { $0.kind != .semicolon } ?? open
        var changes: [(Range<Int>, String)] = []
        for place in open..<last
        where sql.tokens[place].isName && sql.tokens[place].name == own
            && sql.tokens[place + 1].text == "."
        {
            changes.append((sql.tokens[place].range, newName.quotedName))
        }
        let range = sql.tokens[open].range.lowerBound..<sql.tokens[last].range.upperBound
        return "CREATE TABLE \(newName.quotedName) " + text(range, changing: changes)
    }

    private func column(_ name: String) -> Range<Int>? {
        columns.first { sql.tokens[$0.lowerBound].name == name.foldedName }
    }

    /// The definition of a column as it is written: its name, type and constraints.
    ///
    /// - Returns: `nil` if there is no such column.
    package func source(ofColumn name: String) -> String? {
        column(name).map(sql.source)
    }

    /// The statement with a further constraint at the end of a column.
    ///
    /// - Returns: `nil` if there is no such column.
    func adding(_ constraint: String, to name: String) -> String? {
        guard let column = column(name) else { return nil }
        let end = sql.tokens[column.upperBound - 1].range.upperBound
        return text(0..<sql.bytes.count, changing: [(end..<end, " " + constraint)])
    }

    /// The statement with another type of a column.
    ///
    /// - Returns: `nil` if there is no such column.
    func changingType(of name: String, to type: String) -> String? {
        guard let column = column(name) else { return nil }
        // <https://www.sqlite.org/syntax/column-constraint.html>
        let constraints = [
            "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE",
            "REFERENCES", "GENERATED", "AS",
        ]
        let end =
            column.dropFirst().first { constraints.contains(where: sql.tokens[$0].isWord) }
            ?? column.upperBound
        let range =
            sql.tokens[column.lowerBound].range.upperBound..<sql.tokens[end - 1].range.upperBound
        return text(0..<sql.bytes.count, changing: [(range, type.isEmpty ? "" : " " + type)])
    }

    private func text(_ range: Range<Int>, changing changes: [(Range<Int>, String)]) -> String {
        var result: [UInt8] = []
        var start = range.lowerBound
        for (place, replacement) in changes {
            result += sql.bytes[start..<place.lowerBound]
            result += replacement.utf8
            start = place.upperBound
        }
        result += sql.bytes[start..<range.upperBound]
        return String(decoding: result, as: UTF8.self)
    }
}
