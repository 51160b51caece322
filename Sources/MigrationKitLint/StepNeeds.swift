import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// Finds out what steps need that a connection doesn't have, without running them.
///
/// A statement can be compiled only once the ones before it have run. So the names are read from the
/// text, and SQLite is asked for each whether it knows it.
package final class StepNeeds {
    private let queue: DatabaseQueue

    /// Whether SQLite knows what is called by a name.
    private var answers: [String: Bool] = [:]

    /// - Parameter configuration: That of the connections that will run the steps.
    package init(_ configuration: Configuration) throws {
        queue = try DatabaseQueue(configuration: configuration)
    }

    /// What the statements that apply a step lack, each with the first statement that needs it.
    package func missing(in sql: MigrationSQL) -> [(at: ScriptStatement, need: SchemaNeed)] {
        var known: Set<String> = []
        return queue.inDatabase { db in
            sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_ATTACHED, 0)
            return sql.upStatements.flatMap { statement in
                missing(in: statement.text, on: db).filter {
                    known.insert($0.phrase.foldedName).inserted
                }
                .map { (statement, $0) }
            }
        }
    }

    private func missing(in sql: String, on db: Database) -> [SchemaNeed] {
        guard mayLack(sql, on: db) else { return [] }
        let statement = ParsedStatement(sql)
        switch statement.kind {
        case .createVirtualTable:
            // Only making one shows whether its tokenizer is there.
            let need = lacking {
                try db.inSavepoint {
                    try db.execute(sql: sql)
                    return .rollback
                }
            }
            return [need].compactMap(\.self)
        // These name functions that are called later.
        case .createTrigger, .createView, .pragma: return []
        default: break
        }
        let functions = statement.namesOfFunctions.filter { !isKnown($0, on: db) }
        let collations = statement.namesOfCollations.compactMap { name in
            lacking {
                _ = try db.makeStatement(
                    sql: "SELECT 'a' < 'b' COLLATE \(name.quotedDatabaseIdentifier)"
                )
            }
        }
        return functions.map(SchemaNeed.function) + collations
    }

    /// Whether a statement may lack anything. A migration that fills tables has many that don't, so this
    /// makes no texts of most words.
    private func mayLack(_ sql: String, on db: Database) -> Bool {
        let bytes = Array(sql.utf8)
        var (before, last): (SQLToken?, SQLToken?)
        func text(_ token: SQLToken?) -> SQLTokens.Token? {
            token.flatMap { SQLTokens.Token($0, in: bytes) }
        }
        for token in SQLTokenizer(bytes) where !token.kind.isBlank {
            if bytes[token.range.lowerBound] == UInt8(ascii: "("),
                let before = text(before), let name = text(last), name.mayBeCalled(after: before),
                !isKnown(name.unquoted, on: db)
            {
                return true
            }
            if token.kind == .word, token.range.count == 7,
                ["COLLATE", "VIRTUAL"].contains(text(token)?.keyword)
            {
                return true
            }
            (before, last) = (last, token)
        }
        return false
    }

    /// Whether SQLite has a function of this name or, since that may stand after FROM, a virtual table
    /// with parameters.
    private func isKnown(_ name: String, on db: Database) -> Bool {
        if let answer = answers[name.foldedName] { return answer }
        let quoted = name.quotedDatabaseIdentifier
        let isKnown =
            lacking { _ = try db.makeStatement(sql: "SELECT \(quoted)()") } == nil
            || (try? db.makeStatement(sql: "SELECT * FROM \(quoted)")) != nil
        answers[name.foldedName] = isKnown
        return isKnown
    }

    private func lacking(_ action: () throws -> Void) -> SchemaNeed? {
        do {
            try action()
            return nil
        } catch {
            return (error as? DatabaseError)?.need
        }
    }
}

extension ParsedStatement {
    fileprivate var namesOfCollations: [String] {
        zip(words, words.dropFirst()).filter { $0.0.keyword == "COLLATE" }.map(\.1.unquoted)
    }

    /// The names before parentheses that look like calls: no keywords, types or tables with a list of
    /// columns.
    fileprivate var namesOfFunctions: [String] {
        words.indices.dropFirst().dropLast().compactMap { place in
            let (word, before) = (words[place], words[place - 1])
            guard words[place + 1].text == "(", word.mayBeCalled(after: before),
                before.keyword != "ON" || words[0].keyword != "CREATE",
                !isCommonTable(at: place)
            else { return nil }
            return word.unquoted
        }
    }

    /// Whether a name in a WITH clause is a table with a list of columns: `name (a, b) AS (…)`.
    private func isCommonTable(at place: Int) -> Bool {
        let depth = words[place].depth
        let after = words[(place + 2)...].drop { $0.depth > depth }.dropFirst().prefix(2)
        return after.first?.keyword == "AS"
            && ["(", "NOT", "MATERIALIZED"].contains(after.last.map { $0.keyword ?? $0.text })
    }
}

extension SQLToken.Kind {
    fileprivate var isBlank: Bool {
        switch self {
        case .space, .lineComment, .blockComment: true
        case .word, .quoted, .semicolon, .symbol, .unterminated: false
        }
    }
}

extension SQLTokens.Token {
    /// Whether it calls a function if a parenthesis follows, by the word before it.
    fileprivate func mayBeCalled(after before: SQLTokens.Token) -> Bool {
        guard kind == .word || kind == .quotedName, !isKeyword else { return false }
        guard let keyword = before.keyword else {
            return before.kind == .symbol && ![".", ")"].contains(before.text)
        }
        return Self.beforeExpressions.contains(keyword)
    }

    private static let beforeExpressions: Set = [
        "ALL", "AND", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "ESCAPE", "GLOB", "HAVING", "IS",
        "LIKE", "LIMIT", "MATCH", "NOT", "OFFSET", "ON", "OR", "REGEXP", "RETURNING", "SELECT",
        "THEN",
        "WHEN", "WHERE",
    ]

    /// Whether SQLite reserves the word. <https://www.sqlite.org/c3ref/keyword_check.html>
    private var isKeyword: Bool {
        kind == .word && sqlite3_keyword_check(text, Int32(text.utf8.count)) != 0
    }
}
