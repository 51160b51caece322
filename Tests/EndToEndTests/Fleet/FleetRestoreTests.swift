import Foundation
import TestSupport
import Testing

/// Many stores that get the content of their copies back.
@Suite struct FleetRestoreTests {
    private let fleet: StoreFleet
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet(count: 6)
        let backup = try tool.run(
            ["fleet", "backup"] + fleet.all + ["--output-dir", folder.path("copies")]
        )
        #expect(backup.status == 0, "\(backup)")
        for number in 0..<6 { try change(StoreFleet.name(number)) }
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
            {"path":"\(fleet.path(StoreFleet.name(number)))","account":"\(StoreFleet.name(number))"}

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
        for number in 0..<6 { #expect(try items(fleet.path(StoreFleet.name(number))) == "1") }
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

    @Test func nothingIsReplacedWithoutAnAnswer() throws {
        let refused = try restore(fleet.all + ["--json"])
        #expect(refused.status == 64, "\(refused)")
        #expect(try refused.jsonError()["code"] as? String == "needsConfirmation")
        for answer in ["n", "y"] {
            let terminal = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                ["fleet", "restore", "--from-dir", folder.path("copies")] + fleet.all,
                environment: tool.environment
            )
            #expect(terminal.wait(for: "Replace 6 databases with the copies in "))
            #expect(try items(fleet.path("s03")) == "1,2")
            terminal.type("\(answer)\n".utf8)
            let result = terminal.finish()
            #expect(result.status == (answer == "y" ? 0 : 77), "\(result)")
        }
        #expect(try items(fleet.path("s03")) == "1")
    }

    /// A copy that isn't there, is another store's, is damaged, or is a link; and a store in use.
    @Test func whatCantBeRestoredStaysAndTheOthersAreRestored() throws {
        for name in ["otherKey", "damaged", "link", "locked"] {
            try fleet.add(name)
            try change(name)
        }
        let copies = folder.path("copies")
        unlink("\(copies)/s00.db")
        try FileManager.default.copyItem(atPath: "\(copies)/s02.db", toPath: "\(copies)/locked.db")
        _ = try SQLCipherShell.run(
            "\(copies)/otherKey.db",
            key: "x'\(ToolFolder.randomDigits(count: 64))'",
            "CREATE TABLE item (id INTEGER);"
        )
        var data = try folder.data("copies/s03.db")
        data[data.count - 100] ^= 1
        try folder.write("copies/damaged.db", data)
        try FileManager.default.createSymbolicLink(
            atPath: "\(copies)/link.db",
            withDestinationPath: "s02.db"
        )
        let dry = try restore(
            fleet.all + ["--dry-run", "--json", "--report", folder.path("dry")]
        )
        #expect(dry.status == 1, "\(dry)")
        #expect(try dry.json()["command"] as? String == "restore-dry-run")
        #expect(try dry.json()["done"] as? Int == 6)
        #expect(try fleet.report("dry").code("damaged") == "damaged")
        #expect(try items(fleet.path("s04")) == "1,2")

        let holder = try LockHolder(fleet.path("locked"), key: "x'\(tool.password)'")
        let options = fleet.all + ["--yes", "--json", "--lock-timeout", "0"]
        let result = try restore(options + ["--report", folder.path("report")])
        try holder.release()
        #expect(result.status == 1, "\(result)")
        #expect(try result.json()["done"] as? Int == 5)
        let report = try fleet.report("report")
        let names = ["s00", "otherKey", "damaged", "link", "locked"]
        #expect(
            names.map(report.code) == ["noCopy", "wrongKey", "damaged", "noCopy", "inUse"]
        )
        for name in names { #expect(try items(fleet.path(name)) == "1,2", "\(name)") }
        for number in 1..<6 { #expect(try items(fleet.path(StoreFleet.name(number))) == "1") }
        let again = try restore(options + names.dropLast().flatMap { ["--exclude", $0] })
        #expect(again.status == 0, "\(again)")
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
