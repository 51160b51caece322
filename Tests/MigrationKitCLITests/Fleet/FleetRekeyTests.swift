import Foundation
import TestSupport
import Testing

/// Many stores that get other keys.
@Suite struct FleetRekeyTests {
    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: 8)
        for name in ["old", "new"] {
            try folder.write(name, "\(ToolFolder.randomDigits(count: 64))\n".utf8)
        }
    }

    private var stores: [String] {
        ["--stores", folder.path("stores/*.db"), "--name-from", folder.path("stores")]
    }

    /// The keys that are derived from a master key, such as `new`.
    private func master(_ name: String) -> [String] {
        ["--master-key-file", folder.path(name)]
    }

    private func newMaster(_ name: String) -> [String] {
        ["--new-master-key-file", folder.path(name)]
    }

    private func run(_ command: String, _ options: [String]) throws -> ProcessResult {
        try tool.run(["fleet", command] + options)
    }

    private func verify(_ keys: [String]) throws -> ProcessResult {
        try run("verify", stores + keys + ["--migrations", tool.migrations, "--json"])
    }

    private func files() throws -> [Data] {
        try (0..<8).map { try folder.data("stores/\(StoreFleet<Tool>.name($0)).db") }
    }

    @Test func everyStoreGetsItsKey() throws {
        let options = fleet.besideStores + newMaster("new")
        let before = try files()
        let tried = try run("rekey", stores + options + ["--dry-run"])
        #expect(tried.status == 0 && tried.stdout.hasSuffix("Nothing was changed.\n"), "\(tried)")
        #expect(try files() == before)

        let result = try run(
            "rekey",
            stores + options + ["--json", "--report", folder.path("report"), "--canary", "1"]
        )
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["done"] as? Int == 8)
        #expect(try (result.json()["versions"] as? [Any])?.count == 0)
        #expect(try fleet.report("report")["s03"]?["command"] as? String == "rekey")
        #expect(try verify(master("new")).status == 0)
        let old = try verify(fleet.besideStores)
        #expect(try old.json()["failed"] as? Int == 8)
        let causes = try old.json()["causes"] as? [[String: Any]]
        #expect(causes?.map { $0["code"] as? String } == ["wrongKey"])

        // What the new keys open is done, and needs no old ones.
        let after = try files()
        for number in 0..<4 {
            unlink(folder.path("stores/\(StoreFleet<Tool>.name(number)).db.key"))
        }
        let again = try run("rekey", stores + options + ["--json"])
        #expect(again.status == 0, "\(again)")
        #expect(try files() == after)
    }

    @Test func masterKeyIsRotated() throws {
        #expect(try run("rekey", stores + fleet.besideStores + newMaster("old")).status == 0)
        #expect(try run("rekey", stores + master("old") + newMaster("new")).status == 0)
        #expect(try verify(master("new")).status == 0)
    }

    // MARK: - New Keys

    @Test(arguments: [
        ([], "noNewKey"), (["--new-keys-dir", "a", "--new-key-helper", "b"], "severalKeySources"),
        (["--new-key-file-suffix", ".key"], "sameKey"),
        (["--new-keys-dir", "a", "--no-encryption"], "keyForPlaintext"),
    ])
    func sourceOfTheNewKeysMustBeAnotherOne(_ options: [String], _ code: String) throws {
        let keys = options.contains("--no-encryption") ? [] : fleet.besideStores
        let result = try run("rekey", stores + keys + options + ["--json"])
        #expect(result.status == 64, "\(result)")
        #expect(try result.jsonError()["code"] as? String == code)
    }

    @Test func keyThatIsTheOldOneIsRefused() throws {
        #expect(try run("rekey", stores + fleet.besideStores + newMaster("old")).status == 0)
        let before = try files()
        let link = folder.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "old")
        let same = try run("rekey", stores + master("old") + newMaster("link") + ["--json"])
        #expect(try same.jsonError()["code"] as? String == "sameKey")
        // A copy of the file has the same keys.
        try folder.write("new", folder.data("old"))
        let copy = try run(
            "rekey",
            stores + master("old") + newMaster("new") + ["--report", folder.path("report")]
        )
        #expect(copy.status == 1, "\(copy)")
        #expect(try fleet.report("report").values.allSatisfy { $0["error"] != nil })
        #expect(try fleet.report("report").code("s00") == "sameKey")
        #expect(try files() == before)
    }

    /// Names that depend on the pattern would give keys that nobody finds again.
    @Test func keysThatGoByNamesNeedAFolder() throws {
        let result = try run("rekey", fleet.all + newMaster("new") + ["--json"])
        #expect(result.status == 64)
        #expect(try result.jsonError()["code"] as? String == "noNameRoot")
    }
}
