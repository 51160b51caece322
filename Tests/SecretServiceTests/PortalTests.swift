import Foundation
import TestSupport
import Testing

/// `PortalKeyStore` in a sandbox, with the desktop's real portal.
@Suite(.enabled(if: PrivatePortal.isAvailable, "needs bubblewrap and xdg-desktop-portal"))
struct PortalTests {
    private let portal: PrivatePortal

    init() throws {
        portal = try PrivatePortal()
    }

    private func probe(_ words: String..., input: String = "") throws -> ProcessResult {
        try portal.run(
            builtExecutable("SecretServiceProbe"),
            words,
            input: input,
            environment: ["PROBE_DESKTOP": "1"]
        )
    }

    private var file: String { portal.bus.folder.path("data/migrationkit/portal-keys") }

    @Test func itemsAreStoredFoundReplacedAndDeleted() throws {
        #expect(try probe("items").stdout.isEmpty)
        #expect(try probe("entry", "s", "a").stdout.hasPrefix("itemNotFound"))
        #expect(!FileManager.default.fileExists(atPath: file))

        let digits = String(repeating: "0f", count: 32)
        let first = try probe("store", "s", "a", "passphrase", input: "one secret — ünïcode")
        #expect(first.status == 0, "\(first)")
        #expect(try probe("store", "s", "b", "raw-key", input: digits).status == 0)
        #expect(
            try probe("store", "s", "a", "passphrase", input: "x").stdout.hasPrefix("itemExists")
        )
        #expect(try probe("entry", "s").stdout.hasPrefix("ambiguous"))
        let found = try probe("entry", "s", "b").stdout
        #expect(found == "raw-key \(digits)\ns b raw-key portal open dated s (b)\n")
        #expect(try probe("replace", "s", "a", "passphrase", input: "two").status == 0)
        #expect(try probe("entry", "s", "a").stdout.hasPrefix("passphrase 74776f\n"))
        #expect(try probe("items", "s").stdout.split(separator: "\n").count == 2)
        #expect(try probe("delete", "s", "a").status == 0)
        #expect(try probe("entry", "s", "a").stdout.hasPrefix("itemNotFound"))
    }

    @Test func theFileIsTheUsersAndSealed() throws {
        #expect(try probe("store", "service", "account", "passphrase", input: "hidden").status == 0)
        let before = try Data(contentsOf: URL(filePath: file))
        for text in ["hidden", "service", "account"] {
            #expect(before.range(of: Data(text.utf8)) == nil)
        }
        let modes = ["data/migrationkit", "data/migrationkit/portal-keys"].map { name in
            let path = portal.bus.folder.path(name)
            return (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions]
                as? Int
        }
        #expect(modes == [0o700, 0o600])
        // Each byte counts.
        for index in stride(from: 0, to: before.count, by: 7) {
            var changed = before
            changed[index] ^= 1
            try changed.write(to: URL(filePath: file))
            #expect(try probe("entry", "service").stdout.hasPrefix("unreadableKeys"), "\(index)")
        }
        for count in [0, 10, 60, before.count - 1] {
            try before.prefix(count).write(to: URL(filePath: file))
            #expect(try probe("entry", "service").stdout.hasPrefix("unreadableKeys"), "\(count)")
            let stored = try probe("store", "s", "a", "passphrase", input: "x").stdout
            #expect(stored.hasPrefix("unreadableKeys"), "\(count)")
            #expect(try Data(contentsOf: URL(filePath: file)) == before.prefix(count))
        }
        try before.write(to: URL(filePath: file))
        #expect(try probe("entry", "service").status == 0)
    }

    /// What isn't a file is in nobody's way, and is never replaced.
    @Test func whatIsNotAFileIsSaid() throws {
        try portal.bus.folder.makeFolder("data/migrationkit")
        try FileManager.default.createSymbolicLink(
            atPath: file,
            withDestinationPath: "/nonexistent"
        )
        let stored = try probe("store", "s", "a", "passphrase", input: "x")
        #expect(stored.stdout.contains("is a symbolic link"), "\(stored)")
        try FileManager.default.removeItem(atPath: file)
        mkfifo(file, 0o600)
        #expect(try probe("entry", "s").stdout.contains("is not a file"))
        #expect(try probe("store", "s", "a", "passphrase", input: "x").status == 1)
        try FileManager.default.removeItem(atPath: file)
        // A hole of 1 TB.
        try portal.bus.folder.write(
            "data/migrationkit/portal-keys",
            "migrationkit portal keys 1\n".utf8
        )
        truncate(file, 1 << 40)
        #expect(try probe("entry", "s").stdout.hasPrefix("unreadableKeys"))
    }

    /// GNOME Keyring lists its portal's secret among the items, but hasn't it on the bus.
    @Test func keysOutsideAreFoundAfterwards() throws {
        func outside(_ words: String...) throws -> ProcessResult {
            try portal.bus.run(builtExecutable("SecretServiceProbe"), words, input: "outside")
        }
        #expect(try outside("store", "s", "outside", "passphrase").status == 0)
        #expect(try probe("store", "s", "a", "passphrase", input: "x").status == 0)
        #expect(try outside("entry", "s").status == 0)
        #expect(try outside("items").stdout.contains("outside"))
        #expect(try outside("replace", "s", "outside", "passphrase").status == 0)
        #expect(try outside("contents").stdout.contains("outside"))
    }

    @Test func processesThatStoreAtOnceLoseNothing() async throws {
        try await withThrowingTaskGroup(of: Int32?.self) { group in
            for index in 0..<8 {
                group.addTask {
                    try probe("store", "s", "\(index)", "passphrase", input: "x").status
                }
            }
            for try await status in group { #expect(status == 0) }
        }
        #expect(try probe("items", "s").stdout.split(separator: "\n").count == 8)
    }

    @Test func anotherKeyringOpensNothingAndReplacesNothing() throws {
        #expect(try probe("store", "s", "a", "passphrase", input: "x").status == 0)
        let other = try PrivatePortal()
        try other.bus.folder.makeFolder("data/migrationkit")
        let copy = other.bus.folder.path("data/migrationkit/portal-keys")
        try FileManager.default.copyItem(atPath: file, toPath: copy)
        for words in [["entry", "s"], ["store", "s", "b", "passphrase"], ["delete", "s"]] {
            let result = try other.run(
                builtExecutable("SecretServiceProbe"),
                words,
                input: "x",
                environment: ["PROBE_DESKTOP": "1"]
            )
            #expect(result.stdout.hasPrefix("unreadableKeys"), "\(result)")
        }
        #expect(FileManager.default.contentsEqual(atPath: file, andPath: copy))
    }

    @Test func aLockedKeyringIsSaid() throws {
        #expect(try probe("store", "s", "a", "passphrase", input: "x").status == 0)
        try portal.bus.restartLocked()
        #expect(try probe("entry", "s").stdout.hasPrefix("portalRefused"))
        try portal.bus.unlock()
        #expect(try probe("entry", "s").status == 0)
    }

    @Test func aWaitingQuestionEndsAtTheTimeLimit() throws {
        #expect(try probe("store", "s", "a", "passphrase", input: "x").status == 0)
        try portal.bus.makeQuestionsWait()
        try portal.bus.restartLocked()
        let result = try portal.run(
            builtExecutable("SecretServiceProbe"),
            ["entry", "s"],
            environment: ["PROBE_DESKTOP": "1", "PROBE_TIMEOUT": "700"]
        )
        #expect(result.stdout.hasPrefix("timedOut"), "\(result)")
    }
}

/// Which key store a program gets.
@Suite(.enabled(if: PrivatePortal.isAvailable, "needs bubblewrap and xdg-desktop-portal"))
struct DesktopKeyStoreTests {
    private func store(_ portal: PrivatePortal, backend: String = "") throws -> String {
        let result = try portal.run(
            builtExecutable("SecretServiceProbe"),
            ["kind"],
            environment: ["PROBE_DESKTOP": "1", "SECRET_BACKEND": backend]
        )
        return result.stdout
    }

    @Test func thePortalOnlyWhereTheServiceDoesNotAnswer() throws {
        #expect(try store(PrivatePortal()) == "PortalKeyStore\n")
        let both = try PrivatePortal(reachesSecretService: true)
        #expect(try store(both) == "SecretServiceKeyStore\n")
        #expect(try store(both, backend: "file") == "PortalKeyStore\n")
        // Keys that are in the portal's file stay reachable.
        try both.bus.folder.makeFolder("data/migrationkit")
        try both.bus.folder.write("data/migrationkit/portal-keys", [])
        #expect(try store(both) == "PortalKeyStore\n")
        #expect(try store(both, backend: "service") == "SecretServiceKeyStore\n")
    }

    @Test func outsideOfASandboxTheService() throws {
        let bus = try PrivateSecretService(.noDaemon)
        let probe = try builtExecutable("SecretServiceProbe")
        let desktop = ["PROBE_DESKTOP": "1"]
        #expect(
            try bus.run(probe, ["kind"], environment: desktop).stdout == "SecretServiceKeyStore\n"
        )
        // What the tests' own desktop lacks.
        let file = desktop.merging(["SECRET_BACKEND": "file"]) { $1 }
        let stored = try bus.run(
            probe,
            ["store", "s", "a", "passphrase"],
            input: "x",
            environment: file
        )
        #expect(stored.stdout.hasPrefix("noPortal"), "\(stored)")
    }
}
