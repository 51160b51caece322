import Foundation
import TestSupport
import Testing

/// A disk that takes no more: a limit on the size of files stands in for it, which ends in the same
/// errors of SQLite's.
@Suite struct DiskFullTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.write(
            "0001_blobs",
            up: """
                CREATE TABLE blob (content BLOB);
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 500)
                INSERT INTO blob SELECT randomblob(1000) FROM c;
                """
        )
    }

    /// Runs the tool where no file may grow beyond a number of KiB.
    private func migrate(limit: Int, _ more: String...) throws -> ProcessResult {
        let arguments =
            ["migrate"] + tool.opening + ["--migrations", tool.migrations, "--json"] + more
        return try TestSupport.run(
            "bash",
            // Ignored, the signal becomes the error of the write that goes too far.
            ["-c", "trap '' XFSZ; ulimit -f \(limit); exec \"$0\" \"$@\""]
                + [builtExecutable("migrationkit-cli")] + arguments,
            environment: tool.environment
        )
    }

    /// What is in the store. Its bytes may differ all the same: a page that is written back from
    /// the journal is encrypted anew.
    private func content() throws -> String {
        try SQLCipherShell.run(
            tool.database,
            key: tool.password,
            """
            SELECT sql FROM sqlite_schema; SELECT * FROM grdb_migrations;
            SELECT count(*), group_concat(hex(substr(content, 1, 8))) FROM blob;
            """
        )
    }

    private func expectNothingChanged(
        by result: ProcessResult,
        since before: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(result.status == 74, "\(result.stderr)", sourceLocation: sourceLocation)
        #expect(try result.jsonError()["exit"] as? Int == 74, sourceLocation: sourceLocation)
        #expect(try content() == before, sourceLocation: sourceLocation)
        #expect(
            try tool.folder.names.sorted() == ["migrations", "password", "store.db"],
            sourceLocation: sourceLocation
        )
        #expect(try tool.onStore("verify").status == 0, sourceLocation: sourceLocation)
        let pending = try tool.onStore("status", "--json").json()["pending"] as? [String]
        #expect(pending == ["0002_more"], sourceLocation: sourceLocation)
    }

    /// Writes a second migration that adds so many KiB to a database of half a MiB.
    private func writeMore(kilobytes: Int) throws {
        try tool.write(
            "0002_more",
            up: """
                WITH RECURSIVE c (x) AS (
                    SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < \(kilobytes)
                )
                INSERT INTO blob SELECT randomblob(1000) FROM c;
                """
        )
    }

    // More than the cache holds is written before the commit, less at the commit, which comes after
    // the verification.
    @Test(arguments: [20_000, 400], [[], ["--all-or-nothing"]])
    func stepThatDoesNotFitIsUndone(kilobytes: Int, mode: [String]) throws {
        #expect(try tool.onStore("migrate").status == 0)
        let before = try content()
        try writeMore(kilobytes: kilobytes)
        let result =
            try mode.isEmpty ? migrate(limit: 800) : migrate(limit: 800, "--all-or-nothing")
        try expectNothingChanged(by: result, since: before)

        // With room it goes on from there.
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test func backupThatDoesNotFitLeavesNothingAndKeepsTheMigrationFromRunning() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let before = try content()
        try writeMore(kilobytes: 1)
        let result = try migrate(limit: 300, "--backup", tool.folder.path("backup.db"))
        try expectNothingChanged(by: result, since: before)
    }
}
