import Testing

@testable import MigrationKitCLI

@Suite struct NearestNameTests {
    private let commands = ["migrate", "status", "rollback", "verify", "baseline", "schema-dump"]

    @Test(arguments: [
        ("migrat", "migrate"), ("migrte", "migrate"), ("mirgate", "migrate"),
        ("migratee", "migrate"), ("MIGRATE", "migrate"), ("statsu", "status"),
        ("rolback", "rollback"), ("schema_dump", "schema-dump"), ("schemadump", "schema-dump"),
    ])
    func aSlipIsUnderstood(_ typed: String, _ meant: String) {
        #expect(nearest(to: typed, among: commands) == meant)
    }

    @Test(arguments: ["", "x", "deploy", "statistics", "schema", "migrations-folder"])
    func nothingFarFetchedIsProposed(_ typed: String) {
        #expect(nearest(to: typed, among: commands) == nil)
    }

    @Test func theFewestSlipsWinAndThenTheFirst() {
        #expect(nearest(to: "0002_tag", among: ["0001_tags", "0002_tags"]) == "0002_tags")
        #expect(nearest(to: "abcx", among: ["abcd", "abce"]) == "abcd")
        #expect(nearest(to: "same", among: ["sane", "same"]) == "same")
    }

    @Test func swappedNeighboursAreOneSlip() {
        // Two, for who counts a swap as two changes: more than a third of four letters.
        #expect(nearest(to: "lsit", among: ["list"]) == "list")
        #expect(nearest(to: "tsli", among: ["list"]) == nil)
    }

    @Test func nothingIsNearestAmongNothing() {
        #expect(nearest(to: "migrate", among: []) == nil)
    }
}
