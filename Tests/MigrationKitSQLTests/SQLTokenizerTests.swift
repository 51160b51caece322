import Foundation
import GRDB
import GRDBSQLite
import TestSupport
import Testing

import MigrationKit
@testable import MigrationKitSQL

@Suite struct SQLTokenizerTests {
    private static let fragments = [
        "'", "''", "\"", "`", "[", "]", "--", "/*", "*/", "-", "/", "*", ";", "\n", " ", "(", "x",
        "é", "a$", "_1", "BEGIN", "END", "END;", ";END;", "CREATE ", "TRIGGER ", "TEMP ",
        "TEMPORARY ", "EXPLAIN ", "CASE ", "end", "create trigger t begin ", "select 1;", "\t",
    ]

    /// Text of pieces that mean something to a tokenizer, the same in every run.
    private func randomTexts(_ count: Int) -> [String] {
        var generator = SeededGenerator(seed: 0x5EED)
        return (0..<count).map { _ in
            (0..<Int.random(in: 1...14, using: &generator))
                .map { _ in Self.fragments.randomElement(using: &generator) ?? "" }
                .joined()
        }
    }

    @Test func tokensCoverTheTextWithoutAGap() {
        for text in randomTexts(5_000) {
            let bytes = Array(text.utf8)
            var end = 0
            for token in SQLTokenizer(bytes) {
                #expect(token.range.lowerBound == end && !token.range.isEmpty, "\(text)")
                end = token.range.upperBound
            }
            #expect(end == bytes.count, "\(text)")
        }
    }

    /// SQLite's own word on whether a text ends where a statement does:
    /// <https://www.sqlite.org/c3ref/complete.html>.
    @Test func statementsEndWhereSQLiteSaysTheyDo() {
        var complete = 0
        for text in randomTexts(20_000) {
            var boundary = SQLStatementBoundary()
            var isInLiteral = false
            var hasEnded = false
            for token in SQLTokenizer(Array(text.utf8)) {
                isInLiteral = token.kind == .unterminated
                let word = token.kind == .word ? String(text.utf8.token(token.range)) : nil
                boundary.take(token.kind, word: word?.uppercased())
                hasEnded = hasEnded || token.kind == .semicolon
            }
            let ours = boundary.isComplete && !isInLiteral && hasEnded
            let theirs = sqlite3_complete(text) == 1
            #expect(ours == theirs, "\(text)")
            complete += theirs ? 1 : 0
        }
        // Texts of both kinds, or the comparison says nothing.
        #expect(complete > 1_000 && complete < 19_000)
    }

    /// Among the arguments of a virtual table, SQLite takes any token. `sqlite3_complete()` doesn't know
    /// all of them: `$a(')` is one.
    @Test func statementsEndWhereSQLiteStopsReading() throws {
        let fragments = [
            "'", "\"", "[", "]", "--", "/*", "*/", ";", "\n", " ", "(", ")", "x", "$", "$a", "@a",
            ":a",
            "#a", "::", "?", "?1", "$a(", "@a::b(", ":a(", "x'", "x'41'", "1e", "->>", "é",
            "SELECT 1;",
            "');", "'));", "--));",
        ]
        try MigrationDatabase().run { db in
            var generator = SeededGenerator(seed: 0x5EED)
            var compiled = 0
            for _ in 0..<20_000 {
                let middle = (0..<Int.random(in: 1...9, using: &generator))
                    .map { _ in fragments.randomElement(using: &generator) ?? "" }.joined()
                let text = "CREATE VIRTUAL TABLE t USING fts4(a, b \(middle)); SELECT 1;"
                let statements = SQLStatementBoundary.statements(in: Array(text.utf8))
                var statement: OpaquePointer?
                let read = text.withCString { start in
                    var end: UnsafePointer<CChar>?
                    let code = sqlite3_prepare_v2(db.sqliteConnection, start, -1, &statement, &end)
                    return code == SQLITE_OK ? end.map { $0 - start } : nil
                }
                sqlite3_finalize(statement)
                guard let read else { continue }
                compiled += 1
                // Spaces and comments at the end are no part of ours.
                let end = statements.first?.upperBound ?? read
                let rest = end <= read ? SQLTokenizer(Array(text.utf8), in: end..<read) : nil
                let isSame = rest?.allSatisfy {
                    [.space, .lineComment, .blockComment].contains($0.kind)
                }
                #expect(isSame == true, "\(text)")
            }
            #expect(compiled > 200)
        }
    }

    @Test func theNotesExampleIsSplitWhereSQLiteSplitsIt() throws {
        let url = URL(fileURLWithPath: PackageFolder.notesMigrations)
        let names = try FileManager.default.contentsOfDirectory(atPath: url.path)
            .filter { $0.hasSuffix(".sql") }.sorted()
        let database = try MigrationDatabase()
        for name in names {
            let contents = try Data(contentsOf: url.appendingPathComponent(name))
            let file = try SQLFile(name: name, contents: Array(contents))
            let outline = try SQLOutline(of: file)
            let down = try #require(outline.markers.last?.range.lowerBound)
            let statements = outline.statements + outline.checkParts.flatMap(\.statements)
            let ours = statements.map(\.range.upperBound).filter { $0 < down }.sorted()
            let text = file.text(in: 0..<down)
            try database.run { db in
                var theirs: [Int] = []
                let compiled = try db.allStatements(sql: text)
                while let statement = try compiled.next() {
                    let sql = try #require(sqlite3_sql(statement.sqliteStatement))
                    theirs.append((theirs.last ?? 0) + strlen(sql))
                    try statement.execute()
                }
                #expect(theirs == ours, "\(name)")
            }
        }
    }

    @Test func everyStatementOfALargeFileIsFound() throws {
        let row = "INSERT INTO a VALUES (1, 'it''s;', x'00'); -- ;\n"
        let text = String(repeating: row, count: 20_000)
        let outline = try SQLOutline(of: SQLFile(name: "1_a.sql", contents: Array(text.utf8)))
        #expect(outline.statements.count == 20_000)
        #expect(outline.statements.last?.range.upperBound == text.utf8.count - " -- ;\n".utf8.count)
        // What is done for each statement must not count the lines before it.
        let folder = try TemporaryFolder(["1_a.up.sql": text]).migrations()
        #expect(folder.steps.count == 1)
        #expect(folder.notes.isEmpty)
    }
}

extension String.UTF8View {
    fileprivate func token(_ range: Range<Int>) -> Substring {
        let start = index(startIndex, offsetBy: range.lowerBound)
        return Substring(self[start..<index(startIndex, offsetBy: range.upperBound)])
    }
}
