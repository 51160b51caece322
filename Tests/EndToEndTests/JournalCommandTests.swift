import Foundation
import TestSupport
import Testing

/// What was applied stays what it was: `status`, `repair`, `history`, and runs that refuse.
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

    @Test(arguments: [["migrate"], ["rollback"], ["redo"], ["plan"], ["migrate", "--dry-run"]])
    func changedMigrationIsRefusedAndNamed(_ command: [String]) throws {
        try changeRow()
        let before = try tool.folder.data("store.db")
        let options = tool.opening + ["--migrations", tool.migrations]
        let refused = try tool.run(command + options)
        #expect(refused.status == 65)
        #expect(refused.stderr.hasPrefix("error: 0002_row was changed after it was applied\n"))
        #expect(refused.stderr.contains("'repair 0002_row'"))
        let error = try tool.run(command + options + ["--json"]).jsonError()
        #expect(error["code"] as? String == "migrationsChanged")
        #expect(try tool.folder.data("store.db") == before)
    }

    @Test func commentsSpaceAndTheWayBackMayChange() throws {
        try tool.write(
            "0002_row",
            up: "-- one row\nINSERT  INTO item\nVALUES (1)",
            down: "DELETE FROM item WHERE id = 1;"
        )
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore("rollback", "--steps", "2").status == 0)
    }

    @Test func statusMarksWhatWasChanged() throws {
        try changeRow()
        let status = try tool.onStore("status")
        #expect(status.status == 0)
        #expect(status.stdout.contains(/\nchanged  .* 0002_row\n/))
        #expect(status.stdout.contains("1 changed since"))
        let rows = try #require(
            try tool.onStore("status", "--json").json()["migrations"] as? [[String: Any]]
        )
        #expect(rows.map { $0["state"] as? String } == ["up", "up", "up"])
        #expect(rows.map { $0["changed"] as? Bool } == [false, true, false])
        #expect(rows.allSatisfy { $0["appliedAt"] is String && $0["seconds"] is Double })
    }

    @Test func repairAsksAndAcceptsTheNewText() throws {
        try changeRow()
        let unanswered = try tool.onStore("repair", "0002", "--no-prompt")
        #expect(unanswered.status == 64)
        #expect(unanswered.stderr.contains("--yes"))
        #expect(try tool.onStore("migrate").status == 65)

        let repaired = try tool.onStore("repair", "0002", "--yes", "--json").json()
        #expect(repaired["repaired"] as? [String] == ["0002_row"])
        #expect(try tool.onStore("migrate").status == 0)
        let again = try tool.onStore("repair", "0002", "--yes")
        #expect(again.status == 0)
        #expect(again.stdout.hasPrefix("Nothing to accept"))
        #expect(try tool.run(["history"] + tool.opening).stdout.contains(/repaired +0002_row/))
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
            #expect(terminal.finish().status == status)
        }
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test func deletedMigrationIsToldAsSuch() throws {
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0002_row.sql"))
        for command in ["migrate", "rollback", "plan"] {
            let refused = try tool.onStore(command)
            #expect(refused.status == 65)
            #expect(
                refused.stderr.hasPrefix("error: 0002_row was applied, and is no longer there\n")
            )
        }
        let status = try tool.onStore("status")
        #expect(status.stdout.contains(/\nmissing  .* 0002_row\n/))
    }

    @Test func historyTellsWhatWasDone() throws {
        #expect(try tool.onStore("redo", "--steps", "2").status == 0)
        let history = try #require(
            try tool.run(["history", "--json"] + tool.opening).json()["history"]
                as? [[String: Any]]
        )
        #expect(
            history.map { "\($0["event"] ?? "") \($0["identifier"] ?? "")" } == [
                "applied 0001_items", "applied 0002_row", "applied 0003_tags",
                "rolledBack 0003_tags", "rolledBack 0002_row",
                "applied 0002_row", "applied 0003_tags",
            ]
        )
        let human = try tool.run(["history"] + tool.opening)
        #expect(human.stdout.hasPrefix("TIME "))
        #expect(human.stdout.split(separator: "\n").count == 8)
    }

    @Test func ledgerWithoutAJournalHasNoHistory() throws {
        _ = try tool.shell("DROP TABLE grdb_migrationkit_journal")
        try changeRow()
        #expect(
            try tool.run(["history"] + tool.opening).stdout
                == "No history is noted in this database.\n"
        )
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore("status").stdout.contains(/\nup +0002_row\n/))
    }
}
