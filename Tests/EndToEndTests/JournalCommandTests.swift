import Foundation
import TestSupport
import Testing

/// The journal of runs at one moment, its times in a zone, and what is asked before it is changed.
@Suite struct JournalCommandTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
    }

    private func changeRow() throws {
        try tool.write("0002_row", up: "INSERT INTO item VALUES (2);", down: "DELETE FROM item;")
    }

    @Test func redosAtOneMomentUndoOnlyTheLatest() throws {
        let tool = tool
        let runs = try (1...4).map { _ in
            try ChildProcess(
                builtExecutable("migrationkit-cli"),
                ["redo"] + tool.opening + ["--migrations", tool.migrations],
                environment: tool.environment
            )
        }
        for run in runs {
            #expect(try run.finish().status == 0)
        }
        let history = try tool.run(["history"] + tool.opening).stdout
        #expect(history.matches(of: /rolled back +\d+ ms +0003_tags/).count == 4)
        #expect(!history.contains(/rolled back +\d+ ms +0002_row/))
    }

    @Test func timesForPeopleHaveTheirZone() throws {
        var tool = tool
        for (zone, offset) in [("UTC", "+0000"), ("NST-5:45", "+0545"), ("XST+3", "-0300")] {
            tool.environment["TZ"] = zone
            for output in [
                try tool.onStore("status").stdout,
                try tool.run(["history"] + tool.opening).stdout,
            ] {
                let times = output.matches(of: /\d{4}-\d\d-\d\d \d\d:\d\d ([+-]\d{4})/)
                #expect(!times.isEmpty)
                #expect(times.allSatisfy { $0.1 == offset }, "\(output)")
            }
        }
    }

    @Test func repairIsAskedOnTheTerminal() throws {
        try changeRow()
        for (answer, status) in [("n", 77), ("y", 0)] as [(String, Int32)] {
            let terminal = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                ["repair", "0002_row"] + tool.opening + ["--migrations", tool.migrations],
                environment: tool.environment
            )
            #expect(terminal.wait(for: "[y/N]"))
            terminal.type("\(answer)\n".utf8)
            let end = terminal.finish()
            #expect(end.status == status)
            // Whoever says no has made no error.
            #expect(!end.stdout.contains("error"), "\(end)")
            #expect(end.stdout.contains("Nothing was changed.") == (answer == "n"), "\(end)")
        }
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test(arguments: [
        ["rollback"], ["rollback", "--all"], ["rollback", "--to", "0001"], ["redo"],
    ])
    func undoingIsAskedOnTheTerminal(_ command: [String]) throws {
        let arguments = command + tool.opening + ["--migrations", tool.migrations]
        func history() throws -> String { try tool.run(["history"] + tool.opening).stdout }
        let before = try history()
        for (answer, status) in [("n", 77), ("y", 0)] as [(String, Int32)] {
            let terminal = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                arguments,
                environment: tool.environment
            )
            #expect(terminal.wait(for: "created is lost. [y/N]"))
            terminal.type("\(answer)\n".utf8)
            let end = terminal.finish()
            #expect(end.status == status, "\(end)")
            #expect(try (history() == before) == (answer == "n"))
        }
        // An option answers, and where nothing can be undone, nothing is asked.
        for more in [["--yes"], ["--no-prompt"]] {
            let end = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                ["rollback", "--all"] + more + tool.opening + ["--migrations", tool.migrations],
                environment: tool.environment
            ).finish()
            #expect(end.status == 0, "\(end)")
            #expect(!end.stdout.contains("[y/N]"), "\(end)")
            #expect(try tool.onStore("migrate").status == 0)
        }
    }
}
