import Foundation
import TestSupport
import Testing

/// Stores as apps for Apple's systems make them, made by the `sqlcipher` shell: the first bytes are
/// plaintext, and the salt is elsewhere.
@Suite struct PlaintextHeaderCommandTests {
    private let tool: Tool
    private let salt = ToolFolder.randomDigits(count: 32)
    private var spelled: String { "x'\(tool.password)'" }
    private var saltOption: [String] { ["--cipher-salt", salt] }

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        _ = try shell(
            """
            CREATE TABLE note (body); INSERT INTO note VALUES ('zettel');
            CREATE TABLE filler (a); INSERT INTO filler VALUES (randomblob(20000));
            """
        )
    }

    private func shell(
        _ sql: String,
        in name: String = "store.db",
        key: String? = nil,
        salt: String? = nil,
        size: Int = 32
    ) throws -> String {
        try SQLCipherShell.run(
            tool.folder.path(name),
            key: key ?? spelled,
            """
            PRAGMA cipher_plaintext_header_size = \(size);
            PRAGMA cipher_salt = "x'\(salt ?? self.salt)'";

            """ + sql
        )
    }

    private func run(_ command: String, _ arguments: [String]) throws -> ProcessResult {
        try tool.run([command] + tool.opening + arguments)
    }

    private func expectError(
        _ result: ProcessResult,
        _ code: String,
        status: Int32 = 77,
        says text: String = "",
        at location: SourceLocation = #_sourceLocation
    ) throws {
        #expect(result.status == status, "\(result)", sourceLocation: location)
        let error = try result.jsonError()
        #expect(error["code"] as? String == code, "\(result)", sourceLocation: location)
        #expect(
            text.isEmpty || result.stderr.contains(text),
            "\(result)",
            sourceLocation: location
        )
    }

    // MARK: - Telling Apart

    @Test func storeIsToldFromADamagedOne() throws {
        let before = try tool.folder.data("store.db")
        let looked = try tool.run("inspect", tool.database)
        #expect(looked.status == 0)
        #expect(looked.stdout.contains("encrypted after a plaintext header"), "\(looked)")
        #expect(!looked.description.contains("amage"))
        let json = try tool.run("inspect", "--json", tool.database).json()
        #expect(json["plaintextHeader"] as? Bool == true)
        #expect(json["salt"] == nil)
        #expect(json["damage"] == nil)

        for command in ["inspect", "status", "migrate", "verify", "rekey", "decrypt", "salvage"] {
            let more: [String]
            switch command {
            case "status", "migrate", "verify": more = ["--migrations", tool.migrations]
            case "rekey": more = ["--new-password-file", tool.folder.path("password")]
            case "decrypt": more = ["--yes"]
            case "salvage": more = ["--output", tool.folder.path("other.db")]
            default: more = []
            }
            try expectError(
                run(command, more + ["--json"]),
                "plaintextHeader",
                says: "--cipher-salt <digits>"
            )
        }
        let plain = ["--db-path", tool.database, "--no-encryption", "--json"]
        try expectError(
            tool.run(["status", "--migrations", tool.migrations] + plain),
            "plaintextHeader"
        )
        #expect(try tool.folder.data("store.db") == before)
    }

    @Test func wrongSaltMissingSaltAndWrongSizeAreTold() throws {
        let other = ["--cipher-salt", ToolFolder.randomDigits(count: 32)]
        for command in ["inspect", "tables"] {
            try expectError(run(command, other + ["--json"]), "wrongKey", says: "the salt")
        }
        let size = "--cipher-plaintext-header-size"
        try expectError(
            run("tables", [size, "32", "--json"]),
            "unknownCipherSettings",
            status: 64,
            says: "96 hexadecimal digits"
        )
        try expectError(
            run("tables", saltOption + [size, "64", "--json"]),
            "plaintextHeader",
            says: "Add --cipher-plaintext-header-size 32."
        )
        let found = try run("inspect", saltOption + [size, "64"])
        #expect(found.status == 0)
        #expect(found.stdout.contains("Options"), "\(found)")
        for value in ["0", "33", "112"] {
            #expect(try run("tables", saltOption + [size, value]).status == 64)
        }
        for digits in ["", "abc", String(salt.dropLast()) + "g", salt + "00"] {
            #expect(try run("tables", ["--cipher-salt", digits]).status == 64)
        }
        let ordinary = tool.folder.path("ordinary.db")
        _ = try SQLCipherShell.run(ordinary, key: spelled, "CREATE TABLE t (a);")
        try expectError(
            tool.run(
                [
                    "query", "--db-path", ordinary, "--password-file", tool.folder.path("password"),
                    "--raw-key", "--json", "SELECT 1",
                ] + saltOption
            ),
            "plaintextHeader",
            says: "has no plaintext header"
        )
    }

    // MARK: - Every Command

    @Test func commandsWorkWithTheSalt() throws {
        let migrations = ["--migrations", tool.migrations] + saltOption
        #expect(try run("status", migrations).status == 0)
        let migrated = try run("migrate", migrations + ["--backup", tool.folder.path("before.db")])
        #expect(migrated.status == 0, "\(migrated)")
        for name in ["before.db", "store.db"] {
            #expect(try shell("SELECT body FROM note;", in: name) == "zettel")
            #expect(
                try shell("PRAGMA cipher_integrity_check; PRAGMA quick_check;", in: name) == "ok"
            )
        }
        #expect(try shell("SELECT count(*) FROM item;") == "1")
        let verified = try run(
            "verify",
            migrations + ["--full", "--ignore-table", "note", "--ignore-table", "filler"]
        )
        #expect(verified.stdout.contains("ok      cipher_integrity_check"), "\(verified)")
        #expect(verified.stdout.contains("ok      integrity_check"), "\(verified)")
        for (command, arguments) in [
            ("rollback", migrations + ["--yes"]), ("history", saltOption), ("tables", saltOption),
            ("query", saltOption + ["SELECT * FROM note"]), ("schema-dump", saltOption),
        ] {
            let result = try run(command, arguments)
            #expect(result.status == 0, "\(command): \(result)")
        }
        let checked = try tool.run(["key", "check"] + tool.opening + saltOption)
        #expect(checked.stdout.contains("a plaintext header of 32 bytes"), "\(checked)")
    }

    @Test func newStoreIsMadeWithHeader() throws {
        let path = tool.folder.path("new.db")
        let made = try tool.run(
            [
                "migrate", "--db-path", path, "--password-file", tool.folder.path("password"),
                "--raw-key", "--migrations", tool.migrations,
            ] + saltOption
        )
        #expect(made.status == 0, "\(made)")
        #expect(try shell("SELECT count(*) FROM item;", in: "new.db") == "1")
    }

    @Test func rawKeyMayContainTheSalt() throws {
        try tool.folder.write("password", (tool.password + salt).utf8)
        try expectError(run("tables", ["--json"]), "plaintextHeader")
        let size = ["--cipher-plaintext-header-size", "32"]
        #expect(try run("query", size + ["SELECT * FROM note"]).stdout.contains("zettel"))
        #expect(try run("inspect", size).status == 0)

        // The new key doesn't contain it.
        let new = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("new", new.utf8)
        let result = try run(
            "rekey",
            size + ["--new-password-file", tool.folder.path("new"), "--new-raw-key"]
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr.contains("--cipher-salt \(salt)"), "\(result)")
        #expect(try shell("SELECT body FROM note;", key: "x'\(new)'") == "zettel")
    }

    @Test func rewritingKeepsAndChangesTheHeader() throws {
        let folder = tool.folder
        let new = ToolFolder.randomDigits(count: 64)
        try folder.write("new", new.utf8)
        let newKey = ["--new-password-file", folder.path("new"), "--new-raw-key"]
        let rekeyed = try run("rekey", saltOption + newKey)
        #expect(rekeyed.status == 0, "\(rekeyed)")
        #expect(try shell("SELECT body FROM note;", key: "x'\(new)'") == "zettel")
        try folder.write("password", new.utf8)

        let backup = folder.path("backup.db")
        #expect(try run("backup", saltOption + ["--output", backup]).status == 0)
        #expect(try shell("SELECT body FROM note;", in: "backup.db", key: "x'\(new)'") == "zettel")
        let restored = try run("restore", saltOption + ["--from", backup, "--yes"])
        #expect(restored.status == 0, "\(restored)")
        #expect(try shell("SELECT body FROM note;", key: "x'\(new)'") == "zettel")
        let upgraded = try run("upgrade", saltOption + ["--json"])
        #expect(try upgraded.jsonError()["code"] as? String == "alreadyCurrent")

        let gone = try run(
            "rekey",
            saltOption + newKey + ["--new-cipher-plaintext-header-size", "0"]
        )
        #expect(gone.status == 0, "\(gone)")
        #expect(
            try SQLCipherShell.run(tool.database, key: "x'\(new)'", "SELECT body FROM note;")
                == "zettel"
        )
        let refused = try run(
            "rekey",
            newKey + ["--new-cipher-plaintext-header-size", "32", "--json"]
        )
        try expectError(refused, "unknownCipherSettings", status: 64)
        let other = ToolFolder.randomDigits(count: 32)
        let back = try run(
            "rekey",
            newKey + ["--new-cipher-plaintext-header-size", "48", "--new-cipher-salt", other]
        )
        #expect(back.status == 0, "\(back)")
        #expect(
            try shell("SELECT body FROM note;", key: "x'\(new)'", salt: other, size: 48) == "zettel"
        )

        let header = ["--cipher-salt", other, "--cipher-plaintext-header-size", "48"]
        #expect(try run("decrypt", header + ["--yes"]).status == 0)
        #expect(try SQLiteShell.run(tool.database, "SELECT body FROM note;") == "zettel\n")
        #expect(try run("encrypt", header).status == 0)
        #expect(
            try shell("SELECT body FROM note;", key: "x'\(new)'", salt: other, size: 48) == "zettel"
        )
    }

    @Test func damagedStoreIsSalvaged() throws {
        var data = try tool.folder.data("store.db")
        let last = data.count - 2000
        data[last] ^= 1
        try tool.folder.write("store.db", data)
        let damaged = try run("inspect", saltOption + ["--json"])
        #expect(damaged.status == 74)
        let output = tool.folder.path("salvaged.db")
        let salvaged = try run("salvage", saltOption + ["--output", output])
        #expect(salvaged.status == 2, "\(salvaged)")
        #expect(try shell("SELECT body FROM note;", in: "salvaged.db") == "zettel")
    }
}
