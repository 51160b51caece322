/// A query that finds rows that are wrong: it returns a row for each violation, and none if all is
/// well.
///
/// ```swift
/// CheckQuery(
///     "no order without a customer",
///     sql: "SELECT rowid FROM orders WHERE customer IS NULL"
/// )
/// ```
///
/// It can only read. What it finds is counted, and no value is shown. If its first column is
/// `rowid`, written so or named so with `AS`, the first ten rows are named by it.
public struct CheckQuery: Equatable, Sendable {
    /// What holds if the query returns no row, such as `no order without a customer`.
    public let name: String

    /// One `SELECT` or `VALUES`, perhaps with a `WITH` in front of it.
    public let sql: String

    /// Where it is; `nil` for one in Swift.
    package let place: SourcePlace?

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - name: What holds if the query returns no row.
    ///   - sql: One query, without parameters.
    public init(_ name: String, sql: String) {
        self.name = name
        self.sql = sql
        place = nil
    }

    /// - Parameter name: Its comment; `nil` to name it by its place.
    package init(_ name: String?, sql: String, at place: SourcePlace) {
        self.name = name ?? place.description
        self.sql = sql
        self.place = place
    }
}

extension CheckQuery: Encodable {
    private enum CodingKeys: CodingKey {
        case name, sql
    }
}

extension CheckQuery {
    /// Whether a statement is a query, by its words. Nothing else is compiled: some pragmas do their
    /// work then.
    package static func isQuery(_ sql: String) -> Bool {
        let tokens = SQLTokens(sql).tokens
        // Behind the tables of a WITH, which are in parentheses.
        let verbs = ["SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"]
        let verb = tokens.first { token in
            token.depth == 0 && verbs.contains(where: token.isWord)
        }
        // The function runs the texts of a schema as statements, which nobody has judged.
        return ["SELECT", "VALUES", "WITH"].contains(tokens.first?.keyword)
            && ["SELECT", "VALUES"].contains(verb?.keyword)
            && !tokens.contains { $0.isName && $0.name == "sqlcipher_export" }
    }

    /// Whether the query's first column is written as `rowid` or `TABLE.rowid`.
    package var selectsRowID: Bool {
        let tokens = SQLTokens(sql).tokens
        guard let select = tokens.firstIndex(where: { $0.depth == 0 && $0.isWord("SELECT") })
        else { return false }
        var rest = tokens[(select + 1)...]
        if rest.first?.isWord("DISTINCT") ?? false { rest = rest.dropFirst() }
        if rest.dropFirst().first?.text == "." { rest = rest.dropFirst(2) }
        guard rest.first?.isWord("ROWID") ?? false, let next = rest.dropFirst().first else {
            return false
        }
        return next.text == "," || next.isWord("FROM") || next.isWord("AS")
    }
}
