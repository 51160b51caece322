import Foundation
import MigrationKitFleet
import TestSupport
import Testing

/// Lists of stores, by lines.
@Suite struct StoreListTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func stores(_ text: String) throws -> [FleetStore] {
        try StoreList(path: folder.write("list", text.utf8)).stores()
    }

    @Test func linesArePathsOrObjects() throws {
        let list = try stores(
            """
            b/bob.db\r

            a.d/alice
            /data/carol.db
            {"path":"x/1.db","account":"dave","group":"canary"}
            {"group":"late","path":"x/\\u00fc.db"}
            """
        )
        #expect(
            list == [
                FleetStore(name: "b/bob", path: "b/bob.db"),
                FleetStore(name: "a.d/alice", path: "a.d/alice"),
                FleetStore(name: "/data/carol", path: "/data/carol.db"),
                FleetStore(name: "dave", path: "x/1.db", group: "canary"),
                FleetStore(name: "x/ü", path: "x/ü.db", group: "late"),
            ]
        )
    }

    @Test func linesOfAReportAreStores() throws {
        let report = folder.path("report")
        let stores = [
            FleetStore(name: "eu/alice", path: "x/eu/alice.db", group: "canary"),
            FleetStore(name: "bob", path: "x/bob.db"),
        ]
        let file = try FleetReportFile(path: report)
        for outcome in [FleetRecord.Outcome.planned, .failed] {
            try file.append(
                stores.map { store in
                    var record = FleetRecord(
                        command: "migrate",
                        store: store,
                        outcome: outcome,
                        time: "t"
                    )
                    record.error = .init(code: "locked", message: "it is locked", exit: 75)
                    return record
                }
            )
        }
        let names = StoreNames(below: folder.path("elsewhere"))
        #expect(try StoreList(path: report).stores(names: names) == stores)
    }

    @Test(arguments: [
        ("{", "it isn't a JSON object of strings"),
        (#"{"path":1}"#, "it isn't a JSON object of strings"),
        (#"{"account":"a"}"#, #"it has no "path""#), (#"{"path":""}"#, #"it has no "path""#),
        (#"{"path":"a","account":""}"#, #"its "account" is empty"#),
        (#"{"path":"a","name":"b"}"#, #"there is no field "name""#),
        ("a\0b", "it is not UTF-8 text"),
    ])
    func badLineIsNamed(_ line: String, _ reason: String) throws {
        #expect(
            throws: FleetError.badLine(
                source: folder.path("list"),
                number: 2,
                reason: reason
            )
        ) { try stores("good.db\n\(line)\n") }
    }

    @Test func lineThatIsNotUTF8IsRefused() throws {
        try folder.write("list", [0xff, 0x0a])
        #expect(
            throws: FleetError.badLine(
                source: folder.path("list"),
                number: 1,
                reason: "it is not UTF-8 text"
            )
        ) { try StoreList(path: folder.path("list")).stores() }
    }

    @Test(arguments: ["", "\n\n"])
    func emptyListIsAnError(text: String) throws {
        #expect(throws: FleetError.noStores(source: folder.path("list"))) { try stores(text) }
    }

    @Test func twoStoresOfOneNameAreRefused() throws {
        #expect(throws: FleetError.sameName("a", paths: ["a.db", "b.db"])) {
            try stores("a.db\n{\"path\":\"b.db\",\"account\":\"a\"}\n")
        }
    }

    @Test func missingListIsAnError() throws {
        #expect {
            try StoreList(path: folder.path("nothing"))
        } throws: { error in
            guard case FleetError.listUnreadable(folder.path("nothing"), _) = error else {
                return false
            }
            return true
        }
    }
}
