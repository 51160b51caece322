import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

@testable import MigrationKitCLI

/// What `explain` and the page on errors say.
@Suite struct ExplanationTests {
    /// The page is the source. Written again from what was read of it, it must be the same.
    @Test func everyLineOfThePageIsRead() throws {
        var lines = [
            "# Errors", "",
            "What a message of SQLite's, SQLCipher's or the desktop's means, what usually leads to it,",
            "and what to do; then every code of this tool's errors. `migrationkit-cli explain` prints",
            "the same, without a network: `migrationkit-cli explain \"file is not a database\"`.",
            "",
            "In the commands, `notes.db` stands for your database, and the key",
            "comes from [where it is kept](Keys.md).", "",
        ]
        lines += Explanation.all.map {
            "- [\($0.message)](#\(DocumentationTests.anchor(of: $0.message)))"
        }
        lines += [
            "- [the code of an error](#codes), [an exit code](ExitCodes.md),"
                + " [a rule of lint](Linting.md)", "", "## Messages", "",
        ]
        for one in Explanation.all {
            lines += ["### \(one.message)", ""]
            let others =
                one.alike.map { "\"\($0)\"" } + one.results.map { "\($0.name) (\($0.code))" }
            if !others.isEmpty { lines += ["Also: \(others.joined(separator: ", ")).", ""] }
            lines += [one.meaning, "", "Usual causes:", ""] + one.causes.map { "- \($0)" }
            lines += ["", "What to do:", ""]
            lines += one.next.map { action in
                guard let command = action.command else { return "- \(action.purpose)" }
                return "- `migrationkit-cli \(command)` \(action.purpose)"
            }
            if !one.pages.isEmpty {
                let pages = one.pages.map { "[\($0)](\($0))" }.joined(separator: ", ")
                lines += ["", "More: \(pages)."]
            }
            if !one.codes.isEmpty {
                let codes = one.codes.map { "`\($0)`" }.joined(separator: ", ")
                lines += ["", "Codes: \(codes)."]
            }
            lines.append("")
        }
        lines += ["## Codes", "", "| code | exit code | meaning |", "| --- | --- | --- |"]
        lines += ErrorMeaning.all.map { error in
            let exitCodes = error.exitCodes.map { "\($0)" }.joined(separator: ", ")
            return "| `\(error.code)` | \(exitCodes) | \(error.meaning) |"
        }
        let page = try String(
            contentsOfFile: PackageFolder.path("Documentation/Errors.md"),
            encoding: .utf8
        )
        #expect(lines.joined(separator: "\n") + "\n" == page)
    }

    @Test func everyCodeOfTheSchemaIsExplained() throws {
        let schema = try JSONDecoder().decode(
            Schema.self,
            from: Data(
                contentsOf: URL(
                    filePath: PackageFolder.path("Schemas/migrationkit-cli.schema.json")
                )
            )
        )
        var codes: [String: [Int32]] = [:]
        for group in schema.defs["error"]?.properties?["error"]?.oneOf ?? [] {
            let code = group.properties["code"]
            for name in code?.names ?? [] {
                codes[name, default: []] += group.properties["exit"]?.number.map { [$0] } ?? []
            }
        }
        #expect(codes.count > 200)
        let explained = ErrorMeaning.all.map { ($0.code, $0.exitCodes) }
        #expect(Dictionary(uniqueKeysWithValues: explained) == codes)
    }

    private struct Schema: Decodable {
        let defs: [String: Part]

        enum CodingKeys: String, CodingKey {
            case defs = "$defs"
        }

        struct Part: Decodable {
            let properties: [String: Properties]?
        }

        struct Properties: Decodable {
            let oneOf: [Group]?
        }

        struct Group: Decodable {
            let properties: [String: Value]
        }

        struct Value: Decodable {
            var names: [String] = []
            var number: Int32?

            enum CodingKeys: String, CodingKey {
                case constant = "const", list = "enum"
            }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                names = (try? container.decode([String].self, forKey: .list)) ?? []
                if let name = try? container.decode(String.self, forKey: .constant) {
                    names = [name]
                }
                number = try? container.decode(Int32.self, forKey: .constant)
            }
        }
    }

    @Test func codesAndMessagesBelongToOneExplanation() {
        let codes = Explanation.all.flatMap(\.codes)
        #expect(Set(codes).count == codes.count)
        let known = Set(ErrorMeaning.all.map(\.code))
        #expect(codes.filter { !known.contains($0) } == [])
        for one in Explanation.all {
            for message in [one.message] + one.alike {
                #expect(Explanation.of(message: message)?.message == one.message, "\(message)")
            }
            for result in one.results {
                #expect(Explanation.of(result: "\(result.code)")?.message == one.message)
                #expect(Explanation.of(result: result.name)?.message == one.message)
            }
        }
    }

    /// As people paste them.
    @Test(arguments: [
        ("near \"FOO\": syntax error", "syntax error"), ("exit code 65", "exit code 65"),
        ("exit status 65", "exit code 65"), ("prompt dismissed", "The prompt was dismissed"),
        ("ERROR mlock() returned -1 errno=12", "out of memory"),
        ("mlock ... errno=12", "out of memory"),
        ("table notes already exists", "already exists"), ("no such table: notes", "no such table"),
        ("duplicate column name: tag", "already exists"),
        ("table notes has no column named tag", "no such table"),
    ])
    func messageIsFound(_ pasted: String, _ title: String) {
        #expect(ExplainAnswer(pasted)?.title == title)
    }

    @Test func answerTakesTheTerminalsWidth() throws {
        let answer = try #require(ExplainAnswer("database is locked"))
        for width in [50, 80, 120] {
            let longest =
                answer.text(width: width).split(separator: "\n")
                .filter { !$0.contains("migrationkit-cli") }.map(\.count).max() ?? 0
            #expect((width - 12...width).contains(longest), "\(longest) of \(width)")
        }
    }

    @Test func everyCommandIsOne() throws {
        for action in Explanation.all.flatMap(\.next) {
            guard let command = action.command, command != "--version" else { continue }
            let words = command.matches(of: /"[^"]*"|\S+/).map {
                $0.output.trimmingCharacters(in: ["\""])
            }
            #expect(throws: Never.self, "\(command)") {
                _ = try RootCommand.parseAsRoot(words)
            }
        }
    }

    /// The messages of SQLite and SQLCipher themselves, as an app's log has them.
    @Test(arguments: [
        (
            "CREATE TABLE t (i INTEGER NOT NULL); INSERT INTO t VALUES (NULL)",
            "NOT NULL constraint failed"
        ),
        ("CREATE TABLE t (i UNIQUE); INSERT INTO t VALUES (1), (1)", "UNIQUE constraint failed"),
        ("CREATE TABLE t (i CHECK (i > 0)); INSERT INTO t VALUES (0)", "CHECK constraint failed"),
        (
            "CREATE TABLE p (i UNIQUE); CREATE TABLE c (p REFERENCES p (i)); INSERT INTO c VALUES (1)",
            "FOREIGN KEY constraint failed"
        ),
        (
            "CREATE TABLE t (i); INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN n NOT NULL",
            "NOT NULL constraint failed"
        ),
        ("SELECT * FROM missing", "no such table"),
        ("CREATE TABLE t (i); CREATE TABLE t (i)", "already exists"),
        ("CREATE TABLE t (i); ALTER TABLE t ADD COLUMN i", "already exists"),
        ("SELECT FOO BAR BAZ", "syntax error"), ("SELECT 'a", "syntax error"),
        ("SELECT unheard_of()", "no such function"),
        ("SELECT 1 ORDER BY 1 COLLATE unheard_of", "no such function"),
        ("BEGIN; BEGIN", "cannot start a transaction within a transaction"),
        ("BEGIN; VACUUM", "cannot start a transaction within a transaction"),
        ("COMMIT", "cannot start a transaction within a transaction"),
        ("CREATE TABLE t (i INTEGER) STRICT; INSERT INTO t VALUES ('a')", "datatype mismatch"),
        (
            "CREATE TABLE t (i, n); CREATE VIEW v AS SELECT n FROM t; ALTER TABLE t DROP COLUMN n",
            "error in view after drop column"
        ),
        ("SELECT zeroblob(2000000000)", "out of memory"),
        ("PRAGMA query_only = 1; CREATE TABLE t (i)", "attempt to write a readonly database"),
    ])
    func messagesOfSQLiteAreFound(sql: String, heading: String) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let queue = try DatabaseQueue(configuration: configuration)
        let error = try #require(throws: DatabaseError.self) {
            try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        }
        let found = Explanation.of(message: "\(error)")
        #expect(found?.message == heading, "\(error)")
    }

    /// As an app sees it that opens the file by itself, with another key.
    @Test func wrongKeyIsFound() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.db")
        func configuration() throws -> Configuration {
            EncryptedDatabase.configuration(key: try DatabaseKey.generate())
        }
        try DatabaseQueue(path: path, configuration: configuration()).write {
            try $0.execute(sql: "CREATE TABLE t (i)")
        }
        let error = try #require(throws: DatabaseError.self) {
            try DatabaseQueue(path: path, configuration: configuration())
        }
        #expect(Explanation.of(message: "\(error)")?.message == "file is not a database")
        #expect(Explanation.of(code: "wrongKey")?.message == "file is not a database")
    }

    @Test func pageOfAnotherPageIsNotTheFirst() {
        let log = "2026-11-27 ERROR CORE sqlcipher_page_cipher: hmac check failed for pgno=12"
        #expect(Explanation.of(message: log)?.message == "database disk image is malformed")
        #expect(
            Explanation.of(message: String(log.dropLast()))?.message == "file is not a database"
        )
        #expect(Explanation.of(result: "1806")?.message == "unable to open database file")
        #expect(Explanation.of(result: "99")?.message == nil)
        #expect(Explanation.of(result: "522")?.message == "disk I/O error")
        #expect(Explanation.of(message: "what is this?")?.message == nil)
        #expect(Explanation.of(message: "  ")?.message == nil)
    }
}
