import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// Finds out what steps need that a connection doesn't have, without running them.
///
/// A statement can be compiled only once the ones before it have run. So the names are read from the
/// text, and SQLite is asked for each whether it knows it.
package struct StepNeeds {
    private let queue: DatabaseQueue

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
        func need(toCompile sql: String) -> SchemaNeed? {
            lacking { _ = try db.makeStatement(sql: sql) }
        }
        let functions = statement.namesOfFunctions.filter { name in
            let name = name.quotedDatabaseIdentifier
            // After FROM, it may be a virtual table with parameters.
            return need(toCompile: "SELECT \(name)()") != nil
                && (try? db.makeStatement(sql: "SELECT * FROM \(name)")) == nil
        }
        let collations = statement.namesOfCollations.compactMap {
            need(toCompile: "SELECT 'a' < 'b' COLLATE \($0.quotedDatabaseIdentifier)")
        }
        return functions.map(SchemaNeed.function) + collations
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
        zip(words, words.dropFirst()).filter { $0.0.keyword == "COLLATE" }.map(\.1.name)
    }

    /// The names before parentheses that look like calls: no keywords, types or tables with a list of
    /// columns.
    fileprivate var namesOfFunctions: [String] {
        words.indices.dropFirst().dropLast().compactMap { place in
            let (word, before) = (words[place], words[place - 1])
            guard words[place + 1].text == "(", !word.isLiteral, !word.isKeyword,
                word.kind == .word || word.kind == .quoted,
                before.keyword.map(Self.beforeExpressions.contains)
                    ?? (before.kind == .symbol && ![".", ")"].contains(before.text)),
                before.keyword != "ON" || words[0].keyword != "CREATE",
                !isCommonTable(at: place)
            else { return nil }
            return word.name
        }
    }

    private static let beforeExpressions: Set = [
        "ALL", "AND", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "ESCAPE", "GLOB", "HAVING", "IS",
        "LIKE", "LIMIT", "MATCH", "NOT", "OFFSET", "ON", "OR", "REGEXP", "RETURNING", "SELECT",
        "THEN",
        "WHEN", "WHERE",
    ]

    /// Whether a name in a WITH clause is a table with a list of columns: `name (a, b) AS (…)`.
    private func isCommonTable(at place: Int) -> Bool {
        let depth = words[place].depth
        let after = words[(place + 2)...].drop { $0.depth > depth }.dropFirst().prefix(2)
        return after.first?.keyword == "AS"
            && ["(", "NOT", "MATERIALIZED"].contains(after.last.map { $0.keyword ?? $0.text })
    }
}

extension SQLWord {
    /// Whether SQLite reserves the word. <https://www.sqlite.org/c3ref/keyword_check.html>
    fileprivate var isKeyword: Bool {
        kind == .word && sqlite3_keyword_check(text, Int32(text.utf8.count)) != 0
    }
}
