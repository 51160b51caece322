import Foundation
import TestSupport
import Testing

/// A command is stopped at one system call or another, something else uses the database, and the command
/// goes on: every step is applied once, no acknowledged row is lost, and a key opens the file.
@Suite struct PreemptionTests {
    enum First: String, CaseIterable {
        case migrate, rekey, backup
    }

    enum Second: String, CaseIterable {
        case migrate, rekey, write
    }

    /// Each is another mixture of what can differ beside the point.
    private static let runCount = Samples.count(2)

    private struct Circumstances {
        let journalMode: String
        let hasOtherName: Bool
        /// Whether the command goes on while the other still waits for its lock.
        let isInterrupted: Bool

        init(_ number: Int) {
            isInterrupted = number % 2 == 1
            journalMode = number / 2 % 2 == number % 2 ? "WAL" : "DELETE"
            hasOtherName = number / 4 % 2 == number % 2
        }
    }

    private let tool: Tool
    /// The keys that the file may have, by the names of their files.
    private let keys: [String: String]

    init() throws {
        tool = try Tool(isRawKey: true)
        var keys = ["password": tool.password]
        for name in ["first", "second"] {
            keys[name] = ToolFolder.randomDigits(count: 64)
            try tool.folder.write(name, (keys[name] ?? "").utf8)
        }
        self.keys = keys
        try tool.write(
            "0001_note",
            up: """
                CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
                CREATE TABLE event (what TEXT);
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300)
                INSERT INTO note SELECT x, hex(zeroblob(200)) || x FROM n;
                """
        )
        try #require(try tool.onStore("migrate").status == 0)
        try tool.write(
            "0002_step",
            up: """
                INSERT INTO event VALUES ('step');
                ALTER TABLE note ADD COLUMN length INTEGER;
                UPDATE note SET length = length(body);
                """
        )
    }

    @Test(arguments: First.allCases, Second.allCases)
    func nothingIsLostBetweenTheTwo(_ first: First, _ second: Second) throws {
        var generator = SeededGenerator(seed: SeededGenerator.seed)
        for number in 0..<Self.runCount {
            let circumstances = Circumstances(number)
            let runs = try KilledRuns(tool, arguments(first)) { try prepare(circumstances) }
            let point = Int.random(in: 0..<runs.mainCallCount, using: &generator)
            let what: Comment = "\(first), \(second), \(circumstances), call \(point)"
            // Not every run makes as many calls as the one that was traced.
            guard let process = try runs.stop(atMainCall: point) else { continue }
            let other = Background { try run(second, waiting: circumstances.isInterrupted) }
            // It either waits for a lock or is done by now; both are what this is about.
            if circumstances.isInterrupted { usleep(300_000) } else { _ = try other.value() }
            let result = try KilledRuns.finish(process)
            let isAcknowledged = try other.value()
            #expect([0, 75, 77].contains(result.status), "\(what): \(result)")
            try judge(
                steps: (first == .migrate && result.status == 0)
                    || (second == .migrate && isAcknowledged),
                row: second == .write && isAcknowledged,
                what
            )
        }
    }

    private func arguments(_ first: First) -> [String] {
        [first.rawValue] + tool.opening
            + [
                .migrate: ["--migrations", tool.migrations],
                .rekey: ["--new-password-file", tool.folder.path("first"), "--new-raw-key"],
                .backup: ["--output", tool.folder.path("backup.db")],
            ][first, default: []]
    }

    private func prepare(_ circumstances: Circumstances) throws {
        let base = tool.folder.path("base.db")
        if !FileManager.default.fileExists(atPath: base) {
            try FileManager.default.copyItem(atPath: tool.database, toPath: base)
        }
        for name in ["store.db", "store.db-wal", "store.db-shm", "store.db-journal", "other.db"] {
            unlink(tool.folder.path(name))
        }
        unlink(tool.folder.path("backup.db"))
        try FileManager.default.copyItem(atPath: base, toPath: tool.database)
        _ = try tool.shell("PRAGMA journal_mode = \(circumstances.journalMode);")
        if circumstances.hasOtherName {
            try FileManager.default.linkItem(
                atPath: tool.database,
                toPath: tool.folder.path("other.db")
            )
        }
    }

    /// Runs the other program from its beginning to its end.
    ///
    /// - Parameter waiting: Whether it waits long for locks.
    /// - Returns: Whether it says that it has done its work.
    private func run(_ second: Second, waiting: Bool) throws -> Bool {
        let patience = ["--lock-timeout", waiting ? "60" : "1"]
        switch second {
        case .migrate, .rekey:
            let more =
                second == .migrate
                ? ["--migrations", tool.migrations]
                : ["--new-password-file", tool.folder.path("second"), "--new-raw-key"]
            let result = try tool.run([second.rawValue] + tool.opening + more + patience)
            // SQLite gives up after some seconds if the stopped command has the lock of the log's index.
            // https://www.sqlite.org/rescode.html#protocol
            let hasGivenUp = result.status == 74 && result.stderr.contains("locking protocol")
            #expect([0, 75, 77].contains(result.status) || hasGivenUp, "\(second): \(result)")
            return result.status == 0
        case .write:
            let timeout = waiting ? 60_000 : 500
            do {
                _ = try tool.shell(
                    "PRAGMA busy_timeout = \(timeout); INSERT INTO event VALUES ('row');"
                )
                return true
            } catch is ProcessFailure {
                return false
            }
        }
    }

    /// Another engine reads what is left.
    private func judge(steps isApplied: Bool, row isWritten: Bool, _ what: Comment) throws {
        let path = tool.database
        func answer(_ path: String, _ key: String) -> String? {
            try? SQLCipherShell.run(
                path,
                key: "x'\(key)'",
                """
                PRAGMA integrity_check;
                SELECT count(*) || ' ' || sum(id) FROM note;
                SELECT (SELECT count(*) FROM event WHERE what = 'step'),
                    (SELECT count(*) FROM event WHERE what = 'row');
                """
            )
        }
        let found = keys.compactMap { name, key in answer(path, key).map { (name, $0) } }
        guard let (name, text) = found.first else {
            Issue.record("no key opens the file, or it is damaged: \(what)")
            return
        }
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.prefix(2) == ["ok", "300 45150"], "\(what): \(text)")
        let counts = (lines.last ?? "").split(separator: "|").compactMap { Int($0) }
        #expect(isApplied ? counts.first == 1 : (0...1).contains(counts.first ?? -1), "\(what)")
        // What a writer has written to a file that was replaced is under its other name.
        let elsewhere = answer(tool.folder.path("other.db"), tool.password)?.hasSuffix("|1") == true
        #expect(!isWritten || counts.last == 1 || elsewhere, "\(what): the row is lost")

        let opening = [
            "--db-path", path, "--password-file", tool.folder.path(name), "--raw-key",
            "--migrations", tool.migrations,
        ]
        let migrated = try tool.run(["migrate"] + opening)
        #expect(migrated.status == 0, "\(what): \(migrated)")
        let after = answer(path, keys[name] ?? "") ?? ""
        #expect(after.split(separator: "\n").last?.hasPrefix("1|") == true, "\(what): \(after)")
    }
}
