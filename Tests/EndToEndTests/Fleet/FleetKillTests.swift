import Foundation
import TestSupport
import Testing

/// Runs on many stores that are ended in the middle, and run again.
@Suite struct FleetKillTests {
    private static let storeCount = 24

    /// How many runs are killed.
    fileprivate static let killCount =
        Samples.count(8)

    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: Self.storeCount)
    }

    /// A migration that leaves its trace: a second one would be seen.
    ///
    /// It writes more than the page cache holds, so that pages are in the file before the commit.
    private func writeStep(_ number: Int) throws {
        try tool.write(
            String(format: "%04d_step", number),
            up: """
                CREATE TABLE step\(number) (id INTEGER PRIMARY KEY, body BLOB);
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 60)
                INSERT INTO step\(number) (body) SELECT randomblob(50000) FROM n;
                DELETE FROM step\(number);
                INSERT INTO item SELECT \(number);
                """
        )
    }

    @Test func killedWorkersLeaveNothingInBetween() throws {
        try folder.makeFolder("reports")
        var (reports, killed, withJournal, last) = ([String](), 0, 0, 3)
        var generator = SeededGenerator(seed: SeededGenerator.seed)
        while killed < Self.killCount {
            last += 1
            try writeStep(last)
            // Some runs are killed before the rest of this step is done.
            for _ in 0..<3 {
                reports.append(folder.path("reports/\(reports.count)"))
                let child = try ChildProcess(
                    builtExecutable("migrationkit-cli"),
                    arguments(report: reports[reports.count - 1]),
                    environment: tool.environment
                )
                let finished = Int.random(in: 0..<Self.storeCount, using: &generator)
                // The plan has a line for each store, too.
                try waitForLine(Self.storeCount + finished, of: reports[reports.count - 1])
                usleep(.random(in: 0..<20_000, using: &generator))
                child.send(SIGKILL)
                let wasKilled = try child.finish().signal == SIGKILL
                guard wasKilled, lines(reports[reports.count - 1]) < 2 * Self.storeCount else {
                    continue
                }
                killed += 1
                let files = try FileManager.default.contentsOfDirectory(
                    atPath: folder.path("stores")
                )
                if files.contains(where: { $0.hasSuffix("-journal") }) { withJournal += 1 }
            }
        }
        reports.append(folder.path("reports/last"))
        let result = try tool.run(arguments(report: folder.path("reports/last")) + ["--json"])
        #expect(result.status == 0, "\(result)")

        // Every step ran once in every store.
        for number in 0..<Self.storeCount {
            let rows = try SQLCipherShell.run(
                fleet.path(StoreFleet<Tool>.name(number)),
                key: "x'\(tool.password)'",
                """
                SELECT count(*), count(DISTINCT id), max(id) FROM item;
                SELECT count(*) FROM grdb_migrations;
                PRAGMA quick_check;
                """
            )
            #expect(rows == "\(last - 2)|\(last - 2)|\(last)\n\(last)\nok", "\(number)")
        }
        let merged = try tool.run(["fleet", "report"] + reports + ["--json"])
        #expect(merged.status == 0, "\(merged)")
        #expect(try merged.json()["done"] as? Int == Self.storeCount)
        let versions = try merged.json()["versions"] as? [[String: Any]]
        #expect(versions?.map { $0["version"] as? String } == [String(format: "%04d_step", last)])
        report(
            """
            fleet: \(killed) of \(reports.count - 1) runs killed before their last store, \
            \(withJournal) of them left a journal; \(last - 3) steps, \(Self.storeCount) stores
            """
        )
    }

    private func arguments(report: String) -> [String] {
        fleet.arguments("migrate", fleet.all + ["--jobs", "3", "--report", report])
    }

    /// Waits until the report has so many lines.
    private func waitForLine(_ end: Int, of report: String) throws {
        try wait(for: "line \(end)", interval: 500) { lines(report) >= end }
    }

    private func lines(_ path: String) -> Int {
        (try? Data(contentsOf: URL(fileURLWithPath: path)))?.count { $0 == 0x0A } ?? 0
    }

    @Test func reportOfAKilledRunNamesWhatItDidNotFinish() throws {
        try tool.write("0003_tags", up: "CREATE TABLE tag AS \(Self.endless)")
        let child = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            fleet.arguments("migrate", fleet.all + ["--report", folder.path("report")]),
            environment: tool.environment
        )
        try waitForLine(Self.storeCount, of: folder.path("report"))
        child.send(SIGKILL)
        _ = try child.finish()
        let merged = try tool.run("fleet", "report", folder.path("report"), "--json")
        #expect(merged.status == 1)
        #expect(try merged.json()["unfinished"] as? Int == Self.storeCount)
        #expect(try merged.jsonError()["code"] as? String == "storesUnfinished")
        let list = try tool.run("fleet", "report", folder.path("report"), "--list")
        #expect(list.stdout.contains("planned\t-\ts07\t\(fleet.path("s07"))\n"))
    }

    private static let endless = """
        WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) AS x FROM c;
        """

    @Test(arguments: [SIGINT, SIGTERM])
    func signalUndoesWhatIsRunningAndSaysWhatIsLeft(_ signal: Int32) throws {
        try tool.write("0003_tags", up: "CREATE TABLE tag AS \(Self.endless)")
        let child = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            fleet.arguments(
                "migrate",
                fleet.all + ["--jobs", "2", "--json", "--report", folder.path("report")]
            ),
            environment: tool.environment
        )
        let locks = ["s00", "s01"].map { fleet.path($0) + "-migration.lock" }
        try wait(for: "both locks") {
            locks.allSatisfy(FileManager.default.fileExists(atPath:))
        }
        child.send(signal)
        let result = try child.finish()
        #expect(result.status == 128 + signal, "\(result)")
        #expect(try result.json()["end"] as? String == "interrupted")
        #expect(try result.json()["unfinished"] as? Int == Self.storeCount)
        #expect(try result.jsonError()["code"] as? String == "interrupted")
        let report = try fleet.report("report")
        #expect(report.outcome("s00") == "interrupted" && report.outcome("s05") == "notStarted")
        #expect(try fleet.ledger("s00") == "0001_items,0002_row")

        try tool.write("0003_tags", up: "CREATE TABLE tag (id INTEGER);")
        let again = try fleet.run("migrate", fleet.all + ["--report", folder.path("report")])
        #expect(again.status == 0, "\(again)")
        let merged = try tool.run("fleet", "report", folder.path("report"))
        #expect(merged.status == 0)
    }
}

/// Runs that replace whole files, ended in the middle, and run again.
@Suite struct FleetReplacementKillTests {
    private static let storeCount = 12

    private static let killCount = FleetKillTests.killCount / 2

    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    /// Each has more than one write of pages.
    init() throws {
        fleet = try StoreFleet<Tool>(count: 0)
        _ = try tool.shell(
            """
            CREATE TABLE body (id INTEGER PRIMARY KEY, content BLOB);
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40)
            INSERT INTO body (content) SELECT randomblob(50000) FROM n;
            """
        )
        for number in 0..<Self.storeCount { try fleet.add(StoreFleet<Tool>.name(number)) }
    }

    private var names: [String] { (0..<Self.storeCount).map(StoreFleet<Tool>.name) }

    private var stores: [String] {
        [
            "--stores", folder.path("stores/*.db"), "--name-from", folder.path("stores"), "--jobs",
            "3", "--lock-timeout", "5",
        ]
    }

    /// Runs a command, and kills it once a number of its stores are done and a part of another.
    ///
    /// - Returns: Whether it was killed before its end.
    private func killedRun(
        _ arguments: [String],
        after finished: Int,
        and microseconds: UInt32
    ) throws -> Bool {
        unlink(folder.path("report"))
        let child = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["fleet"] + arguments + ["--report", folder.path("report")],
            environment: tool.environment
        )
        // The plan has a line for each store, too.
        try wait(for: "store \(finished)", interval: 500) {
            (try? folder.data("report"))?.count { $0 == 0x0A } ?? 0 >= Self.storeCount + finished
        }
        usleep(microseconds)
        child.send(SIGKILL)
        return try child.finish().signal == SIGKILL
    }

    /// What a key opens: the numbers of rows and of different contents, and what `quick_check` says;
    /// `nil` if it doesn't open the store.
    private func content(_ name: String, _ digits: String) throws -> String? {
        try? SQLCipherShell.run(
            fleet.path(name),
            key: "x'\(digits)'",
            """
            SELECT count(*), count(DISTINCT content) FROM body;
            SELECT max(id) FROM item; PRAGMA quick_check;
            """
        )
    }

    @Test func afterAKillOneOfTheTwoKeysOpensEachStore() throws {
        var old = Dictionary(uniqueKeysWithValues: names.map { ($0, tool.password) })
        var options = ["--key-file-suffix", ".key"]
        var generator = SeededGenerator(seed: SeededGenerator.seed)
        var (killed, between, round) = (0, 0, 0)
        while killed < Self.killCount {
            round += 1
            let new = Dictionary(
                uniqueKeysWithValues: names.map { ($0, ToolFolder.randomDigits(count: 64)) }
            )
            try folder.makeFolder("keys\(round)")
            for (name, digits) in new { try folder.write("keys\(round)/\(name).key", digits.utf8) }
            let newOptions = ["--keys-dir", folder.path("keys\(round)")]
            let command =
                ["rekey"] + stores + options
                + ["--raw-key", "--new-keys-dir", newOptions[1], "--new-raw-key"]
            for _ in 0..<2 {
                let wasKilled = try killedRun(
                    command,
                    after: .random(in: 0..<Self.storeCount, using: &generator),
                    and: .random(in: 0..<60_000, using: &generator)
                )
                killed += wasKilled ? 1 : 0
                var count = 0
                for name in names {
                    let opened = try [old[name], new[name]].map {
                        try content(name, #require($0))
                    }
                    #expect(opened.count { $0 == "40|40\n1\nok" } == 1, "\(name): \(opened)")
                    if opened[1] != nil { count += 1 }
                }
                if (1..<Self.storeCount).contains(count) { between += 1 }
            }
            let result = try tool.run(["fleet"] + command + ["--json"])
            #expect(result.status == 0, "\(result)")
            for name in names {
                #expect(try content(name, #require(new[name])) == "40|40\n1\nok")
            }
            (old, options) = (new, newOptions)
        }
        try expectNoLeftovers()
        report("fleet rekey: \(killed) runs killed, \(between) of them between two stores' keys")
    }

    @Test func afterAKillEachStoreHasItsOldContentOrItsCopys() throws {
        let keys = ["--key-file-suffix", ".key", "--raw-key"]
        let backup = try tool.run(
            ["fleet", "backup"] + stores + keys + ["--output-dir", folder.path("copies")]
        )
        #expect(backup.status == 0, "\(backup)")
        var generator = SeededGenerator(seed: SeededGenerator.seed)
        var (killed, between, round) = (0, 0, 1)
        while killed < Self.killCount {
            round += 1
            for name in names {
                _ = try SQLCipherShell.run(
                    fleet.path(name),
                    key: "x'\(tool.password)'",
                    "INSERT INTO item VALUES (\(round));"
                )
            }
            let originals = folder.path("originals\(round)")
            let command =
                ["restore", "--from-dir", folder.path("copies"), "--yes", "--keep-originals"]
                + [originals] + stores + keys
            for _ in 0..<2 {
                let wasKilled = try killedRun(
                    command,
                    after: .random(in: 0..<Self.storeCount, using: &generator),
                    and: .random(in: 0..<60_000, using: &generator)
                )
                killed += wasKilled ? 1 : 0
                let contents = try names.map { try content($0, tool.password) }
                let done = contents.count { $0 == "40|40\n1\nok" }
                #expect(
                    done + contents.count { $0 == "40|40\n\(round)\nok" } == Self.storeCount,
                    "\(contents)"
                )
                if (1..<Self.storeCount).contains(done) { between += 1 }
            }
            let result = try tool.run(["fleet"] + command + ["--json"])
            #expect(result.status == 0, "\(result)")
            for name in names {
                #expect(try content(name, tool.password) == "40|40\n1\nok")
                // A number means that an earlier run was killed between both.
                let kept = try SQLCipherShell.run(
                    "\(originals)/\(name).db",
                    key: "x'\(tool.password)'",
                    "SELECT max(id) FROM item;"
                )
                #expect(kept == "\(round)", "\(name)")
            }
        }
        try expectNoLeftovers()
        report("fleet restore: \(killed) runs killed, \(between) of them between two stores")
    }

    /// What a killed run leaves is removed by the next one.
    private func expectNoLeftovers() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("stores"))
        #expect(files.filter { $0.contains("-converting-") } == [])
    }
}
