import Foundation
import TestSupport
import Testing

/// The keys of many stores from other programs, and a derived one on a terminal.
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

    @Test func derivedKeyIsPrintedOnlyToATerminalUnlessForced() throws {
        try folder.write("master", ToolFolder.randomDigits(count: 64).utf8)
        let options = ["key", "derive", "--master-key-file", folder.path("master"), "alice"]
        let refused = try tool.run(options)
        #expect(refused.status == 64 && refused.stdout.isEmpty, "\(refused)")
        let terminal = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            options,
            environment: tool.environment
        ).finish()
        #expect(terminal.status == 0)
        #expect(try terminal.stdout.contains(tool.run(options + ["--force"]).stdout.dropLast()))
    }

    @Test func helperIsAskedForEachStore() throws {
        for name in names {
            let key = ToolFolder.randomDigits(count: 64)
            try make(name, key: key)
            try folder.write("keys/\(name)", key.utf8)
        }
        let helper = try folder.write(
            "helper.py",
            """
            import json, os, sys
            folder = sys.argv[1]
            for line in sys.stdin:
                name = json.loads(line)["store"]
                if os.path.exists(f"{folder}/{name}"):
                    answer = {"key": open(f"{folder}/{name}").read(), "form": "raw"}
                else:
                    answer = {"error": "no such tenant"}
                print(json.dumps(answer), flush=True)
            """.utf8
        )
        let command = ["--key-helper", "/usr/bin/python3 '\(helper)' '\(folder.path("keys"))'"]
        try FileManager.default.moveItem(
            atPath: folder.path("keys/carol"),
            toPath: folder.path("carol")
        )
        let first = try migrate(command)
        #expect(first.status == 1)
        #expect(first.stdout.contains("has no key: no such tenant"), "\(first)")
        #expect(try first.json()["done"] as? Int == 2)
        try FileManager.default.moveItem(
            atPath: folder.path("carol"),
            toPath: folder.path("keys/carol")
        )
        #expect(try migrate(command).status == 0)
        let missing = try migrate(["--key-helper", "no-such-helper"])
        #expect(missing.status == 77, "\(missing)")
    }

    @Test func secretStoreHasThemByAccount() throws {
        let secrets = try PrivateSecretService()
        for name in names {
            let key = ToolFolder.randomDigits(count: 64)
            try make(name, key: key)
            let stored = try TestSupport.run(
                builtExecutable("migrationkit-cli"),
                [
                    "key", "set", "--keychain-service", "tenants", "--keychain-account", name,
                    "--password-file", folder.path("key"), "--raw-key",
                ],
                environment: tool.environment.merging(secrets.environment) { $1 }
            )
            #expect(stored.status == 0, "\(stored)")
        }
        let done = try migrate(
            ["--keychain-service", "tenants"],
            environment: secrets.environment
        )
        try expectAllDone(done)
    }
}
