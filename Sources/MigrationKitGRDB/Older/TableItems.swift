import MigrationKit

/// The columns and constraints of a `CREATE TABLE` statement, as far as they say what a row must be.
/// <https://www.sqlite.org/lang_createtable.html>
struct TableItems {
    typealias Tokens = ArraySlice<SQLTokens.Token>

    struct Column {
        let name: String
        let meaning: String
        let rules: ColumnRules
    }

    /// What a foreign key refers to, and what it does.
    struct Reference {
        let table: String
        /// The first word of the action, in upper case; `nil` if there is none.
        var onDelete: String?
        var onUpdate: String?
        /// Whether `SET` is to NULL.
        var setsNull = false
        /// Whether its own column may be NULL.
        var mayBeNull = false
    }

    struct NoColumns: Error {}

    let columns: [Column]
    let constraints: Set<String>
    let constraintTokens: [Tokens]
    /// What comes after the columns: `STRICT`, `WITHOUT ROWID`.
    let options: String

    init(_ text: String) throws {
        let sql = SQLTokens(text)
        guard let open = sql.tokens.firstIndex(where: { $0.text == "(" }),
            sql.tokens.first?.isWord("CREATE") == true, sql.tokens.count > 1,
            sql.tokens[1].isWord("TABLE")
        else { throw NoColumns() }
        let end = sql.end(ofGroupAt: open)
        func meaning(_ range: Range<Int>) -> String {
            range.map { sql.tokens[$0].exactMeaning }.joined(separator: " ")
        }
        let items = sql.items(open + 1..<end - 1)
        let words = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
        let first =
            items.firstIndex { item in words.contains(where: sql.tokens[item.lowerBound].isWord) }
            ?? items.endIndex
        columns = items[..<first].map { item in
            Column(
                name: sql.tokens[item.lowerBound].name,
                meaning: meaning(item),
                rules: ColumnRules(sql, item)
            )
        }
        constraints = Set(items[first...].map(meaning))
        constraintTokens = items[first...].map { sql.tokens[$0] }
        options = meaning(end..<sql.tokens.count)
    }

    func column(_ name: String) -> Column? { columns.first { $0.name == name } }

    var isStrict: Bool { options.contains("strict") }

    /// The foreign keys. One that the table itself declares counts as one whose columns must have a
    /// value.
    var references: [Reference] {
        columns.flatMap(\.rules.references) + constraintTokens.compactMap(Reference.init)
    }

    /// Whether every row can be inserted, whatever its values.
    var acceptsEverything: Bool {
        constraints.isEmpty && options.isEmpty
            && columns.allSatisfy { $0.rules.isPlain || $0.rules.isRowID }
    }
}

extension TableItems.Reference {
    /// - Parameter tokens: A constraint of a table, or what follows `REFERENCES` in a column.
    init?(_ tokens: TableItems.Tokens) {
        let tokens = Array(tokens)
        guard let place = tokens.firstIndex(where: { $0.isWord("REFERENCES") }),
            place + 1 < tokens.count
        else { return nil }
        table = tokens[place + 1].unquoted
        for index in tokens.indices where index > place && index + 2 < tokens.count {
            guard tokens[index].isWord("ON") else { continue }
            let action = tokens[index + 2].text.uppercased()
            if tokens[index + 1].isWord("DELETE") {
                onDelete = action
                setsNull = index + 3 < tokens.count && tokens[index + 3].isWord("NULL")
            }
            if tokens[index + 1].isWord("UPDATE") { onUpdate = action }
        }
    }
}

/// What a column's definition demands of a row.
struct ColumnRules {
    enum Default: Equatable {
        case number(Double, isWhole: Bool)
        case string(String)
        case other
    }

    private(set) var type = ""
    private(set) var isKey = false
    private(set) var isNotNull = false
    private(set) var isUnique = false
    private(set) var checks: [[SQLTokens.Token]] = []
    /// `nil` if it is NULL.
    private(set) var defaultValue: Default?
    private(set) var references: [TableItems.Reference] = []
    private(set) var generated: [SQLTokens.Token]?
    /// Whether it has something that this doesn't read.
    private(set) var isOdd = false

    var hasDefault: Bool { defaultValue != nil }

    /// Whether it takes every value, and NULL if it gets none.
    var isPlain: Bool {
        !isKey && !isNotNull && !isUnique && checks.isEmpty && references.isEmpty
            && generated == nil && !isOdd
    }

    /// Whether it is another name of the row's number, which SQLite gives.
    var isRowID: Bool {
        isKey && type == "INTEGER" && !isUnique && checks.isEmpty && references.isEmpty && !isOdd
    }

    /// - Parameter item: The column's tokens, from its name on.
    init(_ sql: SQLTokens, _ item: Range<Int>) {
        let words = [
            "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE",
            "REFERENCES", "GENERATED", "AS",
        ]
        var place = item.lowerBound + 1
        let end = item.upperBound
        func isWord(_ word: String, _ at: Int) -> Bool { at < end && sql.tokens[at].isWord(word) }
        func group(_ at: Int) -> [SQLTokens.Token]? {
            guard at < end, sql.tokens[at].text == "(" else { return nil }
            return Array(sql.tokens[at + 1..<sql.end(ofGroupAt: at) - 1])
        }
        var typeWords: [String] = []
        while place < end, !words.contains(where: sql.tokens[place].isWord) {
            typeWords.append(sql.tokens[place].text.uppercased())
            place += 1
        }
        type = typeWords.joined(separator: " ")
        while place < end {
            if isWord("CONSTRAINT", place) {
                place += 2
            } else if isWord("PRIMARY", place) {
                isKey = true
                place += 2
                while isWord("ASC", place) || isWord("AUTOINCREMENT", place) { place += 1 }
            } else if isWord("NOT", place), isWord("NULL", place + 1) {
                isNotNull = true
                place += 2
            } else if isWord("NULL", place) {
                place += 1
            } else if isWord("UNIQUE", place) {
                isUnique = true
                place += 1
            } else if isWord("CHECK", place), let check = group(place + 1) {
                checks.append(check)
                place = sql.end(ofGroupAt: place + 1)
            } else if isWord("COLLATE", place), place + 1 < end {
                isOdd = isOdd || !builtInCollations.contains(sql.tokens[place + 1].name)
                place += 2
            } else if isWord("DEFAULT", place), place + 1 < end {
                let grouped = group(place + 1)
                let signs = sql.tokens[place + 1].text == "-" || sql.tokens[place + 1].text == "+"
                let value =
                    grouped ?? Array(sql.tokens[(place + 1)..<min(end, place + (signs ? 3 : 2))])
                read(defaultValue: value)
                place = grouped != nil ? sql.end(ofGroupAt: place + 1) : place + (signs ? 3 : 2)
            } else if isWord("GENERATED", place), isWord("AS", place + 2),
                let expression = group(place + 3)
            {
                generated = expression
                place = sql.end(ofGroupAt: place + 3)
            } else if isWord("AS", place), let expression = group(place + 1) {
                generated = expression
                place = sql.end(ofGroupAt: place + 1)
            } else if isWord("STORED", place) || isWord("VIRTUAL", place) {
                place += 1
            } else if isWord("REFERENCES", place) {
                let next = (place + 1..<end).first { isWord("REFERENCES", $0) } ?? end
                // Another constraint may follow an action.
                let stop = (place + 1..<next).first { at in
                    isWord("CHECK", at) || isWord("UNIQUE", at) || isWord("COLLATE", at)
                        || isWord("CONSTRAINT", at)
                        || isWord("DEFAULT", at) && !isWord("SET", at - 1)
                        || isWord("NOT", at) && isWord("NULL", at + 1)
                }
                if let reference = TableItems.Reference(sql.tokens[place..<(stop ?? next)]) {
                    references.append(reference)
                }
                place = stop ?? next
            } else {
                isOdd = true
                place += 1
            }
        }
        let mayBeNull = !isNotNull
        references = references.map { reference in
            var reference = reference
            reference.mayBeNull = mayBeNull
            return reference
        }
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
}

extension TableItems.Column {
    enum Problem {
        case needsValue, repeatsDefault, mayRefuse
    }

    /// Why a row that doesn't name the column may be refused; `nil` if it can't be.
    func problem(isStrict: Bool) -> Problem? {
        if rules.isOdd || rules.isKey { return .mayRefuse }
        if let generated = rules.generated {
            let isAlone =
                !rules.isNotNull && !rules.isUnique && rules.checks.isEmpty
                && rules.references.isEmpty
            return isAlone && generated.isTotal && !isStrict ? nil : .mayRefuse
        }
        if rules.isNotNull, !rules.hasDefault { return .needsValue }
        if rules.isUnique, rules.hasDefault { return .repeatsDefault }
        if !rules.checks.isEmpty {
            let areSimple = rules.checks.allSatisfy {
                $0.isSimpleCheck(of: name, passing: rules.defaultValue)
            }
            guard areSimple else { return .mayRefuse }
        }
        if rules.references.count > 1 || !rules.references.isEmpty && rules.hasDefault {
            return .mayRefuse
        }
        guard isStrict, let value = rules.defaultValue else { return nil }
        switch (rules.type, value) {
        case ("ANY", _), ("TEXT", .string), ("INT", .number(_, isWhole: true)),
            ("INTEGER", .number(_, isWhole: true)), ("REAL", .number):
            return nil
        default: return .mayRefuse
        }
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
        passing value: ColumnRules.Default?
    ) -> Bool {
        var rest = Array(self)[...]
        func take(_ isMeant: (SQLTokens.Token) -> Bool) -> SQLTokens.Token? {
            guard let first = rest.first, isMeant(first) else { return nil }
            rest = rest.dropFirst()
            return first
        }
        func constant() -> ColumnRules.Default? {
            let isNegative = take { $0.text == "-" || $0.text == "+" }?.text == "-"
            guard let token = take({ $0.kind == .number || $0.kind == .string }) else { return nil }
            guard token.kind == .number else { return .string(token.unquoted) }
            return Double(token.text).map { .number(isNegative ? -$0 : $0, isWhole: false) }
        }
        /// `nil` if only SQLite knows.
        func compare(_ constant: ColumnRules.Default) -> Int? {
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
