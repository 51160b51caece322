import Foundation
import TestSupport
import Testing

/// `restore` of a backup from before `key rotate`, with what `--former-key` says and with a question.
@Suite struct FormerKeyRestoreTests {
    private let database: RotatedDatabase
    private let backup: String

    init() throws {
        database = try RotatedDatabase()
        backup = database.tool.folder.path("backup.db")
        #expect(try database.run("backup", more: ["--output", backup]).status == 0)
        #expect(try database.run("key", "rotate").status == 0)
    }

    private func restore(_ more: String...) throws -> ProcessResult {
        try database.run("restore", more: ["--from", backup, "--yes"] + more)
    }

    /// The keys of the former items.
    private func formerKeys() throws -> Set<String> {
        Set(
            try database.items(of: RotatedDatabase.previousService).compactMap {
                try database.key(service: RotatedDatabase.previousService, username: $0)
            }
        )
    }

    @Test func restoredDatabaseGetsTheCurrentKey() throws {
        let current = try #require(try database.key())
        let result = try restore("--former-key", "rekey", "--json")
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["formerKey"] as? String == "rekey")
        #expect(try result.json()["notes"] as? [String] == [])
        #expect(try database.key() == current)
        #expect(try formerKeys() == [database.tool.password])
        try database.expectSettled()
        #expect(try database.status().status == 0)
        #expect(try database.launch().status == 0)
    }

    @Test func missingAndDamagedDatabasesAreRestored() throws {
        for isMissing in [false, true] {
            let current = try database.key()
            if isMissing {
                try FileManager.default.removeItem(atPath: database.tool.database)
            } else {
                try database.tool.folder.write(
                    "store.db",
                    (0..<8192).map { _ in UInt8.random(in: 1...255) }
                )
            }
            let result = try restore("--former-key", "rekey")
            #expect(result.status == 0, "\(result)")
            try database.expectSettled()
            #expect(try database.key() == current)
        }
    }

    @Test func terminalIsAsked() throws {
        for (answer, status) in [("n\n", 77), ("y\n", 0)] as [(String, Int32)] {
            let before = try database.tool.folder.data("store.db")
            let terminal = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                ["restore", "--from", backup, "--yes"] + database.opening,
                environment: database.tool.environment
            )
            #expect(terminal.wait(for: "give the database the item's current key? [y/N] "))
            terminal.type(answer.utf8)
            let result = terminal.finish()
            #expect(result.status == status, "\(result)")
            #expect(try (database.tool.folder.data("store.db") == before) == (status != 0))
        }
        try database.expectSettled()
    }

    @Test func optionThatIsNotNeededChangesNothing() throws {
        let current = try database.key()
        let newer = database.tool.folder.path("newer.db")
        #expect(try database.run("backup", more: ["--output", newer]).status == 0)
        let result = try database.run(
            "restore",
            more: ["--from", newer, "--yes", "--former-key", "rekey", "--json"]
        )
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["formerKey"] == nil)
        #expect(try database.key() == current)
        try database.expectSettled()
    }

    @Test func newKeyAndFormerKeyContradictEachOther() throws {
        let file = database.tool.folder.path("password")
        let result = try restore("--former-key", "rekey", "--new-password-file", file)
        #expect(result.status == 64)
    }

    @Test func busyDatabaseLeavesFileAndItemAsTheyWere() throws {
        let current = try #require(try database.key())
        let holder = try LockHolder(database.tool.database, key: "x'\(current)'")
        let result = try restore("--former-key", "rekey", "--lock-timeout", "0.2", "--json")
        try holder.release()
        #expect(result.status == 75, "\(result)")
        #expect(try database.key() == current)
        try database.expectSettled()
    }
}
