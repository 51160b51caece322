import Foundation
import MigrationKitFleet
import TestSupport
import Testing

/// Which files a pattern names, and what their stores are called.
@Suite struct StorePatternTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["eu", "eu/old", ".hidden", "empty"] { try folder.makeFolder(name) }
        for name in [
            "bob.db", "alice.db", "alice.db.key", "alice.db-wal", "alice.db-migration.lock",
            "eu/carol.db", "eu/old/dave.v2.db", ".hidden/eve.db", ".frank.db", "eu/grace",
        ] { try folder.write(name, "".utf8) }
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link.db"),
            withDestinationPath: "bob.db"
        )
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("linked"),
            withDestinationPath: "eu"
        )
        try folder.makeFolder("folder.db")
    }

    private func names(_ pattern: String) throws -> [String] {
        try StorePattern(folder.path(pattern)).stores().map(\.name)
    }

    @Test(arguments: [
        ("*.db", ["alice", "bob"]), ("**/*.db", ["alice", "bob", "eu/carol", "eu/old/dave.v2"]),
        ("*/*.db", ["eu/carol"]), ("eu/**/*.db", ["carol", "old/dave.v2"]), ("a*.db", ["alice"]),
        ("[ab]*.db", ["alice", "bob"]), ("???.db", ["bob"]), ("bob.db", ["bob"]),
        (".hidden/*.db", ["eve"]), ("**/old/*", ["eu/old/dave.v2"]), ("eu/*", ["carol", "grace"]),
        ("**/**/carol.db", ["eu/carol"]), (".f*.db", [".frank"]),
        ("alice*", ["alice", "alice.db"]),
    ])
    func patternNamesRegularFiles(_ pattern: String, _ expected: [String]) throws {
        #expect(try names(pattern) == expected)
    }

    @Test(arguments: [
        "*.sqlite", "link.db", "l*/*.db", "**/linked/*.db", "empty/**/*", "nowhere/bob.db",
    ])
    func nothingFoundIsAnError(pattern: String) throws {
        #expect(throws: FleetListError.noStores(source: "'\(folder.path(pattern))'")) {
            try names(pattern)
        }
    }

    @Test func pathsAreInOrderAndLeadToTheFiles() throws {
        let paths = try StorePattern(folder.path("**/*.db")).stores().map(\.path)
        #expect(paths == paths.sorted())
        #expect(paths.contains(folder.path("eu/carol.db")))
    }

    @Test func missingFolderIsAnError() throws {
        #expect(
            throws: FleetListError.unreadable(
                path: folder.path("nowhere"),
                reason: "no such file or directory"
            )
        ) { try names("nowhere/*.db") }
    }

    @Test func twoStoresOfOneNameAreRefused() throws {
        try folder.write("bob.sqlite", "".utf8)
        #expect(
            throws: FleetListError.sameName(
                "bob",
                paths: [folder.path("bob.db"), folder.path("bob.sqlite")]
            )
        ) { try names("bob.*") }
    }
}
