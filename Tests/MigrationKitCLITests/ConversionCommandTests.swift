import Foundation
import TestSupport
import Testing

@Suite struct ConversionCommandTests {
    private let tool: Tool
    private let newKey: String

    init() throws {
        tool = try Tool(isRawKey: true)
        newKey = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("new", newKey.utf8)
    }

    private func makePlaintext(_ path: String? = nil) throws {
        _ = try SQLiteShell.run(
            path ?? tool.database,
            "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
        )
    }

    private func makeEncrypted() throws {
        _ = try tool.shell("CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');")
    }

    private func row(key: String?) throws -> String {
        try SQLCipherShell.run(tool.database, key: key, "SELECT a FROM t;")
    }

    private var spelled: String { "x'\(tool.password)'" }

    private func run(_ arguments: String...) throws -> ProcessResult {
        try tool.run([arguments[0]] + tool.opening + arguments.dropFirst())
    }

    // MARK: - What They Do

    @Test func encryptGivesTheKeyAndIsHonestAboutTheOldText() throws {
        try makePlaintext()
        let result = try run("encrypt")
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.hasPrefix("Encrypted \(tool.database): 1 table with 1 row, "))
        #expect(result.stderr.hasPrefix("note: backups and snapshots of the database are still"))
        #expect(result.stderr.contains("free but not overwritten"))
        #expect(try row(key: spelled) == "zettel")

        let again = try run("encrypt", "--json")
        #expect(again.status == 77)
        #expect(try again.jsonError()["code"] as? String == "notPlaintext")
    }

    @Test func otherNameOfTheOldFileIsTold() throws {
        try makePlaintext()
        let other = tool.folder.path("other.db")
        try FileManager.default.linkItem(atPath: tool.database, toPath: other)
        let result = try run("encrypt", "--json")
        #expect(result.status == 0, "\(result)")
        let notes = try #require(try result.json()["notes"] as? [String])
        #expect(notes.first?.contains("still plaintext") == true)
        #expect(notes.last?.contains("under 1 other name (a hard link)") == true)
        #expect(try SQLiteShell.run(other, "SELECT a FROM t;") == "zettel\n")
    }

    @Test(arguments: ["-wal", "-shm", "-journal", "-migration.lock"])
    func aNewFileCanNotHaveTheNameOfAFileBesideADatabase(_ suffix: String) throws {
        try makeEncrypted()
        let before = try tool.folder.data("store.db")
        let new = ["--new-password-file", tool.folder.path("new"), "--new-raw-key"]
        for option in ["--output", "--keep-original"] {
            let arguments = tool.opening + new + [option, tool.database + suffix, "--json"]
            let result = try tool.run(["rekey"] + arguments)
            #expect(result.status == 73, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "reservedName")
        }
        #expect(try tool.folder.data("store.db") == before)
    }

    /// The next command on the neighbour would delete it.
    @Test(arguments: ["-wal", "-shm", "-journal", "-migration.lock", "-launch.lock"])
    func noCommandMakesAFileWithTheNameOfANeighboursJournal(_ suffix: String) throws {
        try makeEncrypted()
        try tool.write("0001_more", up: "CREATE TABLE more (a);")
        try tool.folder.write("schema.sql", "CREATE TABLE u (a);".utf8)
        let key =
            ["--password-file", tool.folder.path("password")]
            + (tool.own.isRawKey ? ["--raw-key"] : [])
        let (folder, new) = (
            ["--migrations", tool.migrations], tool.folder.path("other.db") + suffix
        )
        let backup = tool.folder.path("backup.db")
        #expect(try tool.run(["backup", "--output", backup] + tool.opening).status == 0)
        let before = try tool.folder.snapshot()
        for arguments in [
            ["migrate", "--backup", new] + tool.opening + folder,
            ["migrate", "--db-path", new] + key + folder,
            ["schema-load", tool.folder.path("schema.sql"), "--db-path", new] + key + folder,
            ["restore", "--db-path", new, "--from", backup] + key,
            ["backup", "--output", new] + tool.opening,
            ["salvage", "--output", new] + tool.opening,
            ["schema-dump", "--output", new] + folder,
        ] {
            let result = try tool.run(arguments + ["--json"])
            #expect(result.status == 73, "\(arguments): \(result)")
            #expect(try result.jsonError()["code"] as? String == "reservedName")
        }
        #expect(try tool.folder.snapshot() == before)
    }

    @Test(arguments: ["-wal", "-journal"])
    func whatIsLeftOfAnotherDatabaseIsLeftAlone(_ suffix: String) throws {
        try makeEncrypted()
        let rest = "new.db\(suffix)"
        try tool.folder.write(rest, "all that is left".utf8)
        let output = tool.folder.path("new.db")
        for command in ["backup", "salvage", "decrypt"] {
            let yes = command == "decrypt" ? ["--yes"] : []
            let result = try tool.run(
                [command] + tool.opening + yes + ["--output", output, "--json"]
            )
            #expect(result.status == 73, "\(command): \(result)")
            #expect(try result.jsonError()["code"] as? String == "exists")
        }
        #expect(try tool.folder.data(rest) == Data("all that is left".utf8))
        #expect(!(try tool.folder.names.contains("new.db")))
    }

    @Test func rekeySaysWhatStillHasTheOldKey() throws {
        try makeEncrypted()
        for (named, isNoted) in [("password", true), ("new", false)] {
            try tool.folder.write(
                "settings.toml",
                "db-path = 'store.db'\npassword-file = '\(named)'\n".utf8
            )
            let arguments = [
                "rekey", "--new-password-file", tool.folder.path("new"), "--new-raw-key",
                "--config", tool.folder.path("settings.toml"),
            ]
            let copied = try tool.run(
                arguments + tool.opening + ["--output", tool.folder.path("\(named).db")]
            )
            #expect(copied.status == 0 && copied.stderr.isEmpty, "\(copied)")
            let result = try tool.run(arguments + tool.opening)
            #expect(result.status == 0, "\(result)")
            #expect(result.stderr.contains("note: backups still have the old key"), "\(result)")
            #expect(result.stderr.contains("Recovery copies have the old key"), "\(result)")
            #expect(
                result.stderr.contains("settings.toml names another key than the new one")
                    == isNoted,
                "\(result)"
            )
            try FileManager.default.removeItem(atPath: tool.database)
            try makeEncrypted()
        }
    }

    @Test func upgradeFindsTheOldFormat() throws {
        _ = try SQLCipherShell.run(
            tool.database,
            key: spelled,
            compatibility: 3,
            "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
        )
        let before = try tool.folder.snapshot()
        let preview = try run("upgrade", "--dry-run")
        #expect(preview.status == 0, "\(preview)")
        #expect(preview.stdout.contains("from 1024-byte pages, PBKDF2-HMAC-SHA1 64000 times"))
        #expect(try tool.folder.snapshot() == before)
        let result = try run("upgrade")
        #expect(result.status == 0, "\(result)")
        #expect(try row(key: spelled) == "zettel")
        let again = try run("upgrade", "--json")
        #expect(again.status == 64)
        #expect(try again.jsonError()["code"] as? String == "alreadyCurrent")
    }

    @Test func outputAndOriginalGoWhereTheyAreTold() throws {
        try makePlaintext()
        let before = try tool.folder.data("store.db")
        #expect(try run("encrypt", "--output", tool.folder.path("out.db")).status == 0)
        #expect(try tool.folder.data("store.db") == before)
        #expect(try run("encrypt", "--keep-original", tool.folder.path("old.db")).status == 0)
        #expect(try tool.folder.data("old.db") == before)
        #expect(try row(key: spelled) == "zettel")
        #expect(
            try tool.folder.names
                == ["migrations", "new", "old.db", "out.db", "password", "store.db"]
        )
        let refused = try run("decrypt", "--yes", "--output", tool.folder.path("old.db"), "--json")
        #expect(refused.status == 73)
        #expect(try refused.jsonError()["code"] as? String == "exists")
    }
}
