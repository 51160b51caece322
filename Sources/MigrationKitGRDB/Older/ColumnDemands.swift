import MigrationKit

/// What a column's definition demands of a row, as far as that can be told from the text.
struct ColumnDemands {
    enum Default {
        case number(Double, isWhole: Bool)
        case string(String)
        case other
    }

    enum Problem {
        case needsValue, repeatsDefault, mayRefuse
    }

    private let name: String
    private let type: String
    private let constraints: [TableText.Constraint]
    private let sql: SQLTokens
    /// `nil` if it is NULL.
    private var defaultValue: Default?
    /// Whether only SQLite knows what it demands.
    private var isOdd: Bool

    init(_ column: TableText.Column, of table: TableText) {
        (name, sql) = (column.name, table.sql)
        type = sql.tokens[column.type].map { $0.text.uppercased() }.joined(separator: " ")
        constraints = table.constraints.filter { $0.column == column.name }
        isOdd =
            column.hasMore || column.collation.map(builtInCollations.contains) == false
            || constraints.contains { $0.conflict != nil }
        if let value = column.defaultValue { read(defaultValue: Array(sql.tokens[value])) }
    }

    private mutating func read(defaultValue tokens: [SQLTokens.Token]) {
        let literal = tokens.last
        let isSigned = tokens.count == 2 && (tokens[0].text == "-" || tokens[0].text == "+")
        guard tokens.count == 1 || isSigned, let literal else {
            isOdd = true
            return
        }
        switch literal.kind {
        case .number:
            let digits = literal.text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            guard let value = Double(literal.text) else {
                isOdd = true
                return
            }
            defaultValue = .number(tokens[0].text == "-" ? -value : value, isWhole: digits)
        case .string where !isSigned: defaultValue = .string(literal.unquoted)
        case .word where literal.isWord("NULL"): break
        case .word
        where ["TRUE", "FALSE", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP"]
            .contains(where: literal.isWord):
            defaultValue = .other
        default: isOdd = true
        }
    }

    private func has(_ kind: TableText.Constraint.Kind) -> Bool {
        constraints.contains { $0.kind == kind }
    }

    /// Whether it takes every value, and NULL if it gets none.
    var isPlain: Bool { constraints.isEmpty && !isOdd }

    /// Whether it is another name of the row's number, which SQLite gives.
    var isRowID: Bool {
        type == "INTEGER" && has(.primaryKey) && !isOdd
            && constraints.allSatisfy { $0.kind == .primaryKey || $0.kind == .notNull }
    }

    var mayBeNull: Bool { !has(.notNull) && !has(.primaryKey) }

    /// Whether it is NULL in a row that doesn't name it.
    var isNullByDefault: Bool { defaultValue == nil && !has(.generated) }

    /// Why a row that doesn't name the column may be refused; `nil` if it can't be.
    func problem(isStrict: Bool) -> Problem? {
        if isOdd || has(.primaryKey) { return .mayRefuse }
        if let generated = constraints.first(where: { $0.kind == .generated }) {
            let isTotal = sql.tokens[generated.expression].isTotal
            return constraints.count == 1 && isTotal && !isStrict ? nil : .mayRefuse
        }
        if has(.notNull), defaultValue == nil { return .needsValue }
        if has(.unique), defaultValue != nil { return .repeatsDefault }
        let areSimple = constraints.allSatisfy {
            $0.kind != .check
                || sql.tokens[$0.expression].isSimpleCheck(of: name, passing: defaultValue)
        }
        let references = constraints.count { $0.kind == .foreignKey }
        guard areSimple, references == 0 || references == 1 && defaultValue == nil else {
            return .mayRefuse
        }
        guard isStrict, let defaultValue else { return nil }
        switch (type, defaultValue) {
        case ("ANY", _), ("TEXT", .string), ("INT", .number(_, isWhole: true)),
            ("INTEGER", .number(_, isWhole: true)), ("REAL", .number):
            return nil
        default: return .mayRefuse
        }
    }
}

extension TableText {
    /// The same for two ranges that SQLite reads in the same way.
    func meaning(_ range: Range<Int>) -> String {
        sql.tokens[range].map(\.exactMeaning).joined(separator: " ")
    }

    func demands(of column: String) -> ColumnDemands? {
        self.column(column).map { ColumnDemands($0, of: self) }
    }

    var isStrict: Bool { sql.tokens[options].contains { $0.isWord("STRICT") } }

    var hasCheck: Bool { constraints.contains { $0.kind == .check } }

    /// The foreign keys of columns and of the table.
    var references: [Constraint] { constraints.filter { $0.kind == .foreignKey } }

    /// Whether every row can be inserted, whatever its values.
    var acceptsEverything: Bool {
        tableConstraints.isEmpty && options.isEmpty
            && columns.map { ColumnDemands($0, of: self) }.allSatisfy { $0.isPlain || $0.isRowID }
    }
}

extension SQLTokens {
    /// Whether it has `*` for columns, joins by all names that two tables share, or inserts without a
    /// list of columns.
    var takesAllColumns: Bool {
        tokens.indices.dropLast().contains { place in
            let (token, next) = (tokens[place], tokens[place + 1])
            let words = ["SELECT", "DISTINCT", "ALL"]
            let isStar =
                next.text == "*"
                && (token.text == "." || token.text == "," || words.contains(where: token.isWord))
            let hasNoList =
                token.isWord("INTO")
                && (place + 2 >= tokens.count || tokens[place + 2].text != "(")
            return isStar || hasNoList || token.isWord("NATURAL") || next.isWord("NATURAL")
        }
    }
}

extension Collection<SQLTokens.Token> {
    /// Whether it has only functions, operators and collations that every engine has, and that accept
    /// every value.
    var isTotal: Bool {
        let tokens = Array(self)
        return tokens.indices.allSatisfy { place in
            let token = tokens[place]
            let next = place + 1 < tokens.count ? tokens[place + 1] : nil
            // They read malformed JSON. <https://www.sqlite.org/json1.html#jptr>
            if token.text == "->" || token.text == "->>" { return false }
            if ["MATCH", "REGEXP", "RAISE", "ESCAPE"].contains(where: token.isWord) {
                return false
            }
            if token.isWord("COLLATE"), let next { return builtInCollations.contains(next.name) }
            guard next?.text == "(", token.kind == .word || token.kind == .quotedName else {
                return true
            }
            let isTable =
                place > 0 && ["INTO", "REFERENCES"].contains(where: tokens[place - 1].isWord)
            return isTable || totalFunctions.contains(token.name)
        }
    }

    /// Whether it compares only this column with constants, so that NULL passes, and the default does.
    fileprivate func isSimpleCheck(
        of column: String,
        passing value: ColumnDemands.Default?
    ) -> Bool {
        var rest = Array(self)[...]
        func take(_ isMeant: (SQLTokens.Token) -> Bool) -> SQLTokens.Token? {
            guard let first = rest.first, isMeant(first) else { return nil }
            rest = rest.dropFirst()
            return first
        }
        func constant() -> ColumnDemands.Default? {
            let isNegative = take { $0.text == "-" || $0.text == "+" }?.text == "-"
            guard let token = take({ $0.kind == .number || $0.kind == .string }) else { return nil }
            guard token.kind == .number else { return .string(token.unquoted) }
            return Double(token.text).map { .number(isNegative ? -$0 : $0, isWhole: false) }
        }
        /// `nil` if only SQLite knows.
        func compare(_ constant: ColumnDemands.Default) -> Int? {
            switch (value, constant) {
            case (.number(let one, _), .number(let other, _)):
                one < other ? -1 : one > other ? 1 : 0
            case (.string(let one), .string(let other)): one == other ? 0 : nil
            default: nil
            }
        }
        repeat {
            guard take({ $0.isName && $0.kind != .string && $0.name == column }) != nil else {
                return false
            }
            if take({ $0.isWord("IN") }) != nil {
                guard take({ $0.text == "(" }) != nil else { return false }
                var isIn = false
                repeat {
                    guard let constant = constant() else { return false }
                    isIn = isIn || compare(constant) == 0
                } while take { $0.text == "," } != nil
                guard take({ $0.text == ")" }) != nil, value == nil || isIn else { return false }
            } else if take({ $0.isWord("BETWEEN") }) != nil {
                guard let low = constant(), take({ $0.isWord("AND") }) != nil,
                    let high = constant()
                else { return false }
                let isBetween = (compare(low) ?? -1) >= 0 && (compare(high) ?? 1) <= 0
                guard value == nil || isBetween else { return false }
            } else {
                let operators: [String: Set<Int>] = [
                    "=": [0], "==": [0], "<>": [-1, 1], "!=": [-1, 1], "<": [-1], ">": [1],
                    "<=": [-1, 0], ">=": [0, 1],
                ]
                guard let sign = take({ operators[$0.text] != nil })?.text,
                    let results = operators[sign], let constant = constant()
                else { return false }
                guard value == nil || compare(constant).map(results.contains) ?? false else {
                    return false
                }
            }
        } while take { $0.isWord("AND") } != nil
        return rest.isEmpty
    }

    /// The names that an `UPDATE` sets; `nil` if they aren't plain.
    var assignedNames: [String]? {
        let tokens = Array(self)
        guard let set = tokens.firstIndex(where: { $0.isWord("SET") }) else { return nil }
        var (depth, isStart) = (0, true)
        var names: [String] = []
        for token in tokens[(set + 1)...] {
            let isEnd = token.isWord("WHERE") || token.isWord("FROM") || token.kind == .semicolon
            if depth == 0, isEnd { break }
            if isStart {
                guard token.isName else { return nil }
                names.append(token.name)
            }
            isStart = depth == 0 && token.text == ","
            depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0
        }
        return names
    }
}

private let builtInCollations: Set<String> = ["binary", "nocase", "rtrim"]

/// Words before a parenthesis that no value makes fail. <https://www.sqlite.org/lang_corefunc.html>
private let totalFunctions: Set<String> = [
    "all", "and", "as", "between", "by", "case", "cast", "check", "coalesce", "count", "default",
    "distinct", "else", "except", "exists", "from", "hex", "ifnull", "iif", "in", "instr",
    "intersect", "is", "join", "key", "length", "limit", "lower", "ltrim", "max", "min", "not",
    "nullif", "on", "or", "quote", "round", "rtrim", "select", "set", "substr", "substring", "then",
    "trim", "typeof", "unicode", "union", "upper", "using", "values", "when", "where",
]
