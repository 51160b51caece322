import Foundation
import TestSupport
import Testing

/// The tool in a sandbox like Flatpak's, where only the portal can be reached.
@Suite(.enabled(if: PrivatePortal.isAvailable, "needs bubblewrap and xdg-desktop-portal"))
struct PortalStoreTests {
    private static let kills =
        Samples.count(6)

    private let portal: PrivatePortal
    private let tool: Tool
    private let item = ["--keychain-service", "org.example.Notes", "--keychain-account", "main"]

    init() throws {
        portal = try PrivatePortal()
        tool = try Tool()
        try tool.writeItems()
    }

    private var opening: [String] { ["--db-path", tool.database] + item }

    /// Runs the tool in the sandbox.
    ///
    /// - Parameter limit: The seconds after which it is killed.
    private func run(
        _ arguments: [String],
        killedAfter limit: Double? = nil
    ) throws -> ProcessResult {
        let words = try [builtExecutable("migrationkit-cli")] + arguments
        let killed = limit.map { ["timeout", "--signal=KILL", "\($0)"] + words } ?? words
        return try portal.run(killed[0], Array(killed.dropFirst()))
    }

    private func expect(
        _ status: Int32,
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let result = try run(arguments + opening)
        #expect(result.status == status, "\(result)", sourceLocation: sourceLocation)
    }

    private func items() throws -> [String] {
        let list = try run(["key", "list", "--all", "--json"])
        let items = try #require(try list.json()["items"] as? [[String: Any]], "\(list)")
        return items.compactMap { $0["service"] as? String }.sorted()
    }

    @Test func firstLaunchToRotation() throws {
        let generated = try run(["key", "generate"] + item)
        #expect(generated.status == 0, "\(generated)")
        try expect(0, "migrate", "--migrations", tool.migrations)
        let before = try portal.bus.folder.data("data/migrationkit/portal-keys")
        // The times of items are in whole seconds.
        Thread.sleep(forTimeInterval: 2.1)
        try expect(0, "key", "rotate")
        try expect(0, "verify", "--migrations", tool.migrations)
        try expect(0, "key", "check")
        try expect(0, "key", "doctor")
        #expect(try items() == ["migrationkit-previous: org.example.Notes", "org.example.Notes"])
        // Nothing of it is in the desktop's keyring but the portal's secret.
        let outside = try portal.bus.run("secret-tool", ["search", "service", "org.example.Notes"])
        #expect(outside.stdout.isEmpty)

        // A backup of the keys from before the rotation.
        let keys = portal.bus.folder.path("data/migrationkit/portal-keys")
        let now = try Data(contentsOf: URL(filePath: keys))
        try expect(0, "status", "--migrations", tool.migrations)
        try before.write(to: URL(filePath: keys))
        let older = try run(["key", "doctor"] + opening)
        #expect(older.status == 69 && older.stdout.contains("is older than"), "\(older)")
        try now.write(to: URL(filePath: keys))
        try expect(0, "key", "check")

        // Another desktop, with the files of this one.
        let other = try PrivatePortal()
        try other.bus.folder.makeFolder("data/migrationkit")
        try FileManager.default.copyItem(
            atPath: portal.bus.folder.path("data/migrationkit/portal-keys"),
            toPath: other.bus.folder.path("data/migrationkit/portal-keys")
        )
        let words = ["status", "--json", "--migrations", tool.migrations] + opening
        let refused = try other.run(builtExecutable("migrationkit-cli"), words)
        #expect(refused.status == 77, "\(refused)")
        #expect(try refused.jsonError()["code"] as? String == "keysUnreadable")
    }

    /// GNOME Keyring is killed at once after it has made the app's secret.
    @Test func aNewSecretIsOnTheDisk() throws {
        let generated = try run(["key", "generate"] + item)
        #expect(generated.status == 0, "\(generated)")
        try portal.bus.unlock()
        #expect(try items() == ["org.example.Notes"])
    }

    /// The command is killed at a random time, or the keyring behind the portal once it has ended.
    @Test func noKillLosesAKey() throws {
        var rounds = 0
        for round in 0..<Self.kills {
            let first = round % 3 == 0
            if first {
                try? FileManager.default.removeItem(atPath: tool.database)
                _ = try run(["key", "delete", "--yes"] + item)
            }
            let words =
                first
                ? [["key", "generate"] + item, ["migrate"] + opening]
                : [["key", "rotate"] + opening]
            for words in words {
                let limit = round % 2 == 0 ? Double.random(in: 0.005...0.2) : nil
                let more = words[0] == "migrate" ? ["--migrations", tool.migrations] : []
                let result = try run(words + more, killedAfter: limit)
                #expect([0, 137, 69].contains(result.status), "\(result)")
                rounds += result.status == 137 ? 1 : 0
                // GNOME Keyring's portal gives nothing any more after a program was killed while it
                // asked, so it's started again in any case.
                try portal.bus.unlock()
                // A killed generation has stored a key or not.
                if words.contains("generate"), result.status != 0 {
                    let again = try run(words)
                    #expect([0, 73].contains(again.status), "\(again)")
                }
            }
            try expect(0, "migrate", "--migrations", tool.migrations)
            try expect(0, "key", "check")
            #expect(try !items().contains { $0.hasPrefix("migrationkit-pending") }, "\(round)")
        }
        report("\(Self.kills) rounds in a sandbox, \(rounds) of them killed in time")
    }
}
