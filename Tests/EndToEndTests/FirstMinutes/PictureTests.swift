import Foundation
import TestSupport
import Testing

/// The picture at the top of the README is of a real run. To make it anew, run this with
/// `TESTS_RECORD_SNAPSHOTS=1`.
@Suite struct PictureTests {
    @Test func pictureIsWhatTheToolPrints() throws {
        var page = try CommandPage("")
        try page.runUnseen("migrationkit-cli init --keychain-service notes --db-path notes.db")
        try page.write(
            "0001_create_notes",
            up: """
                CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
                INSERT INTO notes (title) VALUES ('Milk'), ('Bread');
                """,
            down: "DROP TABLE notes;"
        )
        try page.run("migrationkit-cli key generate", "migrationkit-cli migrate")
        try page.write(
            "0002_unique",
            up: """
                UPDATE notes SET title = 'Milk';
                CREATE UNIQUE INDEX notes_title ON notes (title);
                """,
            down: "DROP INDEX notes_title;"
        )
        try page.run(
            "cat migrations/0002_unique.sql",
            "migrationkit-cli migrate",
            "migrationkit-cli query 'SELECT * FROM notes'"
        )
        let console = page.text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("```") }.joined(separator: "\n")
            .replacing("\n\n\n", with: "\n\n").trimmingCharacters(in: .newlines)
        #expect(!console.contains("/tmp/"))
        let title = "A migration that fails in its second statement is undone as a whole."
        try expectSnapshot(Picture(console).svg(title: title), at: "Documentation/first-run.svg")
    }
}
