import Foundation
import TestSupport
import Testing

/// Many stores that get the content of their copies back, with a question, and beside others.
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
        for number in 1..<6 { #expect(try items(fleet.path(StoreFleet<Tool>.name(number))) == "1") }
        let again = try restore(options + names.dropLast().flatMap { ["--exclude", $0] })
        #expect(again.status == 0, "\(again)")
    }
}
