import Foundation
import TestSupport
import Testing

/// Colours are for terminals, and for those who want them.
@Suite struct TerminalTests {
    private func terminal(
        _ variables: [String: String],
        _ arguments: String...
    ) throws -> String {
        let tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate", "--to", "0001").status == 0)
        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            arguments + tool.opening + ["--migrations", tool.migrations],
            environment: tool.environment.merging(variables) { $1 }
        )
        let result = process.finish()
        return result.stdout + result.stderr
    }

    @Test func statesAndErrorsAreColouredOnATerminal() throws {
        let status = try terminal(["TERM": "xterm"], "status")
        #expect(status.contains("\u{1B}[32mup\u{1B}[0m"))
        #expect(status.contains("\u{1B}[33mdown\u{1B}[0m"))
        let error = try terminal(["TERM": "xterm"], "migrate", "--to", "0009")
        #expect(error.contains("\u{1B}[31merror:\u{1B}[0m there is no migration '0009'"))
    }

    @Test(arguments: [["TERM": "dumb"], ["TERM": "xterm", "NO_COLOR": "1"]])
    func nothingIsColouredForThoseWhoDoNotWantIt(_ variables: [String: String]) throws {
        let texts = [
            try terminal(variables, "status"), try terminal(variables, "migrate"),
            try terminal(variables, "migrate", "--to", "0009"),
        ]
        for text in texts {
            #expect(!text.contains("\u{1B}"), "\(text)")
        }
    }

    /// The shell's `stty` says how wide the terminal is.
    @Test(arguments: [40, 120])
    func messagesAreAsWideAsTheTerminal(_ columns: Int) throws {
        var tool = try Tool()
        tool.environment["NO_COLOR"] = "1"
        let command =
            "stty cols \(columns); exec '\(try builtExecutable("migrationkit-cli"))' migrate --no-prompt "
            + "--db-path x.db --migrations '\(tool.migrations)'"
        try tool.writeItems()
        let shown = try TerminalProcess("/bin/sh", ["-c", command], environment: tool.environment)
            .finish().stdout
        let lines = shown.split { $0.isNewline }
        #expect(lines.count > 1, "\(shown)")
        for line in lines { #expect(line.count <= columns, "\(line)") }
        if columns == 120 { #expect(lines.contains { $0.count > 80 }, "\(shown)") }
    }

    @Test func inspectAndLintShowHowFarTheyAre() throws {
        let tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
        let pages = try tool.folder.data("store.db").count / 4096
        for (arguments, line) in [
            (["inspect"] + tool.opening, "checking: \(pages) of \(pages) pages"),
            (["lint", "--migrations", tool.migrations], "checking: 2 of 3 migrations"),
        ] {
            let process = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                arguments,
                environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
            )
            let shown = process.finish().stdout
            #expect(shown.contains(line), "\(shown)")
            let piped = try tool.run(arguments)
            #expect(!piped.stderr.contains("checking:"), "\(piped)")
        }
    }

    @Test func nothingIsColouredInAPipe() throws {
        var tool = try Tool(isRawKey: true)
        tool.environment["TERM"] = "xterm"
        try tool.writeItems()
        #expect(try tool.onStore("migrate", "--to", "0001").status == 0)
        let status = try tool.onStore("status")
        #expect(!status.stdout.contains("\u{1B}"))
        #expect(try !tool.onStore("migrate", "--to", "0009").stderr.contains("\u{1B}"))
    }
}
