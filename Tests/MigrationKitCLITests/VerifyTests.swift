import Foundation
import TestSupport
import Testing

/// `verify --full` and `inspect` on files that a bad disk has got at.
@Suite struct VerifyTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        try tool.write(
            "0004_filler",
            up: """
                CREATE TABLE filler (a);
                WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)
                INSERT INTO filler SELECT randomblob(3500) FROM c;
                """
        )
        #expect(try tool.onStore("migrate").status == 0)
    }

    private func flip(_ offset: Int, of name: String = "store.db") throws {
        var data = try tool.folder.data(name)
        data[offset] ^= 1
        try tool.folder.write(name, data)
    }

    private func failedCheck() throws -> [String: Any] {
        let result = try tool.onStore("verify", "--full", "--json")
        #expect(result.status == 2, "\(result)")
        let document = try result.json()
        #expect(document["ok"] as? Bool == false)
        #expect(try result.jsonError()["code"] as? String == "verificationFailed")
        let checks = try #require(document["checks"] as? [[String: Any]])
        return try #require(checks.first { $0["ok"] as? Bool == false })
    }

    private func damage() throws -> [String: Any] {
        let result = try tool.run(["inspect", "--json"] + tool.opening)
        #expect(result.status == 74, "\(result)")
        return try #require(result.json()["damage"] as? [String: Any])
    }

    @Test func aFlippedBitInAPageIsToldByBoth() throws {
        let sound = try tool.folder.data("store.db")
        let count = sound.count / 4096
        for page in [1, count / 2, count] {
            try flip((page - 1) * 4096 + 100)
            let check = try failedCheck()
            #expect(check["name"] as? String == (page == 1 ? "open" : "cipher_integrity_check"))
            let findings = try #require(check["findings"] as? [[String: Any]])
            #expect(findings.map { $0["page"] as? Int } == [page])
            #expect(try damage()["pages"] as? [Int] == [page])
            let human = try tool.onStore("verify", "--full")
            #expect(human.stdout.contains("page \(page) is damaged\n"))
            #expect(human.stderr.contains("'migrationkit-cli restore'"))
            #expect(human.stderr.contains("'migrationkit-cli salvage'"))
            try tool.folder.write("store.db", sound)
        }
        #expect(try tool.onStore("verify", "--full").status == 0)
    }

    @Test func aDamagedPageLeadsToABackupAndToSalvage() throws {
        try flip(20 * 4096 + 100)
        try tool.write("0005_all", up: "UPDATE filler SET a = 1;")
        for (command, status) in [("verify", Int32(2)), ("migrate", 74)] {
            let result = try tool.onStore(command)
            #expect(result.status == status, "\(result)")
            #expect(result.stderr.contains("'migrationkit-cli restore'"), "\(result)")
            #expect(result.stderr.contains("'migrationkit-cli salvage'"), "\(result)")
        }
    }

    @Test func aFlippedBitInTheSaltIsToldByBoth() throws {
        try flip(3)
        let findings = try #require(failedCheck()["findings"] as? [[String: Any]])
        #expect((findings.first?["text"] as? String)?.contains("the salt") == true)
        #expect(try damage()["salt"] as? Bool == true)
    }

    @Test func aFlippedBitInTheSaltOfAPassphraseIsLikeAnotherKey() throws {
        let tool = try Tool()
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
        var data = try tool.folder.data("store.db")
        data[3] ^= 1
        try tool.folder.write("store.db", data)
        let verified = try tool.onStore("verify", "--full", "--json")
        #expect(verified.status == 77)
        #expect(try verified.jsonError()["code"] as? String == "wrongKey")
        let checks = try #require(verified.json()["checks"] as? [[String: Any]])
        #expect(checks.last?["name"] as? String == "open")
        #expect((checks.last?["note"] as? String)?.contains("salt") == true)
        let inspected = try tool.run(["inspect"] + tool.opening)
        #expect(inspected.status == 77)
        #expect(inspected.stdout.contains("or a damaged salt\n"))
        #expect(inspected.stderr.contains("'migrationkit-cli salvage' searches for a flipped bit"))
        let hint = try verified.jsonError()["hint"] as? String
        #expect(hint?.contains("'migrationkit-cli salvage' searches for a flipped bit") == true)
    }

    @Test(arguments: [4096, 5000])
    func aFileThatWasCutShortIsToldByBoth(cut: Int) throws {
        try tool.folder.write("store.db", tool.folder.data("store.db").dropLast(cut))
        let check = try failedCheck()
        #expect(check["name"] as? String == "open")
        let findings = try #require(check["findings"] as? [[String: Any]])
        #expect(findings.contains { ($0["text"] as? String)?.contains("cut short") == true })
        #expect(try damage()["missingPages"] as? Int == (cut + 4095) / 4096)
    }

    @Test func aFlippedBitInTheLogIsToldByBothAndTheLogKept() throws {
        // As a killed process leaves them.
        _ = try tool.shell(
            """
            PRAGMA journal_mode = WAL;
            INSERT INTO item VALUES (2); INSERT INTO item VALUES (3);
            .shell cp '\(tool.database)' '\(tool.folder.path("copy.db"))'
            .shell cp '\(tool.database)-wal' '\(tool.folder.path("copy.db-wal"))'
            """
        )
        for suffix in ["", "-wal"] {
            let bytes = try tool.folder.data("copy.db\(suffix)")
            try tool.folder.write("store.db\(suffix)", bytes)
        }
        try flip(32 + 24 + 100, of: "store.db-wal")
        let log = try tool.folder.data("store.db-wal")
        #expect(try damage()["logFrame"] as? Int == 1)
        #expect(try failedCheck()["name"] as? String == "write_ahead_log")
        #expect(try failedCheck()["name"] as? String == "write_ahead_log")
        #expect(try tool.folder.data("store.db-wal") == log)
        #expect(!(try tool.folder.names.contains("store.db-shm")))
    }

    /// One rule for every database, and a way to accept the files' group.
    @Test func filesThatOthersCanReadAreFound() throws {
        let plain = tool.folder.path("plain.db")
        _ = try SQLCipherShell.run(plain, key: nil, "CREATE TABLE t(a);")
        let folder = ["--migrations", tool.migrations]
        for opening in [tool.opening, ["--db-path", plain, "--no-encryption"]] {
            for (mode, status, allowed) in [(0o640, 2, 0), (0o660, 2, 0), (0o644, 2, 2)] {
                chmod(opening[1], mode_t(mode))
                let verify = ["verify", "--full"] + opening + folder
                let result = try tool.run(verify)
                #expect(result.status == Int32(status), "\(result)")
                #expect(result.stdout.contains("by others (mode 0\(String(mode, radix: 8)))"))
                let accepted = try tool.run(verify + ["--allow-group"])
                #expect(accepted.status == Int32(allowed), "\(accepted)")
            }
        }
        let misplaced = try tool.onStore("verify", "--allow-group")
        #expect(misplaced.status == 64)
    }

    @Test func aPlaintextDatabaseIsVerifiedToo() throws {
        _ = try SQLCipherShell.run(tool.folder.path("plain.db"), key: nil, "CREATE TABLE t(a);")
        chmod(tool.folder.path("plain.db"), 0o600)
        let arguments = ["verify", "--full", "--db-path", tool.folder.path("plain.db")]
        let result = try tool.run(
            arguments + ["--no-encryption", "--migrations", tool.migrations]
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("(0 applied, 4 pending)\n"))
        #expect(try tool.folder.names.contains("plain.db-journal") == false)
    }

    /// SQLite's own check doesn't look for entries without a row in a partial index.
    @Test func indexesAreComparedUnlessSQLiteIsAskedFor() throws {
        _ = try tool.shell(
            """
            .dbconfig defensive off
            CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT);
            CREATE INDEX thing_name ON thing (name) WHERE id > 0;
            INSERT INTO thing (name) VALUES ('zettel'), ('zettel'), ('other');
            CREATE TEMP TABLE hidden AS SELECT * FROM sqlite_schema WHERE name = 'thing_name';
            PRAGMA writable_schema = ON;
            DELETE FROM sqlite_schema WHERE name = 'thing_name';
            PRAGMA writable_schema = RESET;
            DELETE FROM thing WHERE id = 2;
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_schema SELECT * FROM hidden;
            """
        )
        let found = try tool.onStore("verify", "--full", "--ignore-table", "thing")
        #expect(found.status == 2, "\(found)")
        #expect(found.stdout.contains("the index 'thing_name' has 3 entries for 2 rows"))
        #expect(!found.stdout.contains("zettel"))
        let bySQLite = try tool.onStore("verify", "--full", "--sqlite", "--ignore-table", "thing")
        #expect(bySQLite.status == 0, "\(bySQLite)")
        let misplaced = try tool.onStore("verify", "--sqlite")
        #expect(misplaced.status == 64)
        #expect(misplaced.stderr.contains("--sqlite needs --full"))
    }
}
