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
        try StorePattern(folder.path(pattern)).matches().stores.map(\.name)
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
        #expect(throws: FleetError.noStores(source: "'\(folder.path(pattern))'")) {
            try names(pattern)
        }
    }

    @Test func pathsAreInOrderAndLeadToTheFiles() throws {
        let paths = try StorePattern(folder.path("**/*.db")).matches().stores.map(\.path)
        #expect(paths == paths.sorted())
        #expect(paths.contains(folder.path("eu/carol.db")))
    }

    @Test func missingFolderIsAnError() throws {
        #expect(
            throws: FleetError.listUnreadable(
                path: folder.path("nowhere"),
                reason: "no such file or directory"
            )
        ) { try names("nowhere/*.db") }
    }

    @Test func twoStoresOfOneNameAreRefused() throws {
        try folder.write("bob.sqlite", "".utf8)
        #expect(
            throws: FleetError.sameName(
                "bob",
                paths: [folder.path("bob.db"), folder.path("bob.sqlite")]
            )
        ) { try names("bob.*") }
    }

    @Test(arguments: [
        ("eu/*", "eu/alice", true), ("eu/*", "eu/old/alice", false), ("eu/**", "eu/old/al", true),
        ("**/alice", "alice", true), ("**/alice", "eu/old/alice", true), ("*", "eu/alice", false),
        ("al*", "alice", true), ("al", "alice", false), ("/srv/*.db", "/srv/a.db", true),
        ("srv/*.db", "/srv/a.db", false), ("**/a.db", "/srv/a.db", true), ("**", "eu/.a", true),
        ("*", ".a", true),
    ])
    func patternMatchesAWholeName(_ pattern: String, _ name: String, _ expected: Bool) {
        #expect(StorePattern(pattern).contains(name) == expected)
    }

    @Test func matchesThatAreNotFilesAreReported() throws {
        try #require(mkfifo(folder.path("pipe.db"), 0o600) == 0)
        func skipped(_ pattern: String) throws -> [String] {
            try StorePattern(folder.path(pattern)).matches().skipped
                .map { "\($0.path.dropFirst(folder.path("").count)): \($0.kind)" }
        }
        let files = ["folder.db: a folder", "link.db: a link", "pipe.db: a pipe"]
        #expect(try skipped("*.db") == files)
        #expect(
            try skipped("**/*.db")
                == ["folder.db: a folder", "link.db: a link", "linked: a link to a folder"]
                + ["pipe.db: a pipe"]
        )
        #expect(try skipped("[be]*.db") == [])
        #expect(
            try skipped("*") == ["link.db: a link", "linked: a link", "pipe.db: a pipe"]
        )
    }
}

/// Names that don't depend on the pattern.
@Suite struct StoreNamesTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["tenants", "tenants/eu", "tenants/eu/old", "tenants2"] {
            try folder.makeFolder(name)
        }
        for name in ["tenants/alice.db", "tenants/eu/bob.db", "tenants/eu/old/carol.v2.db"] {
            try folder.write(name, "".utf8)
        }
        try folder.write("tenants2/dave.db", "".utf8)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("current"),
            withDestinationPath: "tenants"
        )
    }

    @Test(arguments: ["tenants", "tenants/", "current", "tenants2/../tenants", "tenants/eu/.."])
    func everyPatternGivesTheSameNames(root: String) throws {
        let names = StoreNames(below: folder.path(root))
        func found(_ pattern: String) throws -> [String] {
            try StorePattern(folder.path(pattern)).matches(names: names).stores.map(\.name)
        }
        #expect(try found("tenants/**/*.db") == ["alice", "eu/bob", "eu/old/carol.v2"])
        #expect(try found("tenants/eu/*.db") == ["eu/bob"])
        #expect(try found("tenants/eu/bob.db") == ["eu/bob"])
        #expect(try found("current/e?/**/*.db") == ["eu/bob", "eu/old/carol.v2"])
        #expect(try found("tenants//./eu/../eu/*.db") == ["eu/bob"])
    }

    @Test func linesOfAListHaveThemToo() throws {
        let lines = """
            \(folder.path("tenants/eu/bob.db"))
            {"path":"\(folder.path("tenants/eu/none.db"))"}
            {"path":"\(folder.path("tenants2/dave.db"))","account":"dave"}
            """
        let list = try StoreList(path: folder.write("list", lines.utf8))
        let stores = try list.stores(names: StoreNames(below: folder.path("tenants")))
        #expect(stores.map(\.name) == ["eu/bob", "eu/none", "dave"])
    }

    @Test func storeElsewhereHasNone() throws {
        let root = folder.path("tenants")
        let path = folder.path("tenants2/dave.db")
        #expect(throws: FleetError.outside(path: path, folder: root)) {
            try StorePattern(folder.path("tenants?/*.db")).matches(names: StoreNames(below: root))
        }
    }
}
