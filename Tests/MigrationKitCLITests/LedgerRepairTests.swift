import Foundation
import TestSupport
import Testing

/// An applied migration whose file was renamed or deleted has a way out.
@Suite struct LedgerRepairTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
    }

    private func rename(_ old: String, to new: String) throws {
        try FileManager.default.moveItem(
            atPath: "\(tool.migrations)/\(old).sql",
            toPath: "\(tool.migrations)/\(new).sql"
        )
    }

    private func recorded() throws -> [Substring] {
        try tool.shell("SELECT identifier FROM grdb_migrations ORDER BY 1")
            .split(separator: "\n").filter { $0 != "ok" }
    }

    @Test func newestFileThatIsGoneIsNotBlamedOnANewerProgram() throws {
        try FileManager.default.removeItem(atPath: "\(tool.migrations)/0003_tags.sql")
        let harmless = try tool.onStore("migrate")
        #expect(harmless.status == 0 && harmless.stdout.contains("newer: 0003_tags"))
        // As an earlier release has recorded it.
        _ = try tool.shell("UPDATE grdb_migrationkit_journal SET older = NULL")
        let refused = try tool.onStore("migrate")
        #expect(refused.status == 65)
        #expect(!refused.stderr.contains("was migrated by a newer program"))
        #expect(refused.stderr.contains("renamed or deleted"))
        #expect(refused.stderr.contains("\n    repair --forget 0003_tags\n"))
        let status = try tool.onStore("status").stdout
        #expect(status.contains("1 unknown: applied by a newer program, or renamed or deleted"))
    }

    /// The database may be a stranger's.
    @Test func aRecordedNameControlsNoTerminal() throws {
        let name = "char(27) || ']0;x' || char(10) || '::error::x'"
        _ = try tool.shell(
            """
            UPDATE grdb_migrations SET identifier = \(name) WHERE identifier = '0003_tags';
            UPDATE grdb_migrationkit_journal SET identifier = \(name) WHERE identifier = '0003_tags';
            """
        )
        let status = try tool.onStore("status").stdout
        #expect(status.contains("has the text of 0003_tags"), "\(status)")
        expectNoControls(in: status)
    }

    @Test(arguments: [("0002_row", "0002_rows"), ("0003_tags", "0003_labels")])
    func renamedMigrationIsRecordedUnderItsNewName(_ old: String, _ new: String) throws {
        try rename(old, to: new)
        #expect(try tool.onStore("migrate").status == 65)
        let status = try tool.onStore("status").stdout
        #expect(status.contains("\(old) has the text of \(new)"))
        #expect(status.contains("  repair --rename \(old)=\(new)"))

        let unanswered = try tool.onStore("repair", "--rename", "\(old)=\(new)", "--no-prompt")
        #expect(unanswered.status == 64)
        #expect(try recorded().contains(Substring(old)))

        let repaired = try tool.onStore("repair", "--rename", "\(old)=\(new)", "--yes", "--json")
            .json()
        #expect(repaired["renamed"] as? [[String: String]] == [["from": old, "to": new]])
        #expect(try !recorded().contains(Substring(old)))
        #expect(try tool.onStore("status", "--exit-code").status == 0)
        #expect(try tool.onStore("migrate").status == 0)
        let history = try tool.run(["history"] + tool.opening).stdout
        #expect(history.contains(try Regex("renamed +\(old)\\n.* recorded +\(new)")))
        #expect(try tool.onStore("rollback", "--all").status == 0)
    }

    /// When it was applied, and how long it took, is still known.
    @Test func renamingKeepsWhatIsRemembered() throws {
        func seconds(_ name: String) throws -> Double? {
            let rows = try tool.onStore("status", "--json").json()["migrations"]
            return (rows as? [[String: Any]])?.first { $0["identifier"] as? String == name }?[
                "seconds"
            ] as? Double
        }
        _ = try tool.shell("UPDATE grdb_migrationkit_journal SET seconds = 7 WHERE id = 2")
        try rename("0002_row", to: "0002_rows")
        #expect(try tool.onStore("repair", "--rename", "0002_row=0002_rows", "--yes").status == 0)
        #expect(try seconds("0002_rows") == 7)
    }

    @Test func deletedMigrationIsForgotten() throws {
        try FileManager.default.removeItem(atPath: "\(tool.migrations)/0002_row.sql")
        #expect(try tool.onStore("migrate").status == 65)
        let repaired = try tool.onStore("repair", "--forget", "0002_row", "--yes")
        #expect(repaired.stdout == "Removed 0002_row from the record\n")
        #expect(try recorded() == ["0001_items", "0003_tags"])
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.shell("SELECT count(*) FROM item").contains("1"))
        #expect(try tool.run(["history"] + tool.opening).stdout.contains(/forgotten +0002_row/))
    }

    @Test(
        arguments: [
            (["--forget", "0001_items"], 64, "stillThere"),
            (["--forget", "0009_x"], 64, "notApplied"),
            (["--rename", "0001_items=0002_row"], 64, "stillThere"),
            (["--rename", "0009_x=0002_row"], 64, "notApplied"),
            (["--rename", "0002_row=0003_tags"], 64, "alreadyApplied"),
            (["--rename", "0002_row=0008"], 64, "unknownMigration"),
            (["--rename", "0002_row"], 64, "usage"), ([], 64, "usage"),
        ] as [([String], Int32, String)]
    )
    func whatCanNotBeRepairedChangesNothing(
        _ arguments: [String],
        _ status: Int32,
        _ code: String
    ) throws {
        if code == "alreadyApplied" || code == "unknownMigration" {
            try rename("0002_row", to: "0002_rows")
        }
        let before = try tool.folder.data("store.db")
        let refused = try tool.run(
            ["repair"] + arguments + tool.opening
                + ["--migrations", tool.migrations, "--yes", "--json"]
        )
        #expect(refused.status == status)
        #expect(try refused.jsonError()["code"] as? String == code)
        #expect(try tool.folder.data("store.db") == before)
    }

    /// Both tables, or none: here the second entry can't be written.
    @Test func ledgerAndJournalAreOneTransaction() throws {
        try rename("0002_row", to: "0002_rows")
        _ = try tool.shell(
            """
            CREATE TRIGGER refusing BEFORE INSERT ON grdb_migrationkit_journal
            WHEN new.event = 'recorded' BEGIN SELECT RAISE(ABORT, 'no'); END
            """
        )
        #expect(try tool.onStore("repair", "--rename", "0002_row=0002_rows", "--yes").status != 0)
        #expect(try recorded() == ["0001_items", "0002_row", "0003_tags"])
        #expect(try !tool.run(["history"] + tool.opening).stdout.contains("renamed"))
    }

    @Test func lateMigrationIsNotSaidToBeAppliedByMigrate() throws {
        try tool.write("0000_late", up: "CREATE TABLE late (id);")
        let status = try tool.onStore("status")
        #expect(status.stdout.contains(/(?m)^late .* 0000_late$/))
        #expect(!status.stdout.contains("'migrate' applies"))
        #expect(status.stdout.contains("--allow-out-of-order"))
        let refused = try tool.onStore("migrate")
        #expect(refused.status == 65)
        #expect(refused.stderr.contains("--allow-out-of-order"))
        #expect(try tool.onStore("migrate", "--allow-out-of-order").status == 0)
    }
}
