import Foundation
import TestSupport
import Testing

/// Where the keys of many stores come from.
@Suite struct FleetKeyTests {
    private let tool: Tool
    private var folder: TemporaryFolder { tool.folder }
    private let names = ["alice", "eu/bob", "carol"]

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        try folder.makeFolder("stores")
        try folder.makeFolder("stores/eu")
        try folder.makeFolder("keys")
        try folder.makeFolder("keys/eu")
    }

    /// Makes a store, all but its last migration applied.
    private func make(_ name: String, key: String) throws {
        try folder.write("key", key.utf8)
        let result = try tool.run(
            [
                "migrate", "--db-path", folder.path("stores/\(name).db"), "--password-file",
                folder.path("key"), "--raw-key", "--migrations", tool.migrations, "--steps", "2",
            ]
        )
        #expect(result.status == 0, "\(result)")
    }

    /// Migrates all stores with these keys, and tells whether all are done.
    private func migrate(
        _ keys: [String],
        stores pattern: String = "**/*.db",
        nameFrom: String? = "stores",
        environment: [String: String] = [:]
    ) throws -> ProcessResult {
        var tool = tool
        tool.environment.merge(environment) { $1 }
        return try tool.run(
            ["fleet", "migrate", "--stores", folder.path("stores/\(pattern)"), "--json"] + keys
                + (nameFrom.map { ["--name-from", folder.path($0)] } ?? []) + [
                    "--migrations", tool.migrations, "--report", folder.path("report"),
                ]
        )
    }

    private func expectAllDone(_ result: ProcessResult, applied: Int? = nil) throws {
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["done"] as? Int == names.count)
        #expect(try result.json()["applied"] as? Int == applied ?? names.count)
    }

    /// Makes the stores with keys that are derived from a master key.
    private func makeDerived() throws -> Set<String> {
        try folder.write("master", "\(ToolFolder.randomDigits(count: 64))\n".utf8)
        var keys: Set<String> = []
        for name in names {
            let derived = try tool.run(
                "key",
                "derive",
                "--master-key-file",
                folder.path("master"),
                name,
                "--force"
            )
            #expect(derived.status == 0, "\(derived)")
            keys.insert(derived.stdout)
            try make(name, key: derived.stdout)
        }
        #expect(keys.count == names.count)
        return keys
    }

    @Test func masterKeyGivesEachStoreItsOwn() throws {
        let keys = try makeDerived()
        try expectAllDone(migrate(["--master-key-file", folder.path("master")]))
        let report = String(decoding: try folder.data("report"), as: UTF8.self)
        for key in keys { #expect(!report.contains(key.dropLast())) }
    }

    @Test func keyDoesNotDependOnThePattern() throws {
        _ = try makeDerived()
        let master = ["--master-key-file", folder.path("master")]
        for pattern in ["eu/*.db", "eu/bob.db", "*/*.db", "**/b*.db"] {
            let result = try migrate(master, stores: pattern)
            #expect(result.status == 0, "\(result)")
            #expect(try result.json()["done"] as? Int == 1)
        }
        try expectAllDone(migrate(master), applied: 2)

        // The settings name the folder, too.
        try folder.write("migrationkit.toml", "name-from = \"stores\"\n".utf8)
        let settings = ["--config", folder.path("migrationkit.toml")]
        let set = try migrate(master + settings, stores: "eu/*.db", nameFrom: nil)
        #expect(set.status == 0, "\(set)")

        // The wrong one gives other names, which the message explains.
        let wrong = try migrate(master, stores: "eu/*.db", nameFrom: "stores/eu")
        #expect(wrong.status == 1, "\(wrong)")
        let hint = try #require(try wrong.jsonError()["hint"] as? String)
        #expect(hint.contains("--name-from") && hint.contains("'bob'"), "\(hint)")
        let outside = try migrate(master, nameFrom: "keys")
        #expect(outside.status == 65)
        #expect(try outside.jsonError()["code"] as? String == "storeOutside")
    }

    @Test(arguments: [
        ["--master-key-file", "a"], ["--keys-dir", "a"], ["--key-helper", "a"],
        ["--keychain-service", "a"],
    ])
    func whereNamesBeginMustBeSaidIfKeysGoByThem(keys: [String]) throws {
        try folder.write("stores/eu/bob.db", "".utf8)
        let result = try migrate(keys, stores: "eu/*.db", nameFrom: nil)
        #expect(result.status == 64, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "noNameRoot")
        let hint = try #require(try result.jsonError()["hint"] as? String)
        #expect(hint.contains("--name-from \(folder.path("stores/eu"))"), "\(hint)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("report")))
    }

    @Test func folderOfKeysIsOne() throws {
        for (index, name) in names.enumerated() {
            let key = ToolFolder.randomDigits(count: 64)
            try make(name, key: key)
            try folder.write("keys/\(name)\(index == 0 ? "" : ".key")", "\(key)\n".utf8)
        }
        try expectAllDone(migrate(["--keys-dir", folder.path("keys"), "--raw-key"]))
    }

    @Test func plaintextStoresNeedNone() throws {
        for name in names {
            let path = folder.path("stores/\(name).db")
            let made = try tool.run(
                [
                    "migrate", "--db-path", path, "--no-encryption", "--migrations",
                    tool.migrations, "--steps", "2",
                ]
            )
            #expect(made.status == 0)
        }
        try expectAllDone(migrate(["--no-encryption"]))
    }

    @Test(arguments: [
        ([], "noKey"), (["--keys-dir", "a", "--key-helper", "b"], "severalKeySources"),
        (["--keys-dir", "a", "--no-encryption"], "keyForPlaintext"),
        (["--raw-key", "--no-encryption"], "keyForPlaintext"),
        (["--no-encryption", "--keychain-collection", "c"], "collectionWithoutService"),
    ])
    func sourceOfTheKeysMustBeOne(_ options: [String], _ code: String) throws {
        let result = try migrate(options)
        #expect(result.status == 64)
        #expect(try result.jsonError()["code"] as? String == code)
    }
}
