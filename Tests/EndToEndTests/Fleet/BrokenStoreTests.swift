import Foundation
import TestSupport
import Testing

/// Stores that can't be migrated, of each kind, or not while others use them, among good ones.
@Suite struct BrokenStoreTests {
    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: 6)
    }

    private func breakStores() throws {
        for name in ["wrong", "noKey", "openKey", "damaged", "locked", "newer", "empty"] {
            try fleet.add(name)
        }
        try folder.write("stores/wrong.db.key", ToolFolder.randomDigits(count: 64).utf8)
        try FileManager.default.removeItem(atPath: folder.path("stores/noKey.db.key"))
        chmod(folder.path("stores/openKey.db.key"), 0o644)
        try folder.write("stores/empty.db", "".utf8)
        var data = try folder.data("stores/damaged.db")
        data[data.count - 100] ^= 1
        try folder.write("stores/damaged.db", data)
        try tool.write(
            "0004_newer",
            up: "-- migrate:older breaks the others\nCREATE TABLE newer (id INTEGER);"
        )
        #expect(
            try tool.run(
                [
                    "migrate", "--db-path", fleet.path("newer"), "--password-file",
                    folder.path("password"), "--raw-key", "--migrations", tool.migrations,
                ]
            ).status == 0
        )
        try FileManager.default.removeItem(atPath: folder.path("migrations/0004_newer.sql"))
        #expect(
            try tool.run(
                [
                    "migrate", "--db-path", fleet.path("plain"), "--no-encryption",
                    "--migrations", tool.migrations,
                ]
            ).status == 0
        )
        try folder.write("stores/plain.db.key", tool.password.utf8)
    }

    @Test func eachIsNamedWithItsCodeAndNoneStopsTheOthers() throws {
        try breakStores()
        let holder = try LockHolder(fleet.path("locked"), key: "x'\(tool.password)'")
        let names =
            (0..<6).map(StoreFleet<Tool>.name)
            + [
                "wrong", "noKey", "openKey", "damaged", "locked", "newer", "empty", "plain",
                "missing",
            ]
        let list = names.map { "{\"path\":\"\(fleet.path($0))\",\"account\":\"\($0)\"}\n" }
        try folder.write("list", list.joined().utf8)
        let result = try fleet.run(
            "migrate",
            ["--stores-file", folder.path("list"), "--lock-timeout", "0"] + fleet.besideStores
                + ["--report", folder.path("report"), "--json"]
        )
        try holder.release()

        #expect(result.status == 1, "\(result)")
        let document = try result.json()
        #expect(document["stores"] as? Int == 15 && document["done"] as? Int == 6)
        #expect(document["failed"] as? Int == 9 && document["end"] as? String == "complete")
        #expect(try result.jsonError()["code"] as? String == "storesFailed")
        let report = try fleet.report("report")
        for name in (0..<6).map(StoreFleet<Tool>.name) {
            #expect(report.outcome(name) == "done")
            #expect(report[name]?["from"] as? String == "0002_row")
            #expect(report[name]?["to"] as? String == "0003_tags")
            #expect(try fleet.ledger(name) == "0001_items,0002_row,0003_tags")
        }
        let codes = Dictionary(
            uniqueKeysWithValues: names.dropFirst(6).map { ($0, report.code($0)) }
        )
        #expect(
            codes == [
                "wrong": "wrongKey", "noKey": "noSuchKeyFile", "openKey": "keyFileOpenToOthers",
                "damaged": "damaged", "locked": "locked", "newer": "databaseIsNewer",
                "empty": "empty", "plain": "plaintext", "missing": "noSuchFile",
            ]
        )
        let seen = (document["causes"] as? [[String: Any]] ?? []).compactMap {
            $0["code"] as? String
        }
        #expect(Set(seen) == Set(codes.values.compactMap(\.self)))
        #expect(!result.stdout.contains(tool.password) && !result.stderr.contains(tool.password))
        // What was there stays as it was.
        #expect(try fleet.ledger("locked") == "0001_items,0002_row")

        // Once the cause is gone, the next run does what is left.
        let again = try fleet.run(
            "migrate",
            ["--stores", folder.path("stores/{locked,s0?}.db"), "--json"] + fleet.besideStores
        )
        #expect(again.status == 66)
        let rest = try fleet.run(
            "migrate",
            ["--stores", folder.path("stores/[ls]*.db"), "--json"] + fleet.besideStores
        )
        #expect(rest.status == 0, "\(rest)")
        #expect(try rest.json()["applied"] as? Int == 1)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount a disk"))
    func fullDiskConcernsOnlyTheStoreOnIt() throws {
        try tool.write(
            "0003_tags",
            up: """
                CREATE TABLE tag (id INTEGER, body TEXT);
                INSERT INTO tag
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 60)
                SELECT x, hex(randomblob(1900)) FROM n;
                """
        )
        try folder.makeFolder("stores/full")
        let result = try TestSupport.run(
            "unshare",
            [
                "--mount", "sh", "-c",
                """
                mount -t tmpfs -o size=120k,mode=700 none "$0/full" || exit 99
                cp "$0/s00.db" "$0/s00.db.key" "$0/full" && shift && exec "$@"
                """, folder.path("stores"), "", builtExecutable("migrationkit-cli"),
            ]
                + fleet.arguments(
                    "migrate",
                    ["--stores", folder.path("stores/**/*.db"), "--report", folder.path("report")]
                        + fleet.besideStores
                ),
            environment: tool.environment
        )
        #expect(result.status == 1, "\(result)")
        let report = try fleet.report("report")
        #expect(report.code("full/s00") == "diskFull")
        #expect(report.values.count { $0["outcome"] as? String == "done" } == 6)
    }

    // MARK: - Busy Stores

    /// Each would have waited by itself, before the others.
    @Test func busyStoresWaitTogetherAfterTheOthers() throws {
        let locked = ["s00", "s01", "s02", "s03"]
        var holders = try locked.map {
            try LockHolder(fleet.path($0), key: "x'\(tool.password)'")
        }
        let report = folder.path("report")
        let child = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            fleet.arguments(
                "migrate",
                fleet.all + ["--jobs", "1", "--lock-timeout", "4", "--report", report, "--json"]
            ),
            environment: tool.environment
        )
        // The plan has a line for each store, too.
        try wait(for: "the free stores", interval: 1000) {
            (try? folder.data("report"))?.count { $0 == 0x0A } == 6 + 2
        }
        let before = try fleet.report("report")
        #expect(before.outcome("s04") == "done" && before.outcome("s05") == "done")
        #expect(before.outcome("s00") == "planned")
        try holders.removeFirst().release()
        let start = ContinuousClock.now
        let result = try child.finish()
        #expect(.now - start < .seconds(10))
        for holder in holders { try holder.release() }

        #expect(result.status == 1, "\(result)")
        let records = try fleet.report("report")
        #expect(records.outcome("s00") == "done")
        for name in locked.dropFirst() { #expect(records.code(name) == "locked") }
        #expect(try result.json()["applied"] as? Int == 3)
    }
}
