import Foundation
import TestSupport
import Testing

/// `test` in a project's folder: the paths that it prints, and what it compares with in git.
@Suite struct TestTests {
    private let settings: SettingsFolder
    private var tool: Tool { settings.tool }

    init() throws {
        settings = try SettingsFolder()
        try tool.write(
            "0002_row",
            up: "INSERT INTO item VALUES (1000);",
            down: "DELETE FROM item WHERE id = 1000;"
        )
    }

    private func commit() throws {
        try settings.git(["init", "--quiet"])
        try settings.git(["add", "migrations"])
        try settings.git(["commit", "--quiet", "--message", "x"])
    }

    private func failures(_ arguments: String...) throws -> [String] {
        let result = try settings.run(["test", "--json"] + arguments)
        let tests = try #require(try result.json()["tests"] as? [[String: Any]], "\(result)")
        return tests.filter { $0["outcome"] as? String == "failed" }.map {
            "\($0["kind"] ?? "") \($0["file"] ?? $0["name"] ?? "")"
        }
    }

    @Test func onlyWhatIsNewIsTestedWithBase() throws {
        // A fault that is in the base is no fault of a branch.
        try tool.write("0002_row", up: "CREATE INDEX i ON item (id);", down: "SELECT 1;")
        try commit()
        #expect(try failures() == ["rollback migrations/0002_row.sql"])
        #expect(try failures("--base", "main") == [])
        try tool.write("0004_more", up: "CREATE TABLE more (id INTEGER);", down: "SELECT 1;")
        #expect(try failures("--base", "main") == ["rollback migrations/0004_more.sql"])
        #expect(try settings.run("test", "--base", "nothing").status == 66)
    }

    /// IF NOT EXISTS hides that a database of the base already has another table.
    @Test func upgradeOfTheBaseThatDiffersFromANewDatabaseIsFound() throws {
        try tool.write("0009_tags", up: "CREATE TABLE IF NOT EXISTS tags (id INTEGER);")
        try commit()
        try settings.write("allow-out-of-order = true")
        try tool.write("0008_tags", up: "CREATE TABLE IF NOT EXISTS tags (id INTEGER, name TEXT);")
        #expect(try failures("--base", "main") == ["upgrade a database at main"])
        let result = try settings.run("test", "--base", "main")
        #expect(result.stdout.contains("-   name TEXT"), "\(result)")
        // A near miss.
        try tool.write("0008_tags", up: "CREATE TABLE IF NOT EXISTS labels (id INTEGER);")
        #expect(try failures("--base", "main") == [])
        // Without the setting, the runner refuses it.
        try settings.write("")
        #expect(try failures("--base", "main") == ["upgrade a database at main"])
    }

    @Test func migrationOfTheBaseThatWasEditedIsRefused() throws {
        try commit()
        try tool.write("0001_items", up: "-- Items.\nCREATE TABLE item (id INTEGER);")
        #expect(try failures("--base", "main") == [])
        try tool.write("0001_items", up: "CREATE TABLE item (id TEXT);")
        #expect(try failures("--base", "main").first == "upgrade a database at main")
    }

    /// Whatever ends it, there is nothing to remove.
    @Test func nothingIsWrittenAndCtrlCEndsIt() throws {
        let before = try FileManager.default.subpathsOfDirectory(atPath: settings.folder.path)
        #expect(try settings.run("test").status == 0)
        var environment = tool.environment
        let temporary = try TemporaryFolder()
        environment["TMPDIR"] = temporary.path
        try tool.write(
            "0004_endless",
            up: """
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                INSERT INTO item SELECT max(i) FROM n;
                """
        )
        let process = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["test", "--migrations", tool.migrations],
            environment: environment,
            newSession: true
        )
        let parent = process.processIdentifier
        try wait(for: "its child") {
            let children = "/proc/\(parent)/task/\(parent)/children"
            return (try? String(contentsOfFile: children, encoding: .utf8))?.isEmpty == false
        }
        process.send(SIGINT)
        let result = try process.finish(within: 10)
        #expect(result.signal == SIGINT, "\(result)")
        try FileManager.default.removeItem(
            atPath: settings.folder.path("migrations/0004_endless.sql")
        )
        let after = try FileManager.default.subpathsOfDirectory(atPath: settings.folder.path)
        #expect(Set(after) == Set(before))
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
    }
}
