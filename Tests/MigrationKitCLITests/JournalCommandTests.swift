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

    @Test func theLatestMayBeEditedAndRedone() throws {
        try tool.write("0003_tags", up: "CREATE TABLE tag (name);", down: "DROP TABLE tag;")
        #expect(try tool.onStore("migrate").status == 65)
        #expect(try tool.onStore("status", "--exit-code").status == 65)
        #expect(try tool.onStore("redo").status == 0)
        #expect(try tool.onStore("status", "--exit-code").status == 0)
        #expect(try tool.shell("SELECT name FROM pragma_table_info('tag')").contains("name"))
    }

    @Test func repairOfWhatIsNotAppliedSaysSo() throws {
        #expect(try tool.onStore("rollback").status == 0)
        let repair = try tool.onStore("repair", "3", "--yes")
        #expect(repair.stdout == "Nothing to accept: 0003_tags is not applied.\n")
    }

    @Test(arguments: [
        "CREATE TABLE grdb_migrationkit_journal (other)",
        "CREATE VIEW grdb_migrationkit_journal AS SELECT 1",
    ])
    func tableOfOthersInThePlaceOfTheJournalIsNamed(_ sql: String) throws {
        _ = try tool.shell("DROP TABLE grdb_migrationkit_journal; \(sql)")
        try tool.write("0004_more", up: "CREATE TABLE more (id);")
        let failed = try tool.onStore("migrate", "--json")
        #expect(failed.status == 65)
        let message = try #require(try failed.jsonError()["message"] as? String)
        #expect(message.contains("'grdb_migrationkit_journal' doesn't have"))
    }

    @Test func oddTimesAndNamesInTheTablesAreShownSafely() throws {
        _ = try tool.shell("UPDATE grdb_migrationkit_journal SET seconds = 9e999 WHERE id = 1")
        _ = try tool.shell("UPDATE grdb_migrationkit_journal SET seconds = -5 WHERE id = 2")
        _ = try tool.shell(
            """
            INSERT INTO grdb_migrationkit_journal (identifier, event, time)
            VALUES ('a' || char(27) || '[2J' || char(10) || 'b', 'applied', '2024-01-01 00:00:00.000')
            """
        )
        for command in ["status", "history"] {
            let human = try tool.run(
                [command] + tool.opening + ["--migrations", tool.migrations]
            )
            #expect(human.status == 0)
            #expect(!human.stdout.contains("\u{1B}"))
        }
        #expect(try tool.run(["history", "--json"] + tool.opening).status == 0)
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

    @Test func everyCommandTellsTheSameTimeOfAMigration() throws {
        try tool.write("0009_last", up: "CREATE TABLE last (id);", down: "DROP TABLE last;")
        let run = try tool.onStore("migrate", "--json").json()
        let applied = try #require((run["applied"] as? [[String: Any]])?.last)
        #expect(applied["identifier"] as? String == "0009_last")
        let seconds = try #require(applied["seconds"] as? Double)
        let status = try tool.onStore("status", "--json").json()
        let rows = try #require(status["migrations"] as? [[String: Any]])
        #expect(rows.last?["seconds"] as? Double == seconds)
        let entries = try tool.run(["history"] + tool.opening + ["--json"]).json()
        let history = try #require(entries["history"] as? [[String: Any]])
        #expect(history.last?["seconds"] as? Double == seconds)
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

    /// The next 'verify' would say it, to somebody else.
    @Test func repairSaysWhereTheSchemaIsNotWhatTheNewTextMakes() throws {
        try tool.write("0003_tags", up: "CREATE TABLE tag (id INTEGER, name TEXT);")
        let repaired = try tool.onStore("repair", "0003", "--yes")
        #expect(repaired.status == 0)
        #expect(repaired.stdout == "Accepted the new text of 0003_tags\n")
        #expect(repaired.stderr.hasPrefix("warning: 'verify' fails now: "), "\(repaired)")
        #expect(repaired.stderr.contains("\n    - column tag.name is missing\n"))
        #expect(repaired.stderr.contains("'repair --schema'"))
        #expect(try tool.onStore("verify").status == 2)

        try tool.writeItems()
        let undone = try tool.onStore("repair", "0003", "--yes")
        #expect(undone.status == 0)
        #expect(undone.stderr.isEmpty)
        #expect(try tool.onStore("verify").status == 0)

        try FileManager.default.removeItem(atPath: "\(tool.migrations)/0003_tags.sql")
        let forgotten = try tool.onStore("repair", "--forget", "0003_tags", "--yes", "--json")
        let notes = try #require(try forgotten.json()["notes"] as? [String])
        try #require(notes.count == 1)
        #expect(notes[0].contains("table tag comes from no applied migration"))
    }

    @Test func deletedMigrationIsToldAsSuch() throws {
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0002_row.sql"))
        for command in ["migrate", "rollback", "plan"] {
            let refused = try tool.onStore(command)
            #expect(refused.status == 65)
            #expect(
                refused.stderr.hasPrefix("error: 0002_row was applied, but no longer exists\n")
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
                == "This database has no history.\n"
        )
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore("status").stdout.contains(/\nup +0002_row\n/))
    }
}
