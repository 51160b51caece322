import Foundation
import TestSupport
import Testing

/// What fleet commands do with stores that are well, and how a fleet is divided.
@Suite struct FleetTests {
    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: 12)
    }

    private func json(_ command: String, _ arguments: [String] = []) throws -> [String: Any] {
        let result = try fleet.run(command, fleet.all + ["--json"] + arguments)
        #expect(result.status == 0, "\(result)")
        return try result.json()
    }

    @Test func nextRunFindsNothingToDo() throws {
        #expect(try json("migrate")["applied"] as? Int == 12)
        let again = try json("migrate")
        #expect(again["applied"] as? Int == 0 && again["done"] as? Int == 12)
        #expect(try fleet.ledger("s11") == "0001_items,0002_row,0003_tags")
    }

    @Test func statusCountsVersionsAndDrift() throws {
        try fleet.tool.folder.write(
            "one",
            "\(fleet.path("s03"))\n".utf8
        )
        let one = try fleet.run(
            "migrate",
            ["--stores-file", folder.path("one")] + fleet.besideStores
        )
        #expect(one.status == 0, "\(one)")
        _ = try SQLCipherShell.run(
            fleet.path("s05"),
            key: "x'\(tool.password)'",
            "CREATE INDEX stray ON item (id);"
        )
        let status = try json("status", ["--report", folder.path("report")])
        #expect(status["pending"] as? Int == 11 && status["withFindings"] as? Int == 1)
        let versions = try #require(status["versions"] as? [[String: Any]])
        #expect(versions.map { $0["version"] as? String } == ["0002_row", "0003_tags"])
        #expect(versions.map { $0["stores"] as? Int } == [11, 1])
        let findings = try fleet.report("report")["s05"]?["findings"] as? [String]
        #expect(findings?.contains { $0.contains("index stray") } == true, "\(findings ?? [])")

        let pending = try fleet.run("status", fleet.all + ["--exit-code"])
        #expect(pending.status == 3)
        #expect(try fleet.run("migrate", fleet.all).status == 0)
        #expect(try fleet.run("status", fleet.all + ["--exit-code"]).status == 2)
        let ignored = ["--exit-code", "--ignore-table", "item"]
        #expect(try fleet.run("status", fleet.all + ignored).status == 0)
    }

    @Test func verifyNamesTheStoreThatIsNotSound() throws {
        #expect(try json("verify")["done"] as? Int == 12)
        _ = try SQLCipherShell.run(
            fleet.path("s05"),
            key: "x'\(tool.password)'",
            "DROP TABLE item;"
        )
        let result = try fleet.run(
            "verify",
            fleet.all + ["--json", "--report", folder.path("report")]
        )
        #expect(result.status == 2, "\(result)")
        #expect(try result.json()["done"] as? Int == 11)
        let report = try fleet.report("report")
        #expect(report.code("s05") == "verificationFailed")
        #expect((report["s05"]?["findings"] as? [String])?.first == "schema: table item is missing")

        // One that can't be opened isn't known to be unsound.
        try folder.write("stores/s06.db.key", ToolFolder.randomDigits(count: 64).utf8)
        try FileManager.default.removeItem(atPath: fleet.path("s05"))
        #expect(try fleet.run("verify", fleet.all).status == 1)
    }

    @Test func fullVerificationFindsWhatTheQuickOneDoesNot() throws {
        // The folder of a test is its owner's alone, and so are the files.
        let full = try json("verify", ["--full"])
        #expect(full["done"] as? Int == 12, "\(full)")
        _ = try SQLCipherShell.run(
            fleet.path("s05"),
            key: "x'\(tool.password)'",
            "CREATE TABLE big (a); INSERT INTO big VALUES (zeroblob(20000)); DELETE FROM big;"
        )
        // A free page: no statement reads it.
        var data = try folder.data("stores/s05.db")
        data[data.count - 100] ^= 1
        try folder.write("stores/s05.db", data)
        chmod(fleet.path("s06"), 0o660)
        let options = ["--ignore-table", "big", "--json", "--report", folder.path("report")]
        #expect(try fleet.run("verify", fleet.all + options).status == 0)
        let result = try fleet.run("verify", fleet.all + options + ["--full", "--allow-group"])
        #expect(result.status == 2, "\(result)")
        #expect(try result.json()["done"] as? Int == 11)
        let report = try fleet.report("report")
        #expect(report.code("s05") == "verificationFailed")
        let findings = try #require(report["s05"]?["findings"] as? [String])
        #expect(findings.first?.hasPrefix("cipher_integrity_check: ") == true, "\(findings)")
        #expect(report["s05"]?["to"] as? String == "0002_row")
        let open = try fleet.run("verify", fleet.all + options + ["--full"])
        #expect(try open.json()["failed"] as? Int == 2)
        #expect(try fleet.run("verify", fleet.all + ["--allow-group"]).status == 64)
    }

    @Test func backupCopiesEachUnderItsName() throws {
        let output = ["--output-dir", folder.path("copies")]
        let arguments = ["fleet", "backup"] + fleet.all + output
        #expect(try tool.run(arguments).status == 0)
        let copies = try FileManager.default.contentsOfDirectory(atPath: folder.path("copies"))
        #expect(copies.sorted() == (0..<12).map { "\(StoreFleet<Tool>.name($0)).db" })
        let opened = try tool.run(
            [
                "status", "--db-path", folder.path("copies/s07.db"), "--password-file",
                folder.path("password"), "--raw-key", "--migrations", tool.migrations,
            ]
        )
        #expect(opened.status == 0, "\(opened)")

        // No copy is replaced, and what a killed run has left is done.
        try FileManager.default.removeItem(atPath: folder.path("copies/s03.db"))
        let again = try tool.run(arguments + ["--json"])
        #expect(again.status == 1)
        #expect(try again.json()["failed"] as? Int == 11)
        try FileManager.default.removeItem(atPath: folder.path("copies/s03.db"))
        #expect(try tool.run(arguments + ["--skip-existing"]).status == 0)
        #expect(FileManager.default.fileExists(atPath: folder.path("copies/s03.db")))
    }

    /// Others may be able to write to the folder of the copies.
    @Test func aLinkAmongTheCopiesIsNotFollowed() throws {
        let folder = try TemporaryFolder()
        for name in ["stores", "stores/a", "copies", "elsewhere"] { try folder.makeFolder(name) }
        _ = try SQLCipherShell.run(folder.path("stores/a/b.db"), key: nil, "CREATE TABLE t (a);")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("copies/a"),
            withDestinationPath: "../elsewhere"
        )
        let result = try tool.run(
            [
                "fleet", "backup", "--output-dir", folder.path("copies"), "--stores",
                folder.path("stores/**/*.db"), "--no-encryption",
            ]
        )
        #expect(result.status == 1, "\(result)")
        #expect(
            result.stdout.contains("copies/a can't be written: it is not a folder"),
            "\(result)"
        )
        let written = try FileManager.default.contentsOfDirectory(atPath: folder.path("elsewhere"))
        #expect(written == [])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give folders away"))
    func aFolderOfAnotherUserAmongTheCopiesIsNotUsed() throws {
        let folder = try TemporaryFolder()
        for name in ["stores", "stores/a", "copies", "copies/a"] { try folder.makeFolder(name) }
        _ = try SQLCipherShell.run(folder.path("stores/a/b.db"), key: nil, "CREATE TABLE t (a);")
        try #require(chown(folder.path("copies/a"), 12345, 0) == 0)
        try #require(chmod(folder.path("copies"), 0o1777) == 0)
        let arguments = [
            "fleet", "backup", "--output-dir", folder.path("copies"), "--stores",
            folder.path("stores/**/*.db"), "--no-encryption",
        ]
        let result = try tool.run(arguments)
        #expect(result.status == 1, "\(result)")
        #expect(result.stdout.contains("copies/a can't be written: it is another user's"))
        // The named folder's owner can do as they like in it anyway.
        try #require(chown(folder.path("copies"), 12345, 0) == 0)
        #expect(try tool.run(arguments).status == 0)
        // Where not everybody may write, who may is trusted.
        try FileManager.default.removeItem(atPath: folder.path("copies/a/b.db"))
        try #require(chown(folder.path("copies"), 0, 0) == 0)
        try #require(chmod(folder.path("copies"), 0o2775) == 0)
        #expect(try tool.run(arguments).status == 0)
    }

    @Test func whatIsWrongInAStoreIsToldOfItsCopy() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("stores")
        _ = try SQLCipherShell.run(
            folder.path("stores/a.db"),
            key: nil,
            """
            .dbconfig defensive off
            CREATE VIRTUAL TABLE found USING fts5(text);
            UPDATE found_config SET v = 0 WHERE k = 'version';
            """
        )
        let result = try tool.run(
            [
                "fleet", "backup", "--output-dir", folder.path("copies"), "--stores",
                folder.path("stores/*.db"), "--no-encryption", "--json",
            ]
        )
        #expect(result.status == 0, "\(result)")
        let findings = try #require(try result.json()["findings"] as? [[String: Any]])
        let texts = findings.compactMap { $0["text"] as? String }
        #expect(texts.count == 1)
        #expect(texts.first?.hasPrefix("invalid fts5 file format") == true, "\(texts)")
    }

    @Test func dryRunFindsWhatWouldFailAndChangesNothing() throws {
        _ = try SQLCipherShell.run(
            fleet.path("s05"),
            key: "x'\(tool.password)'",
            "CREATE TABLE tag (id INTEGER);"
        )
        let before = try (0..<12).map { try folder.data("stores/\(StoreFleet<Tool>.name($0)).db") }
        let result = try fleet.run(
            "migrate",
            fleet.all + ["--dry-run", "--json", "--report", folder.path("report")]
        )
        #expect(result.status == 1, "\(result)")
        let document = try result.json()
        #expect(document["command"] as? String == "dry-run")
        #expect(document["done"] as? Int == 11 && document["failed"] as? Int == 1)
        #expect(document["pending"] as? Int == 12 && document["applied"] as? Int == 0)
        let report = try fleet.report("report")
        #expect(report.code("s05") == "stepFailed")
        #expect(report["s03"]?["to"] as? String == "0002_row")
        #expect(
            try (0..<12).map { try folder.data("stores/\(StoreFleet<Tool>.name($0)).db") } == before
        )
        // It is no part of what the runs have applied.
        #expect(
            try fleet.run("migrate", fleet.all + ["--report", folder.path("report")]).status == 1
        )
        let merged = try tool.run("fleet", "report", folder.path("report"), "--json").json()
        #expect(merged["applied"] as? Int == 11)
        let again = try fleet.run("migrate", fleet.all + ["--dry-run", "--exclude", "s05"])
        #expect(again.status == 0, "\(again)")
        #expect(again.stdout.contains("11 of 11 stores done, 1 excluded"), "\(again)")
        #expect(again.stdout.contains("Nothing was changed."))
    }

    @Test(arguments: [
        (["s0?"], 2), (["s03", "s1*"], 9), (["**/s03.db"], 11), (["nothing"], 12),
    ])
    func whatIsExcludedIsNoPartOfTheFleet(_ patterns: [String], _ count: Int) throws {
        let options = patterns.flatMap { ["--exclude", $0] }
        let document = try json("status", options + ["--report", folder.path("report")])
        #expect(document["stores"] as? Int == count)
        #expect(document["excluded"] as? Int == 12 - count)
        #expect(try fleet.report("report").count == count)
        let none = try fleet.run("status", fleet.all + ["--exclude", "*", "--json"])
        #expect(none.status == 66)
        #expect(try none.jsonError()["code"] as? String == "noStores")
    }

    // MARK: - Metrics

    /// What an alert needs: whether stores are behind, and of how many that isn't known.
    @Test func whatIsPendingInFailedStoresIsCounted() throws {
        let fleet = try StoreFleet<Tool>(count: 4)
        try fleet.tool.write("0003_tags", up: "nonsense;")
        try fleet.folder.write("stores/s00.db.key", ToolFolder.randomDigits(count: 64).utf8)
        let metrics = fleet.folder.path("fleet.prom")
        let options = ["--jobs", "1", "--max-failures", "1", "--json", "--metrics", metrics]
        let report = ["--report", fleet.folder.path("report")]
        let result = try fleet.run("migrate", fleet.all + options + report)
        #expect(result.status == 1, "\(result)")
        // s00 can't be opened, s01 fails, s02 and s03 are not started.
        #expect(try result.json()["pending"] as? Int == 1)
        #expect(try result.json()["pendingUnknown"] as? Int == 3)
        #expect(try fleet.report("report")["s01"]?["pending"] as? Int == 1)
        var text = String(decoding: try fleet.folder.data("fleet.prom"), as: UTF8.self)
        #expect(text.contains("migrationkit_fleet_pending{command=\"migrate\"} 1\n"))
        #expect(text.contains("migrationkit_fleet_pending_unknown{command=\"migrate\"} 3\n"))
        // Without a report, --report is named; with one, what reads it.
        func words(_ result: ProcessResult) -> String {
            result.stderr.split { " \n".contains($0) }.joined(separator: " ")
        }
        let plain = ["--jobs", "1", "--max-failures", "100%"]
        let silent = try fleet.run("migrate", fleet.all + plain)
        #expect(words(silent).contains("stores are only checked. --report records"), "\(silent)")
        let reported = try fleet.run("migrate", fleet.all + plain + report)
        #expect(!words(reported).contains("--report records"), "\(reported)")
        #expect(words(reported).contains("'fleet report --list "), "\(reported)")
        let merged = try fleet.tool.run(["fleet", "report"] + report.dropFirst())
        #expect(words(merged).contains("--list names each store that isn't done"), "\(merged)")
        #expect(!words(merged).contains("--report records"), "\(merged)")
        let dry = try fleet.run("migrate", fleet.all + plain + ["--dry-run"])
        #expect(!words(dry).contains("only checked"), "\(dry)")

        // A backup doesn't look.
        let copies = ["--output-dir", fleet.folder.path("copies"), "--metrics", metrics]
        _ = try fleet.tool.run(["fleet", "backup"] + fleet.all + copies)
        text = String(decoding: try fleet.folder.data("fleet.prom"), as: UTF8.self)
        #expect(!text.contains("migrationkit_fleet_pending{"), "\(text)")
    }

    @Test func metricsThatCanNotBeWrittenHaveAHintOfTheirOwn() throws {
        let metrics = ["--metrics", folder.path("nowhere/fleet.prom")]
        let result = try fleet.run("status", fleet.all + metrics)
        #expect(result.status == 73, "\(result)")
        #expect(result.stderr.contains("--metrics another path"), "\(result)")
        #expect(!result.stderr.contains("--output"), "\(result)")
    }

    @Test func metricsAreWrittenForPrometheus() throws {
        try folder.write("stores/s02.db.key", "wrong".utf8)
        let metrics = ["--metrics", folder.path("fleet.prom")]
        let options = fleet.all + metrics + ["--report", folder.path("report")]
        #expect(try fleet.run("migrate", options + ["--shard", "1/1"]).status == 1)
        let text = String(decoding: try folder.data("fleet.prom"), as: UTF8.self)
        var status = stat()
        #expect(stat(folder.path("fleet.prom"), &status) == 0 && status.st_mode & 0o777 == 0o644)
        func line(_ name: String, _ labels: String, _ value: String) -> Bool {
            text.contains("\nmigrationkit_fleet_\(name){\(labels)} \(value)\n")
        }
        let labels = #"command="migrate""#
        #expect(line("stores", #"\#(labels),outcome="done",shard="1/1""#, "11"), "\(text)")
        #expect(line("stores", #"\#(labels),outcome="failed",shard="1/1""#, "1"))
        #expect(line("failures", #"code="unusableKey",\#(labels),shard="1/1""#, "1"))
        #expect(line("versions", #"\#(labels),shard="1/1",version="0003_tags""#, "11"))
        #expect(line("applied", #"\#(labels),shard="1/1""#, "11"))
        #expect(line("success", #"\#(labels),shard="1/1""#, "0"))
        // Each line is a comment or a sample.
        // https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
        for line in text.split(separator: "\n") {
            #expect(
                try
                    #/(# (HELP|TYPE) [a-z_]+ .+)|([a-z_]+\{([a-z]+="([^"\\]|\\.)*",?)*\} [0-9.e-]+)/#
                    .wholeMatch(in: line) != nil,
                "\(line)"
            )
        }

        // The next run and the merged reports replace the file.
        try folder.write("stores/s02.db.key", tool.password.utf8)
        #expect(try fleet.run("migrate", options).status == 0)
        #expect(try tool.run(["fleet", "report", folder.path("report")] + metrics).status == 0)
        let merged = String(decoding: try folder.data("fleet.prom"), as: UTF8.self)
        #expect(merged.contains("migrationkit_fleet_success{\(labels)} 1\n"), "\(merged)")
        #expect(merged.contains("migrationkit_fleet_applied{\(labels)} 12\n"))
    }

    @Test(arguments: [("s01.db", 64), ("nowhere/fleet.prom", 73)])
    func metricsReplaceNothingElse(_ name: String, _ status: Int32) throws {
        let before = try folder.data("stores/s01.db")
        let result = try fleet.run(
            "migrate",
            fleet.all + ["--metrics", folder.path("stores/\(name)")]
        )
        #expect(result.status == status, "\(result)")
        #expect(try folder.data("stores/s01.db") == before)
    }

    // MARK: - Rollback

    private func writeUndoable(down: String = "DROP TABLE tag;") throws {
        try tool.write("0003_tags", up: "CREATE TABLE tag (id INTEGER);", down: down)
        try tool.write("0004_more", up: "CREATE TABLE more (id INTEGER);", down: "DROP TABLE more;")
    }

    @Test func rollbackUndoesWhatIsLaterAndNoMoreIfItIsRunAgain() throws {
        try writeUndoable()
        #expect(try json("migrate", ["--exclude", "s1?"])["applied"] as? Int == 20)
        #expect(try json("migrate", ["--exclude", "s0?", "--to", "0003"])["applied"] as? Int == 2)
        let report = ["--report", folder.path("report")]
        let first = try json("rollback", report + ["--to", "0003", "--canary", "2"])
        #expect(first["undone"] as? Int == 10 && first["changed"] as? Int == 10)
        #expect(first["pending"] as? Int == 12)
        #expect(try fleet.report("report")["s01"]?["from"] as? String == "0004_more")
        #expect(try fleet.report("report")["s01"]?["to"] as? String == "0003_tags")
        // Those that have less are left as they are.
        #expect(try json("rollback", report + ["--to", "0003"])["undone"] as? Int == 0)
        #expect(try fleet.ledger("s01") == "0001_items,0002_row,0003_tags")
        let merged = try tool.run("fleet", "report", folder.path("report"), "--json").json()
        #expect(merged["undone"] as? Int == 10 && merged["done"] as? Int == 12)

        let none = try fleet.run("rollback", fleet.all)
        #expect(none.status == 64, "\(none)")
        #expect(try fleet.run("rollback", fleet.all + ["--all", "--to", "0003"]).status == 64)
        let unknown = try fleet.run("rollback", fleet.all + ["--to", "0009", "--json"])
        #expect(try unknown.jsonError()["code"] as? String == "unknownTarget")
    }

    @Test func rollbackThatFailsIsToldOfAndStopsEarly() throws {
        try writeUndoable(down: "DROP TABLE nowhere;")
        #expect(try json("migrate")["applied"] as? Int == 24)
        let options = ["--to", "0002", "--max-failures", "0", "--jobs", "1", "--json"]
        let report = ["--report", folder.path("report")]
        let result = try fleet.run("rollback", fleet.all + options + report)
        #expect(result.status == 1, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "tooManyFailures")
        let line = try #require(try fleet.report("report")["s00"])
        #expect(line["undone"] as? Int == 1 && line["to"] as? String == "0003_tags", "\(line)")
        #expect(try fleet.report("report").outcome("s01") == "notStarted")
    }

    // MARK: - Parts

    private func shard(
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> ProcessResult {
        var tool = tool
        tool.environment.merge(environment) { $1 }
        return try tool.run(
            fleet.arguments(
                "migrate",
                fleet.all + ["--json", "--report", folder.path("report")] + arguments
            )
        )
    }

    @Test func partsAreDisjointAndComplete() throws {
        var count = 0
        for number in 1...3 {
            let result = try shard(["--shard", "\(number)/3"])
            #expect(result.status == 0, "\(result)")
            #expect(try result.json()["shard"] as? String == "\(number)/3")
            count += try #require(try result.json()["applied"] as? Int)
        }
        #expect(count == 12)
        let merged = try tool.run("fleet", "report", folder.path("report"), "--json")
        #expect(merged.status == 0, "\(merged)")
        #expect(try merged.json()["done"] as? Int == 12)
    }

    @Test(arguments: [
        (["SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_COUNT": "4"], [], "1/4"),
        (
            [
                "SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "4",
                "SLURM_ARRAY_TASK_MIN": "5",
            ], [], "3/4"
        ),
        (
            [
                "SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_COUNT": "4",
                "SLURM_ARRAY_TASK_MIN": "2", "SLURM_ARRAY_TASK_STEP": "2",
            ], [], "3/4"
        ),
        (["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1"], ["--shards", "4"], "4/4"),
        (["JOB_COMPLETION_INDEX": "1"], ["--shards", "4"], "2/4"),
        (["JOB_COMPLETION_INDEX": "1"], ["--shard", "1/1"], "1/1"),
    ])
    func schedulerGivesThePart(
        _ environment: [String: String],
        _ options: [String],
        _ expected: String
    ) throws {
        let result = try shard(options, environment: environment)
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["shard"] as? String == expected)
    }

    @Test(arguments: [
        (["JOB_COMPLETION_INDEX": "1"], []), ([:], ["--shards", "4"]),
        (["JOB_COMPLETION_INDEX": "4"], ["--shards", "4"]),
        (["SLURM_ARRAY_TASK_ID": "x"], []), (["SLURM_ARRAY_TASK_ID": "2"], []),
        // An array from 1 on: each task is refused, not only the last.
        (["SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_MAX": "4"], ["--shards", "4"]),
        (["SLURM_ARRAY_TASK_ID": "9", "SLURM_ARRAY_TASK_COUNT": "3"], []),
        // A single task of an array again would do all stores.
        (
            [
                "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1",
                "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_MAX": "3",
            ], []
        ),
    ])
    func partThatCannotBeToldIsRefused(
        _ environment: [String: String],
        _ options: [String]
    ) throws {
        let result = try shard(options, environment: environment)
        #expect(result.status == 64, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "unknownShard")
    }

    // MARK: - Reports

    @Test func aLostShardIsNoSuccess() throws {
        var reports: [String] = []
        for shard in ["1/4", "2/4", "4/4"] {
            reports.append(folder.path("report-\(reports.count)"))
            let options = ["--shard", shard, "--report", reports[reports.count - 1]]
            #expect(try fleet.run("migrate", fleet.all + options).status == 0)
        }
        reports.removeAll { !FileManager.default.fileExists(atPath: $0) }
        let lost = try tool.run(["fleet", "report", "--json"] + reports)
        #expect(lost.status == 1, "\(lost)")
        #expect(try lost.jsonError()["code"] as? String == "missingShards")
        #expect(try lost.json()["missingShards"] as? [String] == ["3/4"])
        let (all, done) = (try lost.json()["stores"] as? Int, try lost.json()["done"] as? Int)
        let text = try tool.run(["fleet", "report"] + reports).stdout
        #expect(all == 12 && done ?? 12 < 12)
        #expect(try lost.json()["unfinished"] as? Int == 12 - (done ?? 0))
        #expect(text.hasPrefix("\(done ?? 0) of 12 stores done, "), "\(text)")
        // A report of another command instead: not all shards of both are missing.
        let verified = folder.path("verified")
        let verify = ["--shard", "3/4", "--report", verified]
        _ = try fleet.run("verify", fleet.all + verify)
        let mixed = try tool.run(["fleet", "report", "--json"] + reports + [verified])
        #expect(try mixed.jsonError()["code"] as? String == "mixedReports")
        #expect(
            try mixed.jsonError()["message"] as? String
                == "the reports are of different runs, and lack shards: migrate in 4 shards, verify in 4 shards"
        )
        let last = folder.path("last")
        let options = ["--shard", "3/4", "--report", last]
        #expect(try fleet.run("migrate", fleet.all + options).status == 0)
        let merged = try tool.run(["fleet", "report", "--json"] + reports + [last])
        #expect(merged.status == 0, "\(merged)")
    }

    @Test func linesOfTheReportFollowTheSchema() throws {
        try folder.write("stores/s02.db.key", "wrong".utf8)
        _ = try SQLCipherShell.run(
            fleet.path("s03"),
            key: "x'\(tool.password)'",
            "CREATE TABLE stray (id);"
        )
        let options = ["--report", folder.path("report")]
        #expect(try fleet.run("migrate", fleet.all + options + ["--canary", "4"]).status == 1)
        #expect(try fleet.run("verify", fleet.all + options).status == 2)
        #expect(
            try tool.run(
                ["fleet", "backup", "--output-dir", folder.path("copies")] + fleet.all + options
            ).status == 1
        )
        let lines = String(decoding: try folder.data("report"), as: UTF8.self).split(
            separator: "\n"
        )
        #expect(lines.count == 6 * 12)
        let complaints = try DocumentSchema.run(
            """
            for document in documents:
                for error in validator("fleet-line").iter_errors(json.loads(document["text"])):
                    print(error.json_path, error.message)
            """,
            lines.map { DocumentSchema.Document(definition: "fleet-line", text: String($0)) }
        )
        #expect(complaints == "")
    }

    // MARK: - Lists

    @Test func reportOfARunIsTheListOfTheNext() throws {
        try folder.write("stores/s02.db.key", ToolFolder.randomDigits(count: 64).utf8)
        let options = ["--report", folder.path("report")]
        #expect(try fleet.run("migrate", fleet.all + options).status == 1)
        let list = try tool.run("fleet", "report", folder.path("report"), "--list")
        #expect(list.stdout == "failed\twrongKey\ts02\t\(fleet.path("s02"))\n")
        try folder.write("stores/s02.db.key", tool.password.utf8)
        let failed = String(decoding: try folder.data("report"), as: UTF8.self)
            .split(separator: "\n").filter { $0.contains("\"failed\"") }
        try folder.write("failed", failed.joined(separator: "\n").utf8)
        let lists = [(folder.path("failed"), 1, 1), (folder.path("report"), 12, 0)]
        for (list, count, applied) in lists {
            let again = ["--stores-file", list, "--json"] + options + fleet.besideStores
            let result = try fleet.run("migrate", again)
            #expect(result.status == 0, "\(result)")
            #expect(try result.json()["done"] as? Int == count)
            #expect(try result.json()["applied"] as? Int == applied)
        }
        #expect(try tool.run("fleet", "report", folder.path("report")).status == 0)
    }

    @Test func whatMatchesAndIsNoStoreIsToldOf() throws {
        try FileManager.default.createSymbolicLink(
            atPath: fleet.path("latest"),
            withDestinationPath: "s01.db"
        )
        try folder.makeFolder("stores/mount.db")
        let text = try fleet.run("status", fleet.all)
        let (link, mount) = (fleet.path("latest"), fleet.path("mount"))
        #expect(text.stdout.contains("Skipped: \(link) (a link), \(mount) (a folder)."), "\(text)")
        let skipped = try #require(try json("status")["skipped"] as? [[String: Any]])
        #expect(skipped.map { $0["path"] as? String } == [link, mount])
    }
}
