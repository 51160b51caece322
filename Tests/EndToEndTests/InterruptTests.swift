import Foundation
import TestSupport
import Testing

/// Ctrl-C, typed on a terminal while a run shows its progress.
@Suite struct InterruptTests {
    private let tool: Tool
    private let clearedLine = "\r\u{1B}[2K"

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate", "--to", "0002_row").status == 0)
        try tool.write(
            "0004_endless",
            up: """
                CREATE TABLE endless AS
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                SELECT max(x) FROM c;
                """
        )
    }

    private func start(_ arguments: String...) throws -> TerminalProcess {
        try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["migrate"] + tool.opening + ["--migrations", tool.migrations] + arguments,
            environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
        )
    }

    private func typeControlC(on process: TerminalProcess) throws {
        process.type([3])
        let start = ContinuousClock.now
        let result = process.finish()
        #expect(ContinuousClock.now - start < .seconds(1))
        #expect(result.status == 130, "\(result)")
        // The terminal has echoed "^C" into the line of progress, which is gone.
        let rest = try #require(result.stdout.components(separatedBy: clearedLine).last)
        #expect(rest.hasPrefix("error: interrupted\r\n  "), "\(result)")
        #expect(rest.hasSuffix("\r\n"))
    }

    @Test(arguments: [[], ["--all-or-nothing"]])
    func controlCInAStepUndoesItAndClearsTheLine(_ mode: [String]) throws {
        let before = try tool.folder.data("store.db")
        let process = try mode.isEmpty ? start() : start("--all-or-nothing")
        #expect(process.wait(for: "\(clearedLine)applying 0003_tags (1 of 2)"))
        // The name, and again and again the time.
        #expect(process.wait(for: "\(clearedLine)applying 0004_endless (2 of 2)"))
        #expect(process.wait(for: "\(clearedLine)applying 0004_endless (2 of 2), 1"))
        #expect(process.wait(for: " ms\(clearedLine)applying 0004_endless (2 of 2), "))
        try typeControlC(on: process)

        let status = try tool.onStore("status", "--json").json()
        #expect(
            status["pending"] as? [String]
                == (mode.isEmpty ? ["0004_endless"] : ["0003_tags", "0004_endless"])
        )
        if !mode.isEmpty { #expect(try tool.shell("SELECT count(*) FROM item;") == "1") }
        #expect(try tool.onStore("verify").status == 0)
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
        if !mode.isEmpty { #expect(try tool.folder.data("store.db") == before) }
    }

    @Test func controlCEndsTheWaitForOurLock() throws {
        let holder = try ChildProcess(
            "flock",
            [tool.database + "-migration.lock", "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        let process = try start()
        #expect(process.wait(for: "\(clearedLine)waiting for another process"))
        try typeControlC(on: process)
        holder.closeInput()
        _ = try holder.finish()
    }

    @Test func controlCEndsTheWaitForALockOfSQLite() throws {
        // The tool has the file open by then, and holds the lock between processes.
        let holder = try ChildProcess(
            "flock",
            [tool.database + "-migration.lock", "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        let process = try start()
        #expect(process.wait(for: "\(clearedLine)waiting for another process"))
        let locker = try LockHolder(tool.database, key: "x'\(tool.password)'")
        holder.closeInput()
        _ = try holder.finish()
        #expect(process.wait(for: "\(clearedLine)waiting for another process"))
        try typeControlC(on: process)
        try locker.release()
    }
}
