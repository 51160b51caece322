import MigrationKit

/// The text of a `CREATE TABLE` statement with a list of columns: what no pragma reports, and what
/// it was before a change. <https://www.sqlite.org/lang_createtable.html>
package struct TableText: Sendable {
    package struct Column: Sendable {
        /// In lower case.
        package let name: String
        /// The tokens from its name to its last constraint.
        package let range: Range<Int>
        /// The tokens of its type; empty if it has none.
        package let type: Range<Int>
        /// The tokens of its default, without parentheses around it.
        package fileprivate(set) var defaultValue: Range<Int>?
        /// In lower case; `nil` if none is declared.
        package fileprivate(set) var collation: String?
        /// Whether it has something that isn't told here.
        package fileprivate(set) var hasMore = false
    }

    /// A constraint of a column or of the table.
    package struct Constraint: Sendable {
        package enum Kind: Sendable {
            case primaryKey, notNull, unique, check, foreignKey, generated
        }

        package let kind: Kind
        /// The name of a `CHECK`, as its message shows it.
        package let name: String?
        /// The column, in lower case; `nil` for a constraint of the table.
        package let column: String?
        /// The columns of a key.
        package fileprivate(set) var columns: [KeyColumn] = []
        /// `IGNORE`, `REPLACE`, ...; `nil` if none is declared.
        package fileprivate(set) var conflict: String?
        /// The tokens of the condition or the expression.
        package fileprivate(set) var expression = 0..<0
        /// What a foreign key refers to.
        package fileprivate(set) var referencedTable = ""
        /// `CASCADE`, `SET NULL`, ...; `nil` if none is declared.
        package fileprivate(set) var onDelete: String?
        package fileprivate(set) var onUpdate: String?
        /// Whether a foreign key is `DEFERRABLE INITIALLY DEFERRED`.
        package fileprivate(set) var isDeferred = false
    }

    package struct KeyColumn: Sendable {
        /// The name in lower case.
        package let name: String
        /// In upper case; `nil` for that of the column.
        package let collation: String?
    }

    package let sql: SQLTokens
    /// The table's name, without its quotes.
    package let name: String
    /// The place of the token after the name, which is an opening parenthesis.
    package let open: Int
    package let columns: [Column]
    /// The tokens between the commas after the columns.
    package let tableConstraints: [Range<Int>]
    /// The constraints of columns and of the table, in order.
    package let constraints: [Constraint]
    /// What comes after the columns and constraints: `STRICT`, `WITHOUT ROWID`.
    package let options: Range<Int>

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

        let end = sql.end(ofGroupAt: open)
        let items = sql.items(open + 1..<end - 1)
        let words = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
        let first =
            items.firstIndex { item in
                words.contains(where: tokens[item.lowerBound].isWord)
            } ?? items.endIndex
        tableConstraints = Array(items[first...])
        options = end..<tokens.count
        var reader = ConstraintReader(sql: sql)
        columns = items[..<first].map { reader.readColumn($0) }
        for (number, item) in tableConstraints.enumerated() {
            reader.read(item, keepsName: number == 0)
        }
        constraints = reader.constraints
    }

    package enum Problem: Error {
        case isNoCreateTable, hasMoreStatements
    }

    package func column(_ name: String) -> Column? {
        columns.first { $0.name == name.foldedName }
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
    private var column: TableText.Column?

    init(sql: SQLTokens) {
        self.sql = sql
    }

    /// - Parameter item: The tokens of a column.
    mutating func readColumn(_ item: Range<Int>) -> TableText.Column {
        // <https://www.sqlite.org/syntax/column-constraint.html>
        let words = [
            "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE",
            "REFERENCES", "GENERATED", "AS",
        ]
        let rest = item.dropFirst()
        let end = rest.first { words.contains(where: sql.tokens[$0].isWord) } ?? rest.endIndex
        let column = TableText.Column(
            name: sql.tokens[item.lowerBound].name,
            range: item,
            type: rest.startIndex..<end
        )
        self.column = column
        read(end..<item.upperBound, keepsName: false)
        defer { self.column = nil }
        return self.column ?? column
    }

    /// - Parameters:
    ///   - item: The tokens of one or more constraints.
    ///   - keepsName: Whether the name of the constraint before applies.
    mutating func read(_ item: Range<Int>, keepsName: Bool) {
        if !keepsName { name = nil }
        (place, end) = (item.lowerBound, item.upperBound)
        while place < end { readOne() }
    }

    private mutating func readOne() {
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
            let start = place
            if place < end, ["+", "-"].contains(sql.tokens[place].text) { place += 1 }
            skip()
            column?.defaultValue = sql.withoutParentheses(start..<min(place, end))
        } else if take("COLLATE") {
            column?.collation = place < end ? sql.tokens[place].name : nil
            place += 1
        } else if take("FOREIGN", "KEY") {
            skip()
        } else if take("REFERENCES") {
            add(.foreignKey) { $0.readReference(&$1) }
        } else if !["NULL", "GENERATED", "ALWAYS", "STORED", "VIRTUAL", "AUTOINCREMENT"]
            .contains(where: { take($0) })
        {
            skip()
            column?.hasMore = true
        }
    }

    private mutating func readReference(_ key: inout TableText.Constraint) {
        key.referencedTable = place < end ? sql.tokens[place].unquoted : ""
        place += 1
        _ = group()
        while true {
            if take("ON", "DELETE") {
                key.onDelete = action()
            } else if take("ON", "UPDATE") {
                key.onUpdate = action()
            } else if take("MATCH") {
                place += 1
            } else {
                return
            }
        }
    }

    /// `CASCADE`, `SET NULL`, ...
    private mutating func action() -> String {
        let start = place
        _ = take("SET") || take("NO")
        place += 1
        return sql.tokens[start..<min(place, end)].map { $0.text.uppercased() }
            .joined(separator: " ")
    }

    private mutating func add(
        _ kind: TableText.Constraint.Kind,
        _ read: (inout Self, inout TableText.Constraint) -> Void
    ) {
        var constraint = TableText.Constraint(
            kind: kind,
            name: kind == .check ? name : nil,
            column: column?.name
        )
        read(&self, &constraint)
        constraints.append(constraint)
    }

    private mutating func readKey(_ key: inout TableText.Constraint) {
        if let column {
            key.columns = [TableText.KeyColumn(name: column.name, collation: nil)]
            // A descending key isn't another name of the row's number.
            if !take("ASC"), take("DESC") { self.column?.hasMore = true }
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
