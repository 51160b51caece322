import Foundation
import TestSupport
import Testing

/// Backups from before `key rotate`, which only the former key opens.
@Suite struct FormerKeyTests {
    private let database: RotatedDatabase
    private let backup: String
    /// The account of the former key's item.
    private let former: String

    init() throws {
        database = try RotatedDatabase()
        backup = database.tool.folder.path("backup.db")
        #expect(try database.run("backup", more: ["--output", backup]).status == 0)
        // Twice, so that there are several former keys.
        #expect(try database.run("key", "rotate").status == 0)
        former = try #require(try database.items(of: RotatedDatabase.previousService).first)
        #expect(try database.run("key", "rotate").status == 0)
    }

    private var formerItem: [String] {
        ["--keychain-service", RotatedDatabase.previousService, "--keychain-account", former]
    }

    /// Runs the command that a message ends with, as a shell does.
    private func runLastLine(of text: String) throws -> ProcessResult {
        let line = try #require(
            text.split(separator: "\n").last { $0.hasPrefix("    migrationkit") }
        )
        let command = line.trimmingPrefix("    migrationkit-cli")
        return try TestSupport.run(
            "/bin/sh",
            ["-c", "exec '\(builtExecutable("migrationkit-cli"))' \(command)"],
            environment: database.tool.environment,
            newSession: true
        )
    }

    /// Every key that there was is in an item still.
    private func expectNoKeyIsLost() throws {
        let keys = try database.items(of: RotatedDatabase.previousService).map {
            try database.key(service: RotatedDatabase.previousService, username: $0)
        }
        #expect(keys.count == 2)
        #expect(keys.contains(database.tool.password))
        #expect(try database.key() != nil)
    }

    @Test func restoreSaysWhichItemOpensTheBackupAndHow() throws {
        let before = try database.tool.folder.data("store.db")
        let refused = try database.run("restore", more: ["--from", backup, "--yes"])
        #expect(refused.status == 77, "\(refused)")
        #expect(refused.stderr.contains("'\(RotatedDatabase.previousService)'"))
        #expect(refused.stderr.contains("'\(former)'"))
        #expect(!refused.stderr.contains("salvage"))
        #expect(try database.tool.folder.data("store.db") == before)

        let restored = try runLastLine(of: refused.stderr + "\n")
        // A question is asked, as for any other.
        #expect(restored.status == 64, "\(restored)")
        let confirmed = try runLastLine(of: refused.stderr.trimmingSuffix("\n") + " --yes\n")
        #expect(confirmed.status == 0, "\(confirmed)")
        #expect(confirmed.stderr == "")
        #expect(try database.status().status == 0)
        try database.expectSettled()
        try expectNoKeyIsLost()
    }

    @Test func programsGetTheItemAsWell() throws {
        let refused = try database.run("restore", more: ["--from", backup, "--yes", "--json"])
        let error = try refused.jsonError()
        #expect(error["code"] as? String == "formerKey")
        #expect((error["hint"] as? String)?.contains(former) == true)
    }

    @Test func restoreWithTheFormerKeySaysHowTheNextCommandWorks() throws {
        let restored = try database.tool.run(
            ["restore", "--db-path", database.tool.database, "--from", backup, "--yes"] + formerItem
        )
        #expect(restored.status == 0, "\(restored)")
        #expect(restored.stderr.contains("note: the database has a former key now"))

        // The usual item says the same, until the note is followed.
        let status = try database.status()
        #expect(status.status == 77)
        #expect(status.stderr.contains("'\(former)'"), "\(status)")
        let changed = try runLastLine(of: restored.stderr)
        #expect(changed.status == 0, "\(changed)")
        #expect(try database.status().status == 0)
        try database.expectSettled()
        try expectNoKeyIsLost()
    }

    @Test func aKeyThatTheItemNeverHadIsAWrongKey() throws {
        let other = ToolFolder.randomDigits(count: 64)
        _ = try SQLCipherShell.run(
            database.tool.folder.path("other.db"),
            key: "x'\(other)'",
            "CREATE TABLE t (a);"
        )
        let refused = try database.run(
            "restore",
            more: ["--from", database.tool.folder.path("other.db"), "--yes", "--json"]
        )
        #expect(refused.status == 77)
        #expect(try refused.jsonError()["code"] as? String == "wrongKey")
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
