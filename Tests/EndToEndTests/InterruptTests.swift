import Foundation
import TestSupport
import Testing

/// Ctrl-C, typed on a terminal while a run shows its progress, and the signal to end.
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

    /// Ends a run by a key or a signal, and tells how long that took.
    @discardableResult
    private func end(
        _ process: TerminalProcess,
        status: Int32 = 130,
        by end: (TerminalProcess) -> Void = { $0.type([3]) }
    ) throws -> Duration {
        let start = ContinuousClock.now
        end(process)
        let result = process.finish()
        let duration = ContinuousClock.now - start
        #expect(result.status == status, "\(result)")
        // The terminal has echoed "^C" into the line of progress, which is gone.
        let rest = try #require(result.stdout.components(separatedBy: clearedLine).last)
        #expect(rest.hasPrefix("\u{1B}[31merror:\u{1B}[0m interrupted\r\n  "), "\(result)")
        #expect(rest.hasSuffix("\r\n"))
        return duration
    }

    @Test func stepThatGoesOnTellsItsTimeAndItsRows() throws {
        try tool.write(
            "0004_endless",
            up: """
                CREATE TABLE many (id INTEGER);
                INSERT INTO many
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1234)
                SELECT x FROM c;
                INSERT INTO many
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                SELECT max(x) FROM c;
                """
        )
        let process = try start()
        #expect(process.wait(for: ", 1234 rows"))
        let line = /0004_endless \(2 of 2\), [0-9.]+ m?s, 1234 rows/
        #expect(process.text.contains(line), "\(process.text)")
        try end(process)
    }

    @Test(arguments: [[], ["--all-or-nothing"]])
    func controlCInAStepUndoesItAndClearsTheLine(_ mode: [String]) throws {
        // The other tests keep the machine busy: within a second, at the third try at the latest.
        var durations: [Duration] = []
        repeat {
            durations.append(try interruptStep(mode))
        } while (durations.last ?? .zero) >= .seconds(1) && durations.count < 3
        #expect((durations.min() ?? .seconds(60)) < .seconds(1))
    }

    private func interruptStep(_ mode: [String]) throws -> Duration {
        let before = try tool.folder.data("store.db")
        let pending = try tool.onStore("status", "--json").json()["pending"] as? [String]
        let process = try mode.isEmpty ? start() : start("--all-or-nothing")
        let place = pending == ["0004_endless"] ? "(1 of 1)" : "(2 of 2)"
        // The name, and again and again the time.
        #expect(process.wait(for: "\(clearedLine)applying 0004_endless \(place)"))
        #expect(process.wait(for: "\(clearedLine)applying 0004_endless \(place), 1"))
        #expect(process.wait(for: " ms\(clearedLine)applying 0004_endless \(place), "))
        let duration = try end(process)

        let status = try tool.onStore("status", "--json").json()
        #expect(
            status["pending"] as? [String]
                == (mode.isEmpty ? ["0004_endless"] : ["0003_tags", "0004_endless"])
        )
        if !mode.isEmpty { #expect(try tool.shell("SELECT count(*) FROM item;") == "1") }
        #expect(try tool.onStore("verify").status == 0)
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
        if !mode.isEmpty { #expect(try tool.folder.data("store.db") == before) }
        return duration
    }

    @Test func terminationIsHeededAsControlCIs() throws {
        let process = try start()
        #expect(process.wait(for: "\(clearedLine)applying 0004_endless (2 of 2), "))
        try end(process, status: 128 + SIGTERM) { $0.send(SIGTERM) }
        let status = try tool.onStore("status", "--json").json()
        #expect(status["pending"] as? [String] == ["0004_endless"])
    }

    @Test func controlCEndsTheWaitForOurLock() throws {
        let holder = try ChildProcess(
            "flock",
            [tool.database + "-migration.lock", "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        let process = try start()
        #expect(process.wait(for: "\(clearedLine)waiting for another process"))
        try end(process)
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
        try end(process)
        try locker.release()
    }

    /// SQLite asks between two instructions of its machine whether to go on, and a function is one.
    @Test(arguments: [1, 2])
    func controlCEndsEvenWhatSQLiteCannotInterrupt(times: Int) throws {
        try tool.folder.write(
            "migrations/0004_endless.sql",
            """
            -- migrate:up
            CREATE TABLE found AS
            SELECT instr(zeroblob(200000000), zeroblob(1000000) || x'01') AS place;
            """.utf8
        )
        let process = try start()
        #expect(process.wait(for: "applying 0004_endless (2 of 2)"))
        process.type([3])
        if times == 1 {
            #expect(process.wait(for: "interrupted"))
            #expect(process.wait(for: "Uncommitted changes are undone when"))
            #expect(process.finish().status == 128 + SIGINT)
        } else {
            // A second signal ends it as it ends any program. Two that come at once are one.
            for _ in 0..<10 {
                usleep(50_000)
                process.type([3])
            }
            #expect(process.finish().signal == SIGINT)
        }
        let status = try tool.onStore("status", "--json").json()
        #expect(status["pending"] as? [String] == ["0004_endless"])
        #expect(try tool.onStore("verify").status == 0)
    }
}
