import Foundation
import TestSupport
import Testing

/// Many stores that get the content of their copies back.
@Suite struct FleetRestoreTests {
    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: 6)
        let backup = try tool.run(
            ["fleet", "backup"] + fleet.all + ["--output-dir", folder.path("copies")]
        )
        #expect(backup.status == 0, "\(backup)")
        for number in 0..<6 { try change(StoreFleet<Tool>.name(number)) }
    }

    /// Adds a row that the copy doesn't have.
    private func change(_ name: String, _ id: Int = 2) throws {
        _ = try items(fleet.path(name), "INSERT INTO item VALUES (\(id));")
    }

    private func items(_ path: String, _ sql: String = "") throws -> String {
        try SQLCipherShell.run(
            path,
            key: "x'\(tool.password)'",
            sql + "SELECT group_concat(id) FROM (SELECT id FROM item ORDER BY 1);"
        )
    }

    private func restore(_ options: [String]) throws -> ProcessResult {
        try tool.run(["fleet", "restore", "--from-dir", folder.path("copies")] + options)
    }

    @Test func eachGetsTheContentOfItsCopyAndItsOriginalIsKept() throws {
        // Lost and damaged ones come back, too.
        unlink(fleet.path("s00"))
        try folder.write("stores/s01.db", [UInt8](repeating: 7, count: 5000))
        let list = (0..<6).map { number in
            """
            {"path":"\(fleet.path(StoreFleet<Tool>.name(number)))","account":"\(StoreFleet<Tool>.name(number))"}

            """
        }
        try folder.write("list", list.joined().utf8)
        let options =
            ["--stores-file", folder.path("list"), "--yes", "--json"] + fleet.besideStores
            + ["--keep-originals", folder.path("originals"), "--report", folder.path("report")]
        let result = try restore(options)
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["command"] as? String == "restore")
        #expect(try (result.json()["versions"] as? [Any])?.count == 0)
        for number in 0..<6 { #expect(try items(fleet.path(StoreFleet<Tool>.name(number))) == "1") }
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path("originals"))
        #expect(kept.sorted() == (1..<6).map { "s0\($0).db" })
        #expect(try items(folder.path("originals/s03.db")) == "1,2")
        let report = try fleet.report("report")
        #expect(report["s03"]?["original"] as? String == folder.path("originals/s03.db"))
        #expect(report.outcome("s00") == "done" && report["s00"]?["original"] == nil)

        // What is restored is done; what was changed since is restored again, and kept beside.
        try change("s03", 3)
        let inode = try inode("s04")
        #expect(try restore(options).status == 0)
        #expect(try items(fleet.path("s03")) == "1")
        #expect(try items(folder.path("originals/s03.db")) == "1,2")
        #expect(try items(folder.path("originals/s03-2.db")) == "1,3")
        #expect(try self.inode("s04") == inode)
        let all = try FileManager.default.contentsOfDirectory(atPath: folder.path("originals"))
        #expect(all.count == 6, "\(all)")
    }

    private func inode(_ name: String) throws -> UInt64 {
        var status = stat()
        try #require(stat(fleet.path(name), &status) == 0)
        return UInt64(status.st_ino)
    }

    @Test func storesAreNotTheirOwnCopies() throws {
        let result = try tool.run(
            ["fleet", "restore", "--from-dir", folder.path("stores"), "--yes", "--json"] + fleet.all
        )
        #expect(result.status == 1)
        let causes = try result.json()["causes"] as? [[String: Any]]
        #expect(causes?.map { $0["code"] as? String } == ["sameFile"], "\(result)")
    }

    @Test func failedCanaryStopsTheRest() throws {
        unlink(folder.path("copies/s00.db"))
        let result = try restore(fleet.all + ["--yes", "--json", "--canary", "1"])
        #expect(try result.jsonError()["code"] as? String == "canaryFailed")
        #expect(try items(fleet.path("s05")) == "1,2")
    }
}
