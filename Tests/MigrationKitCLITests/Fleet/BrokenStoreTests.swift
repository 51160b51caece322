import Foundation
import TestSupport
import Testing

/// Stores that can't be migrated, and when they stop the rest.
@Suite struct BrokenStoreTests {
    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: 6)
    }

    // MARK: - Limits

    @Test func failedCanaryStopsTheRest() throws {
        try folder.write("stores/s01.db.key", ToolFolder.randomDigits(count: 64).utf8)
        let stopped = try fleet.run(
            "migrate",
            fleet.all + ["--canary", "2", "--report", folder.path("report"), "--json"]
        )
        #expect(stopped.status == 1)
        #expect(try stopped.jsonError()["code"] as? String == "canaryFailed")
        #expect(try stopped.json()["end"] as? String == "canary")
        #expect(try fleet.report("report").outcome("s02") == "notStarted")
        #expect(try fleet.ledger("s02") == "0001_items,0002_row")
        let groups = (0..<6).map { number in
            """
            {"path":"\(fleet.path(StoreFleet<Tool>.name(number)))","group":"\(number == 1 ? "first" : "")"}

            """
        }
        try folder.write("list", groups.joined().utf8)
        let group = ["--stores-file", folder.path("list")] + fleet.besideStores
        let unstarted = try fleet.run("migrate", group + ["--canary-group", "first", "--json"])
        #expect(try unstarted.json()["unfinished"] as? Int == 5)
        let unknown = try fleet.run("migrate", group + ["--canary-group", "other", "--json"])
        #expect(unknown.status == 64)
        #expect(try unknown.jsonError()["code"] as? String == "noCanaries")
    }

    @Test func tooManyFailuresStopTheRest() throws {
        for number in 0..<3 {
            try folder.write(
                "stores/\(StoreFleet<Tool>.name(number)).db.key",
                ToolFolder.randomDigits(count: 64).utf8
            )
        }
        let few = try fleet.run(
            "migrate",
            fleet.all + ["--max-failures", "1", "--jobs", "1", "--json"]
        )
        #expect(few.status == 1)
        #expect(try few.jsonError()["code"] as? String == "tooManyFailures")
        #expect(try few.json()["unfinished"] as? Int == 4)
        let half = try fleet.run("migrate", fleet.all + ["--max-failures", "50%", "--json"])
        #expect(try half.jsonError()["code"] as? String == "storesFailed")
        #expect(try half.json()["done"] as? Int == 3)
    }

    @Test func migrationThatFailsEverywhereEndsTheRun() throws {
        for number in 6..<24 { try fleet.add(StoreFleet<Tool>.name(number)) }
        try tool.write("0003_tags", up: "INSERT INTO nowhere VALUES (1);")
        let arguments = fleet.all + ["--json", "--jobs", "2"]
        let result = try fleet.run("migrate", arguments)
        #expect(result.status == 1)
        #expect(try result.jsonError()["code"] as? String == "tooManyFailures")
        #expect(try (11...12).contains(#require(result.json()["failed"] as? Int)), "\(result)")
        let all = try fleet.run("migrate", arguments + ["--max-failures", "100%"])
        #expect(try all.json()["failed"] as? Int == 24)
    }
}
