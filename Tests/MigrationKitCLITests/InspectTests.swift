import Foundation
import TestSupport
import Testing

@Suite struct InspectTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    @Test func inspectTellsWhatIsInAStore() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let before = try tool.folder.snapshot()
        let human = try tool.run(["inspect", "--tables"] + tool.opening)
        #expect(human.status == 0, "\(human)")
        #expect(human.stderr.isEmpty)
        #expect(human.stdout.contains("SQLCipher 4\n"))
        #expect(human.stdout.contains("3 applied, latest 0003_tags\n"))
        #expect(human.stdout.contains("\n1     item\n"))
        for line in human.stdout.split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
        let json = try tool.run(["inspect", "--tables", "--json"] + tool.opening).json()
        #expect(json["schemaVersion"] as? Int == 1)
        #expect(json["kind"] as? String == "encrypted")
        #expect(json["key"] as? String == "opens")
        #expect(json["cipherCompatibility"] as? Int == 4)
        #expect(json["pageSize"] as? Int == 4096)
        #expect((json["ledger"] as? [String: Any])?["applied"] as? Int == 3)
        #expect((json["tables"] as? [[String: Any]])?.count == 4)
        #expect(json["damage"] == nil)
        #expect(try tool.folder.snapshot() == before)
    }

    @Test func inspectNeedsNoKey() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let result = try tool.run("inspect", tool.database, "--json")
        #expect(result.status == 0, "\(result)")
        let json = try result.json()
        #expect(json["kind"] as? String == "encrypted")
        #expect(json["key"] as? String == "notGiven")
        #expect((json["salt"] as? String)?.count == 32)
        #expect(json["mode"] as? String == "0600")
        let human = try tool.run("inspect", tool.database)
        #expect(human.status == 0)
        #expect(human.stdout.contains("encrypted, or not a database"))
    }

    @Test func plaintextAndEmptyFilesAreToldWithoutAnError() throws {
        _ = try SQLCipherShell.run(tool.database, key: nil, "CREATE TABLE t(a);")
        for arguments in [tool.opening, ["--db-path", tool.database, "--no-encryption"]] {
            let result = try tool.run(["inspect", "--json"] + arguments)
            #expect(result.status == 0, "\(result)")
            #expect(try result.json()["kind"] as? String == "plaintext")
        }
        try tool.folder.write("store.db", Data())
        let empty = try tool.run(["inspect", "--json"] + tool.opening)
        #expect(empty.status == 0)
        #expect(try empty.json()["kind"] as? String == "empty")
    }

    @Test func aWrongKeyDamageAndNoFileHaveExitCodesOfTheirOwn() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let other = try Tool(isRawKey: true)
        let wrong = try tool.run(
            "inspect",
            tool.database,
            "--json",
            "--raw-key",
            "--password-file",
            other.folder.path("password")
        )
        #expect(wrong.status == 77)
        #expect(try wrong.json()["key"] as? String == "wrong")
        #expect(try wrong.jsonError()["code"] as? String == "wrongKey")

        var data = try tool.folder.data("store.db")
        data[4096 + 77] ^= 1
        try tool.folder.write("store.db", data)
        let damaged = try tool.run(["inspect", "--json"] + tool.opening)
        #expect(damaged.status == 74)
        let damage = try #require(try damaged.json()["damage"] as? [String: Any])
        #expect(damage["pages"] as? [Int] == [2])
        #expect(try damaged.jsonError()["code"] as? String == "damaged")
        #expect(try tool.run(["inspect"] + tool.opening).stdout.contains("page 2\n"))

        #expect(try tool.run("inspect", tool.folder.path("none.db")).status == 66)
        #expect(try tool.run("inspect", tool.folder.path).status == 66)
    }

    @Test(arguments: [3, 2, 1])
    func anOlderFormatIsNamedAndMigratedOnRequest(version: Int) throws {
        let tool = try Tool()
        try tool.writeItems()
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.password,
            compatibility: version,
            "CREATE TABLE t(a);"
        )
        let json = try tool.run(["inspect", "--json"] + tool.opening).json()
        #expect(json["cipherCompatibility"] as? Int == version)

        let refused = try tool.onStore("migrate")
        #expect(refused.status == 77)
        #expect(refused.stderr.contains("--cipher-compatibility \(version)"))
        #expect(refused.stderr.contains("migrationkit-cli upgrade"))

        let migrated = try tool.onStore("migrate", "--cipher-compatibility", "\(version)")
        #expect(migrated.status == 0, "\(migrated)")
        let rows = try SQLCipherShell.run(
            tool.database,
            key: tool.password,
            compatibility: version,
            "SELECT count(*) FROM item;"
        )
        #expect(rows == "1")
    }

    @Test func settingsOfItsOwnAreSaidByOptions() throws {
        let tool = try Tool()
        try tool.writeItems()
        let options = [
            "--cipher-page-size", "8192", "--kdf-iterations", "1000",
            "--kdf-algorithm", "sha256", "--hmac-algorithm", "sha1",
        ]
        let made = try tool.run(
            ["migrate"] + tool.opening + ["--migrations", tool.migrations] + options
        )
        #expect(made.status == 0, "\(made)")
        let rows = try tool.shell(
            """
            PRAGMA cipher_page_size = 8192; PRAGMA kdf_iter = 1000;
            PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_SHA256;
            PRAGMA cipher_hmac_algorithm = HMAC_SHA1;
            SELECT count(*) FROM item;
            """
        )
        #expect(rows == "1")
        let json = try tool.run(["inspect", "--json"] + tool.opening + options).json()
        let cipher = try #require(json["cipher"] as? [String: Any])
        #expect(cipher["pageSize"] as? Int == 8192)
        #expect(cipher["kdfIterations"] as? Int == 1000)
        #expect(try tool.onStore("status").status == 77)
    }
}
