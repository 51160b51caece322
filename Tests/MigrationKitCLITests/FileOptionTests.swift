import Foundation
import TestSupport
import Testing

/// Names that leave no room for those of temporary files, and the modes of new files.
@Suite struct FileOptionTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.folder.write("new", ToolFolder.randomDigits(count: 64).utf8)
        _ = try tool.shell("CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');")
    }

    private var newKey: [String] {
        ["--new-raw-key", "--new-password-file", tool.folder.path("new")]
    }

    // MARK: - Files that are There

    @Test func aScriptReplacesNoDatabaseNoKeyAndNoMigration() throws {
        try tool.write("0001_t", up: "CREATE TABLE u (a);")
        try tool.folder.write("words", "correct horse\n".utf8)
        let dump = ["schema-dump", "--migrations", tool.migrations, "--output"]
        let repair = ["repair", "--schema"] + tool.opening + dump.suffix(3)
        #expect(try tool.onStore("migrate").status == 0)
        let before = try tool.folder.snapshot()
        for command in [dump, repair] {
            for name in ["store.db", "password", "new", "words", "migrations/0001_t.sql"] {
                let result = try tool.run(command + [tool.folder.path(name), "--json"])
                #expect(result.status == 73, "\(name): \(result)")
                #expect(try result.jsonError()["code"] as? String == "cannotWrite")
            }
        }
        #expect(try tool.folder.snapshot() == before)

        for command in [dump, dump, repair, repair] {
            let result = try tool.run(command + [tool.folder.path("script.sql")])
            #expect(result.status == 0, "\(result)")
        }
    }

    // MARK: - Names

    /// What the names of the new file's journal have beyond the database's, of 255 bytes.
    private static let longest = 255 - ".-converting-0123456789abcdef-journal".utf8.count

    @Test(arguments: [longest + 1, 250, 300])
    func aNameThatLeavesNoRoomIsToldAsThat(_ count: Int) throws {
        let long = tool.folder.path(String(repeating: "n", count: count))
        let before = try tool.folder.snapshot()
        for arguments in [
            ["rekey", "--output", long] + newKey, ["rekey", "--keep-original", long] + newKey,
            ["backup", "--output", long], ["salvage", "--output", long],
        ] {
            let result = try tool.run(arguments + tool.opening + ["--json"])
            #expect(result.status == 73, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "nameTooLong")
            let message = try result.jsonError()["message"] as? String
            #expect(message?.hasSuffix("too long: at most \(Self.longest) bytes") == true)
        }
        #expect(try tool.folder.snapshot() == before)
    }

    @Test func theLongestNameThatThereIsRoomForIsTaken() throws {
        let long = tool.folder.path(String(repeating: "n", count: Self.longest))
        let original = tool.folder.path(String(repeating: "o", count: Self.longest))
        let opening = ["--password-file", tool.folder.path("password"), "--raw-key"]
        let copied = try tool.run(["backup"] + tool.opening + ["--output", long])
        #expect(copied.status == 0, "\(copied)")
        let rekeyed = try tool.run(
            ["rekey", "--db-path", long, "--keep-original", original] + opening + newKey
        )
        #expect(rekeyed.status == 0, "\(rekeyed)")
        let restored = try tool.run(
            ["restore", "--db-path", long, "--from", original, "--yes"] + opening
        )
        #expect(restored.status == 0, "\(restored)")
    }

    @Test func aDatabaseWhoseNameLeavesNoRoomIsToldAsThat() throws {
        let long = tool.folder.path(String(repeating: "n", count: 241))
        try FileManager.default.copyItem(atPath: tool.database, toPath: long)
        let opening = ["--db-path", long, "--password-file", tool.folder.path("password")]
        for arguments in [
            ["rekey"] + newKey, ["decrypt", "--yes"],
            ["restore", "--from", tool.database, "--yes"],
        ] {
            let result = try tool.run(arguments + opening + ["--raw-key", "--json"])
            #expect(result.status == 73, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "nameTooLong")
        }
        try tool.writeItems()
        let migrated = try tool.run(
            ["migrate", "--migrations", tool.migrations, "--raw-key"] + opening
        )
        #expect(migrated.status == 77, "\(migrated)")
        #expect(migrated.stderr.contains("file name is too long: at most 240 bytes"))
    }

    // MARK: - Modes

    @Test func rightsThatOthersHadAreToldWhenTheyAreTaken() throws {
        let database = tool.folder.path("rights.db")
        let opening = ["--db-path", database, "--password-file", tool.folder.path("password")]
        let backup = try tool.run(["backup"] + tool.opening + ["--output", database])
        #expect(backup.status == 0, "\(backup)")
        for (mode, text) in [(0o640, "0640"), (0o604, "0604"), (0o666, "0666")] {
            for arguments in [
                ["decrypt", "--yes"], ["encrypt"], ["restore", "--from", tool.database, "--yes"],
            ] {
                chmod(database, mode_t(mode))
                let result = try tool.run(arguments + opening + ["--raw-key", "--json"])
                #expect(result.status == 0, "\(result)")
                let notes = try #require(try result.json()["notes"] as? [String])
                let note = notes.first { $0.contains("mode changed from \(text) to 0600") }
                #expect(note?.hasSuffix("chmod \(text) \(database)") == true, "\(notes)")
                #expect(tool.folder.mode("rights.db") == 0o600)
            }
        }
        // Nothing is taken from anybody.
        chmod(tool.database, 0o600)
        let rekeyed = try tool.run(["rekey"] + tool.opening + newKey)
        #expect(rekeyed.status == 0 && !rekeyed.stderr.contains("mode"), "\(rekeyed)")
        chmod(database, 0o644)
        let output = try tool.run(
            ["rekey", "--output", tool.folder.path("n.db"), "--raw-key"] + opening + newKey
        )
        #expect(output.status == 0 && !output.stderr.contains("mode"), "\(output)")
        #expect(tool.folder.mode("rights.db") == 0o644)
    }
}
