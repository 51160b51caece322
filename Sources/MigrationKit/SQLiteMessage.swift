/// A message of SQLite or GRDB, which may contain values of rows and literals of SQL.
package struct SQLiteMessage {
    private let text: String

    /// SQLite's extended result code, if it is known.
    private let code: Int32?

    package init(_ text: String, code: Int32? = nil) {
        self.text = text
        self.code = code
    }

    /// The message with its names, but without values. Strings of SQL are hidden as in an excerpt of
    /// it.
    package var withoutValues: String {
        // The text of a RAISE is its author's, and may contain anything. SQLite uses the code for
        // the actions of foreign keys, too: https://www.sqlite.org/rescode.html#constraint_trigger
        if code == Self.constraintTrigger, text != "FOREIGN KEY constraint failed" {
            return "a trigger refuses the row"
        }
        // A constraint without a name is shown as its expression.
        if let text = hidingStrings(after: "CHECK constraint failed: ")
            ?? hidingStrings(after: "near \"", before: "\": syntax error")
        {
            return text
        }
        // What follows these words is a piece of SQL, the row that violates a foreign key, or the
        // argument of a function.
        let ends = [
            ("unrecognized token", ": "), ("", ", in ["), ("JSON path", ""),
            ("malformed MATCH expression", ": "), ("unknown special query", ": "),
        ]
        for (kept, dropped) in ends {
            guard let place = text.firstRange(of: kept + dropped) else { continue }
            return text[..<place.lowerBound] + kept
        }
        return text
    }

    // https://www.sqlite.org/rescode.html#constraint_trigger
    private static let constraintTrigger: Int32 = 19 | 7 << 8

    /// The message with the SQL between two parts of it without strings; `nil` if it has no such parts.
    private func hidingStrings(after start: String, before end: String = "") -> String? {
        guard let place = text.firstRange(of: start), text.hasSuffix(end),
            place.upperBound <= text.index(text.endIndex, offsetBy: -end.count)
        else { return nil }
        let sql = text[place.upperBound...].dropLast(end.count)
        return text[..<place.upperBound] + String(sql).withoutStrings() + end
    }
}
