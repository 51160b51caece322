import Foundation
import GRDB
import MigrationKit
import TestSupport
import Testing

@testable import MigrationKitSchema

/// Random schemas, spelled in other ways, and changed in one place.
@Suite struct RandomDifferenceTests {
    private static let count =
        Samples.count(30)

    @Test func anotherSpellingIsNoDifference() throws {
        for number in 0..<Self.count {
            let seed = SeededGenerator.seed &+ UInt64(number) &* 0x1_0000_0001
            var respelling = Respelling(seed: seed)
            let statements = RandomSchema(seed: seed).createStatements
            let spelled = statements.map { respelling.respelled($0) }
            let changes = try SchemaDifference(
                from: DatabaseSchema(sql: statements.joined(separator: "\n;\n")),
                to: DatabaseSchema(sql: spelled.joined(separator: "\n;\n"))
            ).changes
            guard changes.isEmpty else {
                Issue.record(
                    """
                    \(number), TESTS_SEED=\(SeededGenerator.seed): \(changes)
                    \(statements.joined(separator: "\n;\n"))

                    \(spelled.joined(separator: "\n;\n"))
                    """
                )
                return
            }
        }
    }

    @Test func everyChangeIsFound() throws {
        var mutations = 0
        for number in 0..<Self.count {
            let seed = SeededGenerator.seed &+ UInt64(number) &* 0x1_0000_0001
            let schema = RandomSchema(seed: seed)
            var mutation = Mutation(seed: seed)
            let statements = schema.createStatements
            let one = try DatabaseSchema(sql: statements.joined(separator: "\n;\n"))
            for _ in 0..<10 {
                guard let changed = mutation.mutated(statements),
                    let other = try? DatabaseSchema(sql: changed.joined(separator: "\n;\n"))
                else { continue }
                mutations += 1
                let changes = try SchemaDifference(from: one, to: other).changes
                let back = try SchemaDifference(from: other, to: one).changes
                guard !changes.isEmpty, !back.isEmpty else {
                    Issue.record(
                        """
                        \(number), TESTS_SEED=\(SeededGenerator.seed): no change found in
                        \(changed.filter { !statements.contains($0) })
                        \(statements.joined(separator: "\n;\n"))
                        """
                    )
                    return
                }
            }
        }
        #expect(mutations > Self.count * 5)
    }
}

extension RandomSchema {
    fileprivate var createStatements: [String] { setup.filter { $0.hasPrefix("CREATE ") } }
}

// MARK: - Respelling

/// Writes a statement in another way that means the same.
private struct Respelling {
    private var random: SeededGenerator
    private static let names: Set<String> = [
        "id", "name", "author", "log", "what", "code", "part", "title", "body", "amount", "raw",
        "parent", "made", "plain_old", "count_of", "spare", "note", "Note", "titles", "authors",
    ]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed &+ 1)
    }

    private mutating func chance(_ one: Int) -> Bool {
        Int.random(in: 0..<one, using: &random) == 0
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    mutating func respelled(_ statement: String) -> String {
        // A module reads its arguments itself: FTS5 takes no comments.
        if statement.hasPrefix("CREATE VIRTUAL") { return statement }
        let isTable = statement.hasPrefix("CREATE TABLE")
        return spaced(isTable ? withConstraintsElsewhere(statement) : statement)
    }

    /// Other white space, comments, quotes, and letters of words.
    private mutating func spaced(_ statement: String) -> String {
        let spaces = ["  ", "\n", " ", "/* ; ' */", "\t-- \"x\n"]
        let sql = SQLTokens(statement)
        var text = ""
        for (place, token) in sql.tokens.enumerated() {
            let isTight = place > 0 && [".", "("].contains(sql.tokens[place - 1].text)
            if !isTight || chance(4) {
                // SQLite takes a comment before or in GENERATED ALWAYS for a part of the type.
                let isGenerated = token.isWord("GENERATED") || token.isWord("ALWAYS")
                text += isGenerated ? "\n" : pick(spaces)
            }
            let isName = Self.names.contains(token.text) && token.kind == .word
            if isName, chance(2) {
                let quotes = pick([("\"", "\""), ("[", "]"), ("`", "`")])
                text += quotes.0 + token.text + quotes.1
            } else if token.kind == .word || token.kind == .blob || token.kind == .number {
                text += chance(2) ? token.text.uppercased() : token.text.lowercased()
            } else {
                text += token.text
            }
        }
        return text
    }

    /// Keys of columns as keys of the table, whose constraints get another order.
    private mutating func withConstraintsElsewhere(_ statement: String) -> String {
        let sql = SQLTokens(statement)
        guard let open = sql.tokens.firstIndex(where: { $0.text == "(" }) else { return statement }
        let end = sql.end(ofGroupAt: open)
        var columns: [String] = []
        var constraints: [String] = []
        for item in sql.items(open + 1..<end - 1) {
            let first = sql.tokens[item.lowerBound]
            let words = ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"]
            guard !words.contains(where: first.isWord) else {
                constraints.append(sql.source(item))
                continue
            }
            let key = item.first {
                sql.tokens[$0].isWord("REFERENCES") || sql.tokens[$0].isWord("PRIMARY")
            }
            let ending = key.map { sql.source($0..<item.upperBound) } ?? ""
            guard let key, !ending.contains("AUTOINCREMENT"), !ending.contains("NOT NULL"),
                chance(2)
            else {
                columns.append(sql.source(item))
                continue
            }
            columns.append(sql.source(item.lowerBound..<key))
            constraints.append(
                ending.hasPrefix("PRIMARY")
                    ? "PRIMARY KEY (\(first.text))" : "FOREIGN KEY (\(first.text)) \(ending)"
            )
        }
        constraints.shuffle(using: &random)
        return sql.source(0..<open + 1) + (columns + constraints).joined(separator: ", ") + ")"
            + (end < sql.tokens.count ? " " + sql.source(end..<sql.tokens.count) : "")
    }
}

// MARK: - Mutation

/// Changes one thing in a schema.
private struct Mutation {
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed &+ 2)
    }

    /// - Returns: `nil` if nothing was found to change; SQLite may refuse the result.
    mutating func mutated(_ statements: [String]) -> [String]? {
        var statements = statements
        let number = Int.random(in: statements.indices, using: &random)
        if Int.random(in: 0..<6, using: &random) == 0 {
            statements.remove(at: number)
            return statements
        }
        let sql = SQLTokens(statements[number])
        let places = sql.tokens.indices.filter { Self.replacement(sql.tokens[$0]) != nil }
        guard let place = places.randomElement(using: &random),
            let replacement = Self.replacement(sql.tokens[place])
        else { return nil }
        var bytes = sql.bytes
        bytes.replaceSubrange(sql.tokens[place].range, with: Array(replacement.utf8))
        statements[number] = String(decoding: bytes, as: UTF8.self)
        return statements
    }

    private static func replacement(_ token: SQLTokens.Token) -> String? {
        switch token.kind {
        case .number: return token.text + "1"
        case .string: return String(token.text.dropLast()) + "z'"
        case .word:
            let words = [
                "NOCASE": "RTRIM", "RTRIM": "BINARY", "DESC": "", "UNIQUE": "", "AUTOINCREMENT": "",
                "CASCADE": "RESTRICT", "RESTRICT": "SET NULL", "AFTER": "BEFORE", "TEXT": "INT",
                "REAL": "ANY", "VIRTUAL": "STORED", "STORED": "VIRTUAL", "IGNORE": "REPLACE",
                "body": "title", "DEFERRED": "IMMEDIATE", "lower": "upper", "AND": "OR",
            ]
            return words[token.text]
        case .symbol: return [">": ">=", "<": "<=", "<>": "="][token.text]
        case .quotedName, .blob, .semicolon, .unterminated: return nil
        }
    }
}
