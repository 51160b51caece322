import ArgumentParser
import MigrationKitSchema

/// How two schemas are compared, and what a migration between them may do.
struct DifferenceOptions: ParsableArguments {
    @Option(
        name: .customLong("rename"),
        help: ArgumentHelp(
            """
            A new name: notes.body=notes.text for a column, old=new for a table. Can be given \
            several times.
            """,
            valueName: "old=new"
        )
    )
    var givenRenames: [String] = []

    @Option(
        name: .customLong("ignore-table"),
        help: ArgumentHelp(
            "Leave out this table or view; 'app_*' for all that begin so.",
            valueName: "name"
        )
    )
    var ignoredTables: [String] = []

    @Option(
        name: .customLong("allow-hazard"),
        help: ArgumentHelp(
            "Write a migration that may lose or refuse rows in this way. Can be given several times.",
            valueName: "name"
        )
    )
    var allowedHazards: [SchemaHazard.Kind] = []

    @Option(
        name: .customLong("backfill"),
        help: ArgumentHelp(
            "The values of a column: notes.n='length(body)', an SQL expression over the old row.",
            valueName: "column=expression"
        )
    )
    var givenBackfills: [String] = []

    /// Whether any of them is given.
    var isGiven: Bool {
        !givenRenames.isEmpty || !ignoredTables.isEmpty || !allowedHazards.isEmpty
            || !givenBackfills.isEmpty
    }

    func validate() throws {
        _ = try renames
        _ = try backfills
    }

    /// The renames that are given.
    ///
    /// - Throws: A `ValidationError`.
    var renames: [SchemaRename] {
        get throws {
            let pairs = try givenRenames.map { text in
                let sides = text.split(atFirst: "=").map { ($0.0.names, $0.1.names) }
                guard let (old, new) = sides, [1, 2].contains(old.count), old.count == new.count,
                    !(old + new).contains("")
                else {
                    throw ValidationError(
                        "--rename '\(text)' must be table.old=table.new, or old=new for a table."
                    )
                }
                return (text: text, old: old, new: new)
            }
            let tables = pairs.filter { $0.old.count == 1 }
            return try pairs.map { text, old, new in
                guard old.count == 2 else { return SchemaRename(table: old[0], newName: new[0]) }
                let names =
                    [old[0]] + tables.filter { $0.old[0].isSameName(as: old[0]) }.map(\.new[0])
                guard names.contains(where: { $0.isSameName(as: new[0]) }) else {
                    throw ValidationError(
                        "--rename '\(text)' names two tables. A column stays in its table."
                    )
                }
                return SchemaRename(table: old[0], column: old[1], newName: new[1])
            }
        }
    }

    /// The expressions by their columns, such as `notes.n`.
    ///
    /// - Throws: A `ValidationError`.
    var backfills: [String: String] {
        get throws {
            try givenBackfills.reduce(into: [:]) { backfills, text in
                let sides = text.split(atFirst: "=")
                guard let (left, expression) = sides, left.names.count == 2,
                    !left.names.contains(""), expression.contains(where: { !$0.isWhitespace })
                else {
                    throw ValidationError(
                        "--backfill '\(text)' must be table.column=expression."
                    )
                }
                let column = left.names.joined(separator: ".")
                guard backfills.updateValue(expression, forKey: column) == nil else {
                    throw ValidationError("--backfill gives '\(column)' two expressions.")
                }
            }
        }
    }
}

extension SchemaHazard.Kind: ExpressibleByArgument {}

extension String {
    /// What is before and after a character for the first time outside of double quotes.
    fileprivate func split(atFirst character: Character) -> (String, String)? {
        var isQuoted = false
        for index in indices {
            if self[index] == "\"" { isQuoted.toggle() }
            guard self[index] == character, !isQuoted else { continue }
            return (String(self[..<index]), String(self[self.index(after: index)...]))
        }
        return nil
    }

    /// The names between dots, each perhaps in double quotes.
    fileprivate var names: [String] {
        var names: [String] = []
        var rest = self
        while let (first, others) = rest.split(atFirst: ".") {
            names.append(first.unquoted)
            rest = others
        }
        return names + [rest.unquoted]
    }

    private var unquoted: String {
        let quote = UInt8(ascii: "\"")
        return utf8.first == quote && utf8.last == quote ? unquotedName : self
    }
}

extension SchemaRename {
    /// As the value of `--rename`.
    var argument: String {
        func word(_ name: String) -> String {
            name.contains { ".=\"".contains($0) } ? name.quotedName : name
        }
        guard let column else { return "\(word(table))=\(word(newName))" }
        return "\(word(table)).\(word(column))=\(word(table)).\(word(newName))"
    }

    /// As a condition.
    var condition: String {
        guard let column else { return "if \(newName) is the new name of \(table)" }
        return "if \(table).\(newName) is the new name of \(table).\(column)"
    }

    /// As a question.
    var question: String {
        guard let column else { return "Is \(newName) the new name of the table \(table)?" }
        return "Is \(newName) the new name of the column \(column) of \(table)?"
    }
}
