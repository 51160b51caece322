import Foundation
import TestSupport
import Testing

/// `kill -9` at many points of a run: the database is never left in between.
@Suite struct KillTests {
    private static let stepCount = 5
    private static let rowCount = 3200
    /// Of each of the eight kinds of a run.
    private static let pointCount =
        Samples.count(6)

    private let tool: Tool

    /// A first step makes the rows, and each of the others changes all of them, together more than
    /// SQLite's cache holds. So every step leaves its traces in many pages.
    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0000",
            up: """
                CREATE TABLE item (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, body TEXT);
                CREATE TABLE note (step INTEGER, item INTEGER REFERENCES item);
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT \(Self.rowCount))
                INSERT INTO item SELECT x, 0, hex(randomblob(300)) FROM n;
                """
        )
        for step in 1...Self.stepCount {
            try tool.write(
                "000\(step)",
                up: """
                    CREATE TABLE part\(step) (id INTEGER PRIMARY KEY, body TEXT);
                    INSERT INTO part\(step) SELECT id, body FROM item WHERE id % 5 = \(step - 1);
                    INSERT INTO note SELECT \(step), id FROM part\(step);
                    UPDATE item SET step = \(step);
                    """,
                down: """
                    UPDATE item SET step = \(step - 1);
                    DELETE FROM note WHERE step = \(step);
                    DROP TABLE part\(step);
                    """
            )
        }
    }

    /// A run, and what it begins and ends with: how many of the five steps are applied.
    struct Run: CustomTestStringConvertible {
        let arguments: [String]
        let before: Int
        let after: Int
        var isAllOrNothing: Bool { arguments.contains("--all-or-nothing") }
        var testDescription: String { arguments.joined(separator: " ") }

        static let all = [[], ["--all-or-nothing"]].flatMap { mode in
            [
                Run(arguments: ["migrate"] + mode, before: 0, after: stepCount),
                Run(
                    arguments: ["rollback", "--steps", "\(stepCount)"] + mode,
                    before: stepCount,
                    after: 0
                ),
            ]
        }
    }

    @Test(arguments: Run.all, Journal.allCases)
    func killedRunLeavesNothingInBetween(_ run: Run, _ journal: Journal) throws {
        let start = try makeStart(of: run, journal)
        var duration = 0.0
        var counts: [Int: Int] = [:]
        var (inTheMiddle, unharmed) = (0, 0)
        let wanted = max(1, Self.pointCount / 20)
        for number in 0..<(Self.pointCount * 5) {
            // On a busy machine, all kills of a round may come before or after what they were to hit.
            let point = number % Self.pointCount
            if point == 0, number > 0, inTheMiddle >= wanted { break }
            // The machine is not equally fast all the time.
            if point.isMultiple(of: 8) { duration = try time(run, from: start) }
            let delay = duration * Double(point) / Double(Self.pointCount - 1)
            let wasKilled = try kill(run, from: start, after: delay)
            let hadJournal = ["-journal", "-wal"].contains { suffix in
                (try? tool.folder.data("store.db" + suffix).isEmpty) == false
            }

            // Who opens it first must not matter: our tool, or another program.
            let told = try point.isMultiple(of: 2) ? nil : ledgerByStatus()
            let applied = try check()
            #expect(told == nil || told == applied)
            counts[applied, default: 0] += 1
            if run.isAllOrNothing {
                #expect(applied == run.before || applied == run.after)
                inTheMiddle += wasKilled && applied == run.before && hadJournal ? 1 : 0
            } else {
                inTheMiddle += wasKilled && applied != run.before && applied != run.after ? 1 : 0
            }
            unharmed += wasKilled ? 0 : 1

            let next = try tool.onStore("migrate", "--json")
            #expect(next.status == 0, "\(next)")
            #expect((try next.json()["applied"] as? [Any])?.count == Self.stepCount - applied)
            if point.isMultiple(of: 4) { #expect(try check() == Self.stepCount) }
            // A run that finds nothing to do writes nothing, and so takes nothing away: the file of
            // a lock that nobody holds, a journal of which nothing was needed.
            let harmless = ["store.db-migration.lock", "store.db-journal"]
            let names = Set(try tool.folder.names)
                .subtracting(applied == Self.stepCount ? harmless : [])
            #expect(names == ["migrations", "password", "start.db", "store.db"])
        }
        report(
            """
            \(run.testDescription), \(journal.rawValue): \(counts.values.reduce(0, +)) kills over \
            \(Int(duration * 1000)) ms at last, \(inTheMiddle) in the middle, \(unharmed) too late; \
            steps applied: \(counts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" })
            """
        )
        #expect(inTheMiddle >= wanted)
    }

    // MARK: - A Run

    /// Makes the file that every run of a kind begins with.
    private func makeStart(of run: Run, _ journal: Journal) throws -> String {
        let target = run.before == 0 ? "0000" : "000\(run.before)"
        #expect(try tool.onStore("migrate", "--to", target).status == 0)
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let start = tool.folder.path("start.db")
        try FileManager.default.moveItem(atPath: tool.database, toPath: start)
        return start
    }

    /// Starts a run, and returns as soon as it holds the lock under which it works.
    private func launch(_ run: Run, from start: String) throws -> ChildProcess {
        if FileManager.default.fileExists(atPath: tool.database) {
            try FileManager.default.removeItem(atPath: tool.database)
        }
        try FileManager.default.copyItem(atPath: start, toPath: tool.database)
        // Otherwise the run's own first commit would have to wait for it.
        let copy = try FileHandle(forUpdating: URL(fileURLWithPath: tool.database))
        try copy.synchronize()
        try copy.close()
        let child = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            run.arguments + tool.opening + ["--migrations", tool.migrations],
            environment: tool.environment,
            newSession: true
        )
        try waitForLock(toBeThere: true)
        return child
    }

    /// How long an undisturbed run works, in seconds.
    private func time(_ run: Run, from start: String) throws -> Double {
        let child = try launch(run, from: start)
        let begin = ContinuousClock.now
        try waitForLock(toBeThere: false)
        let duration = (ContinuousClock.now - begin) / .seconds(1)
        #expect(try child.finish().status == 0)
        #expect(try check() == run.after)
        return duration
    }

    /// - Returns: Whether the process was killed, and had not ended before.
    private func kill(_ run: Run, from start: String, after delay: Double) throws -> Bool {
        let child = try launch(run, from: start)
        usleep(useconds_t(delay * 1_000_000))
        child.send(SIGKILL)
        let result = try child.finish()
        #expect(result.signal == SIGKILL || result.status == 0, "\(result)")
        return result.signal == SIGKILL
    }

    private func waitForLock(toBeThere isThere: Bool) throws {
        try wait(for: "a lock that comes or goes", interval: 200) {
            (access(tool.database + "-migration.lock", F_OK) == 0) == isThere
        }
    }

    // MARK: - What It Left

    private func ledgerByStatus() throws -> Int {
        let status = try tool.onStore("status", "--json")
        #expect(status.status == 0, "\(status)")
        return Self.stepCount - (try #require(try status.json()["pending"] as? [Any])).count
    }

    /// Checks that file, ledger, schema and rows tell the same.
    ///
    /// - Returns: How many of the five steps are applied.
    private func check() throws -> Int {
        let lines = try tool.shell(
            """
            PRAGMA integrity_check;
            PRAGMA foreign_key_check;
            SELECT count(*) - 1 FROM grdb_migrations;
            SELECT group_concat(identifier) FROM
                (SELECT identifier FROM grdb_migrations ORDER BY identifier);
            SELECT min(step), max(step), count(*) FROM item;
            SELECT count(*), count(DISTINCT step), ifnull(max(step), 0) FROM note;
            SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema
                WHERE type = 'table' AND name LIKE 'part%' ORDER BY name);
            """
        )
        .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        try #require(lines.count == 6, "\(lines)")
        let count = try #require(Int(lines[1]))
        try #require((0...Self.stepCount).contains(count))
        let steps = Array((0...Self.stepCount).prefix(count + 1).dropFirst())
        #expect(lines[0] == "ok")
        #expect(lines[2] == (["0000"] + steps.map { "000\($0)" }).joined(separator: ","))
        #expect(lines[3] == "\(count)|\(count)|\(Self.rowCount)")
        #expect(lines[4] == "\(count * Self.rowCount / Self.stepCount)|\(count)|\(count)")
        #expect(lines[5] == steps.map { "part\($0)" }.joined(separator: ","))
        return count
    }
}
