import MigrationKitGRDB

/// What SQLite compares: everything that is a difference for it, and nothing that is only spelling.
/// The order of constraints and their names, apart from those of `CHECK`, are only spelling.
extension SchemaModel.Table {
    /// Whether the table is the same apart from its name and place.
    package func hasSameDefinition(as other: Self) -> Bool {
        comparedColumns.map(\.name.foldedName) == other.comparedColumns.map(\.name.foldedName)
            && comparedColumns.map(\.meaning) == other.comparedColumns.map(\.meaning)
            && options == other.options
            && key?.meaning == other.key?.meaning && hasRowIDColumn == other.hasRowIDColumn
            && uniques.map(\.meaning).sorted() == other.uniques.map(\.meaning).sorted()
            && checks.map(\.meaning).sorted() == other.checks.map(\.meaning).sorted()
            && foreignKeys.map { $0.meaning(in: self) }.sorted()
                == other.foreignKeys.map { $0.meaning(in: other) }.sorted()
    }

    /// The columns without the one that a full-text table has by its own name.
    /// <https://www.sqlite.org/fts5.html#special_insert_commands>
    private var comparedColumns: [SchemaModel.Column] {
        columns.filter { !$0.isHidden || !$0.name.isSameName(as: name) }
    }

    /// What isn't a column or a constraint, as it is written in the statement.
    package var options: [String] {
        [
            isStrict ? "STRICT" : nil, isWithoutRowID ? "WITHOUT ROWID" : nil,
            isAutoincrement ? "AUTOINCREMENT" : nil, moduleText,
        ].compactMap(\.self)
    }

    /// The module of a virtual table, with its arguments.
    package var moduleText: String? {
        module.map { moduleArguments.isEmpty ? $0 : "\($0)(\(moduleArguments))" }
    }
}

extension SchemaModel.Column {
    /// The type and the constraints of the column alone, as they can be written in a statement.
    package var definition: String { definition(type: type, \.text) }

    package var meaning: String {
        // A virtual table's hidden column can't be written in a statement.
        definition(type: SQLTokens(type).meaning, \.meaning) + (isHidden ? " HIDDEN" : "")
    }

    private func definition(
        type: String,
        _ text: (SchemaModel.Expression) -> String
    ) -> String {
        var parts = type.isEmpty ? [] : [type]
        if isNotNull { parts.append("NOT NULL" + conflictClause(conflict)) }
        if let defaultValue {
            let value = text(defaultValue)
            parts.append("DEFAULT " + (defaultValue.isLiteral ? value : "(\(value))"))
        }
        if collation != "BINARY" { parts.append("COLLATE \(collation)") }
        if let generated {
            let place = generated.isStored ? "STORED" : "VIRTUAL"
            parts.append("AS (\(text(generated.expression))) \(place)")
        }
        return parts.joined(separator: " ")
    }
}

extension SchemaModel.Expression {
    /// The meaning of some tokens of a statement.
    ///
    /// - Parameter known: The names that something has, in lower case.
    init(_ sql: SQLTokens, _ range: Range<Int>, known: Set<String>) {
        let range = sql.withoutParentheses(range)
        self.init(
            text: sql.text(range),
            meaning: sql.meanings(range, known: known).joined(separator: " ")
        )
    }

    /// A default value, as a pragma reports it.
    ///
    /// A name is a string there. <https://www.sqlite.org/lang_createtable.html#dfltval>
    ///
    /// - Returns: `nil` for NULL, which every column without a default has.
    init?(defaultValue text: String) {
        let sql = SQLTokens(text)
        let range = sql.withoutParentheses(sql.tokens.indices)
        guard range.count == 1, let token = sql.tokens[range].first else {
            self.init(sql, range, known: [])
            return
        }
        if token.isWord("NULL") { return nil }
        let constants = ["TRUE", "FALSE", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP"]
        let isString = token.isName && !constants.contains(where: token.isWord)
        self.init(
            text: token.text,
            meaning: isString ? token.unquoted.sqlString : token.meaning
        )
    }

    /// Whether it can be a default without parentheses.
    var isLiteral: Bool {
        let tokens = SQLTokens(text).tokens
        return tokens.count == 1
            || tokens.count == 2 && ["+", "-"].contains(tokens[0].text)
                && tokens[1].kind == .number
    }
}

extension SchemaModel.IndexedColumn {
    /// The column or expression, as it can be written in a statement.
    ///
    /// - Parameter inherited: The column's own collation.
    package func definition(inherited: String) -> String {
        let name = isExpression ? text : text.shownName
        // The text of an expression has its COLLATE.
        let ending = isExpression || collation == inherited ? "" : " COLLATE \(collation)"
        return name + ending + (isDescending ? " DESC" : "")
    }

    fileprivate var meaning: String {
        (isExpression ? text : text.foldedName.quotedName) + " COLLATE \(collation)"
            + (isDescending ? " DESC" : "")
    }
}

extension SchemaModel.Key {
    package var meaning: String {
        columns.map(\.meaning).joined(separator: ", ") + conflictClause(conflict)
    }

    /// The columns in parentheses and the `ON CONFLICT`, as they can be written in a statement.
    package func definition(in table: SchemaModel.Table) -> String {
        let list = columns.map { column in
            column.definition(inherited: table.column(column.text)?.collation ?? "BINARY")
        }
        return "(\(list.joined(separator: ", ")))" + conflictClause(conflict)
    }
}

extension SchemaModel.Check {
    package var meaning: String { "\(name ?? "") \(expression.meaning)" }

    /// The constraint, as it can be written in a statement.
    package var definition: String {
        (name.map { "CONSTRAINT \($0.shownName) " } ?? "") + "CHECK (\(expression.text))"
    }
}

extension SchemaModel.ForeignKey {
    /// - Parameters:
    ///   - own: The table that has the key. A key to itself is the same in a table of another name.
    ///   - schema: The schema, to find the columns that are referred to if none are declared.
    package func meaning(in own: SchemaModel.Table, of schema: SchemaModel? = nil) -> String {
        let isOwn = table.isSameName(as: own.name)
        let referenced =
            if !referencedColumns.isEmpty {
                referencedColumns
            } else if isOwn {
                own.primaryKey
            } else {
                schema?.referencedColumns(of: self) ?? []
            }
        func list(_ names: [String]) -> String {
            names.map(\.foldedName.quotedName).joined(separator: ", ")
        }
        return "(\(list(columns))) REFERENCES \(isOwn ? "" : table.foldedName.quotedName)"
            + "(\(list(referenced))) \(actions)"
    }

    /// The constraint, as it can be written in a statement.
    package var definition: String {
        func list(_ names: [String]) -> String {
            "(\(names.map(\.shownName).joined(separator: ", ")))"
        }
        return "FOREIGN KEY \(list(columns)) REFERENCES \(table.shownName)"
            + (referencedColumns.isEmpty ? "" : " " + list(referencedColumns))
            + (actions.isEmpty ? "" : " " + actions)
    }

    private var actions: String {
        [
            onUpdate == "NO ACTION" ? nil : "ON UPDATE \(onUpdate)",
            onDelete == "NO ACTION" ? nil : "ON DELETE \(onDelete)",
            isDeferred ? "DEFERRABLE INITIALLY DEFERRED" : nil,
        ].compactMap(\.self).joined(separator: " ")
    }
}

extension SchemaModel.Index {
    /// The index after its table's columns have got other names.
    ///
    /// - Parameter renames: New names by old ones, in lower case.
    package func renaming(columns renames: [String: String]) -> Self {
        func renamed(_ expression: String) -> String {
            SQLTokens(expression).meaning(renaming: renames)
        }
        var index = self
        for place in columns.indices {
            let text = columns[place].text
            index.columns[place].text =
                columns[place].isExpression ? renamed(text) : renames[text.foldedName] ?? text
        }
        index.condition = condition.map(renamed)
        return index
    }

    /// Whether it is the same apart from its name and the text.
    package func hasSameDefinition(as other: Self) -> Bool {
        table.isSameName(as: other.table) && isUnique == other.isUnique
            && columns.map(\.meaning) == other.columns.map(\.meaning)
            && condition == other.condition
    }
}

extension String {
    /// A name for a statement, in quotes only if it needs them.
    fileprivate var shownName: String {
        SQLTokens(quotedName).meaning == foldedName ? self : quotedName
    }
}

/// `ABORT` is the default. <https://www.sqlite.org/lang_conflict.html>
private func conflictClause(_ conflict: String?) -> String {
    conflict.map { " ON CONFLICT \($0)" } ?? ""
}
