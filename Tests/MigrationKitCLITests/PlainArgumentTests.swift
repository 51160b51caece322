import Foundation
import TestSupport
import Testing

/// What people type by habit, without options.
@Suite struct PlainArgumentTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
    }

    private var key: [String] { ["--password-file", tool.folder.path("password"), "--raw-key"] }

    @Test func aQueryNamesItsDatabase() throws {
        let words = ["query", tool.database, "SELECT 41 + 1"]
        let result = try tool.run(words + key)
        #expect(result.status == 0 && result.stdout.contains("42"), "\(result)")
        #expect(try tool.run(words + ["more"] + key).status == 64)
        #expect(try tool.run(words + ["--db-path", tool.database] + key).status == 64)
    }

    @Test func aBackupIsMadeAndRestoredAsByCp() throws {
        let (copy, other) = (tool.folder.path("copy.db"), tool.folder.path("other.db"))
        let made = try tool.run(["backup", tool.database, copy] + key)
        #expect(made.status == 0, "\(made)")
        let restored = try tool.run(["restore", copy, other] + key)
        #expect(restored.status == 0, "\(restored)")
        #expect(try tool.run(["key", "check", other] + key).status == 0)
        for words in [
            ["backup", tool.database], ["backup", tool.database, copy, "--output", other],
            ["restore"], ["restore", copy, "--from", copy],
        ] {
            #expect(try tool.run(words + key).status == 64, "\(words)")
        }
    }

    @Test(arguments: ["status", "plan", "verify", "migrate"])
    func aFolderHasTheMigrations(_ command: String) throws {
        let result = try tool.run([command, tool.migrations, "--db-path", tool.database] + key)
        #expect(result.status == 0, "\(result)")
        // Not if one is named.
        let twice = [command, tool.migrations, "--migrations", tool.migrations] + key
        #expect(try tool.run(twice).status != 0)
    }

    @Test func aFolderIsLinted() throws {
        let result = try tool.run("lint", tool.migrations)
        #expect(result.status == 0 && result.stdout.contains("Checked 3 migrations"), "\(result)")
    }

    @Test func aPlaintextDatabaseNamesTheTwoWays() throws {
        let path = tool.folder.path("plain.db")
        _ = try SQLCipherShell.run(path, key: nil, "CREATE TABLE t (a);")
        let result = try tool.run(["status", path, "--migrations", tool.migrations] + key)
        #expect(result.status == 77)
        #expect(result.stderr.contains("encrypt \(path)"), "\(result)")
        #expect(result.stderr.contains("--no-encryption"), "\(result)")
    }
}
