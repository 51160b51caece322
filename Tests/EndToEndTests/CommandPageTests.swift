import TestSupport
import Testing

/// The page with each command's output says what the tool prints now. To write it anew, run this
/// with `TESTS_RECORD_SNAPSHOTS=1`.
@Suite struct CommandPageTests {
    /// A command's part of the page.
    struct Section: Sendable {
        /// The command's words.
        let command: String
        let show: @Sendable (inout CommandPage) throws -> Void

        init(_ command: String, _ show: @escaping @Sendable (inout CommandPage) throws -> Void) {
            self.command = command
            self.show = show
        }
    }

    static let sections =
        migrationSections + querySections + schemaSections + fileSections + keySections
        + fleetSections

    @Test func pageIsWhatTheToolPrints() throws {
        var page = try CommandPage(
            """
            # Commands

            Every command, with what it prints.

            A test makes this page: it runs the commands in a folder with an encrypted database, whose
            key is in the desktop's secret store. Paths, dates, times, owners and random digits are
            replaced. `migrationkit-cli help COMMAND` lists a command's options, and `--json` gives the
            same as a document for programs ([Exit codes](ExitCodes.md#json)).

            """
        )
        for section in Self.sections {
            try page.begin(section.command.split(separator: " ").map(String.init))
            try section.show(&page)
        }
        #expect(!page.text.contains("/tmp/"))
        try expectSnapshot(page.text, at: "Documentation/Commands.md")
    }

    @Test func everyCommandIsOnThePage() {
        let groups = ToolCommands.words.compactMap { $0.count > 1 ? $0[0] : nil }
        let commands = ToolCommands.words.map { $0.joined(separator: " ") }
            .filter { !$0.isEmpty && !groups.contains($0) }
        #expect(Self.sections.map(\.command).sorted() == commands.sorted())
    }
}
