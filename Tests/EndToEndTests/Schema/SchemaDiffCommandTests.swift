import Foundation
import TestSupport
import Testing

/// `create --to` on a terminal, and after a signal.
@Suite struct SchemaDiffCommandTests {
    private let tool: Tool

    private static let notes = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
        CREATE INDEX notes_title ON notes (title);
        """

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write("0001_notes", up: Self.notes, down: "DROP TABLE notes;")
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell(
            "INSERT INTO notes (title, body) VALUES ('a', 'secret one'), ('b', NULL), ('a', 'x');"
        )
    }

    private var migrations: [String] { ["--migrations", tool.migrations] }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).sorted()
    }

    @Test func progressOfTheCopyIsShown() throws {
        let path = try tool.folder.write("schema.sql", "\(Self.notes)CREATE TABLE t (a);".utf8)
        let terminal = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["create", "next", "--to", path, "--prove-on-copy"] + migrations + tool.opening,
            environment: tool.environment
        )
        let result = terminal.finish()
        #expect(result.status == 0, "\(result)")
        for part in ["applying", "rolling back"] {
            #expect(
                result.stdout.contains("on a copy of the database: \(part) migration (1 of 1)"),
                "\(result)"
            )
        }
    }

    @Test func copyIsGoneAfterASignal() throws {
        _ = try tool.shell(
            """
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 40)
            INSERT INTO notes (title, body) SELECT 'long', hex(randomblob(1000000)) FROM n;
            """
        )
        let path = try tool.folder.write("schema.sql", "\(Self.notes)CREATE TABLE t (a);".utf8)
        let files = try names()
        let process = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["create", "next", "--to", path, "--prove-on-copy"] + migrations + tool.opening,
            environment: tool.environment
        )
        try wait(for: "a copy") { try names().contains { $0.hasPrefix(".store.db-writing-") } }
        process.send(SIGINT)
        let result = try process.finish()
        #expect(result.status == 130, "\(result)")
        #expect(result.stderr.contains("Nothing was written"), "\(result)")
        #expect(try names() == files)
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.migrations).count == 1)
    }

    @Test func renameIsAskedAboutOnATerminal() throws {
        let wanted = Self.notes.replacing("body", with: "\"text\"")
        let path = try tool.folder.write("schema.sql", wanted.utf8)
        let question = "Is text the new name of the column body of notes? [y/N] "
        func answer(_ text: String) throws -> ProcessResult {
            let terminal = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                ["create", "next", "--to", path] + migrations,
                environment: tool.environment
            )
            #expect(terminal.wait(for: question))
            terminal.type("\(text)\n".utf8)
            return terminal.finish()
        }
        let no = try answer("n")
        #expect(no.status == 65, "\(no)")
        #expect(no.stdout.contains("drop-column"), "\(no)")
        let yes = try answer("y")
        #expect(yes.status == 0, "\(yes)")
        let text = try tool.folder.data("migrations/0002_next.sql")
        #expect(String(decoding: text, as: UTF8.self).contains("RENAME COLUMN"))
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.shell("SELECT text FROM notes WHERE id = 1") == "secret one")
    }
}
