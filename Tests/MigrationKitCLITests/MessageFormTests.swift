import Testing

@testable import MigrationKitCLI

/// Messages wrap at the terminal's width, but never inside of what can be copied.
@Suite struct MessageFormTests {
    private let headline = "error: there is no such migration in the folder of the project here"
    private let advice =
        "Give the path first. The key can be changed with 'migrationkit-cli key rotate --db-path x.db', or "
        + "(`git fetch --unshallow`) it isn't there."

    @Test func whatIsQuotedStaysOnOneLine() {
        let lines = MessageForm(columns: 50).text(headline, [advice]).split(separator: "\n")
        #expect(
            lines == [
                "error: there is no such migration in the folder of",
                "  the project here",
                "  Give the path first. The key can be changed with",
                "  'migrationkit-cli key rotate --db-path x.db', or",
                "  (`git fetch --unshallow`) it isn't there.",
            ]
        )
    }

    /// A terminal breaks it where it must; a line break of ours would be copied.
    @Test func whatIsQuotedAndTooLongHasALineOfItsOwn() {
        let lines = MessageForm(columns: 30).text("error: no", [advice]).split(separator: "\n")
        #expect(lines.contains("  'migrationkit-cli key rotate --db-path x.db',"))
        for line in lines where !line.contains("'m") { #expect(line.count <= 30) }
    }

    @Test func headlineIsOneLineInALog() {
        let long = headline + headline
        let lines = MessageForm().text(long, [advice]).split(separator: "\n")
        #expect(lines.first == long[...])
        for line in lines.dropFirst() { #expect(line.count <= 80) }
    }

    @Test func apostrophesAreNoQuotes() {
        let text = "the users' tables aren't there, 'tis the app's own table that isn't"
        let lines = text[...].wrapped(to: 24)
        #expect(lines.allSatisfy { $0.count <= 24 }, "\(lines)")
    }

    @Test func indentedLinesAreNotWrapped() {
        let command = "  migrationkit-cli migrate --db-path notes.db --keychain-service org.example"
        let text = MessageForm(columns: 40).text("note: x", ["Run:", command])
        #expect(text == "note: x\n  Run:\n  \(command)")
    }
}
