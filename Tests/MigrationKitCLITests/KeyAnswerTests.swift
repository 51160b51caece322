import Foundation
import TestSupport
import Testing

/// What each command answers to "does this key open this file?".
@Suite struct KeyAnswerTests {
    /// A file, and what the commands say of it.
    struct Row: CustomTestStringConvertible {
        let name: String
        var isRawKey = true
        var version: Int?
        var pragmas = ""
        var options: [String] = []
        /// The key that is given, if it isn't the file's.
        var otherKey = false
        var change: @Sendable (inout Data) -> Void = { _ in }
        let answers: String

        var testDescription: String { name }
    }

    @Test(arguments: rows)
    func allGiveTheirAnswer(_ row: Row) throws {
        let tool = try Tool.withoutSecretStore(isRawKey: row.isRawKey)
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.shellKey,
            compatibility: row.version,
            row.pragmas + """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
                INSERT INTO t(a) SELECT hex(randomblob(100)) FROM n;
                """
        )
        var data = try tool.folder.data("store.db")
        row.change(&data)
        try tool.folder.write("store.db", data)
        if row.otherKey {
            let other = row.isRawKey ? ToolFolder.randomDigits(count: 64) : "another"
            try tool.folder.write("password", other.utf8)
        }
        let answers = try answers(tool, row.options)
        #expect(answers == row.answers, "\(row.name): \(answers)")
    }

    private func answers(_ tool: Tool, _ options: [String]) throws -> String {
        func run(_ words: [String]) throws -> ProcessResult {
            try tool.run(words + tool.opening + options)
        }
        func code(_ result: ProcessResult) throws -> String {
            result.status == 0 ? "ok" : try result.jsonError()["code"] as? String ?? "\(result)"
        }
        let inspected = try run(["inspect", "--json"])
        let report = try inspected.json()
        let damage = report["damage"] as? [String: Any]
        let inspection = [
            report["key"] as? String, damage?["salt"] as? Bool == true ? "salt" : nil,
            damage.map { _ in "damaged" },
        ]
        let found = try tool.run(
            ["key", "find", "--db-path", tool.database, "--json"]
                + ["--key-file", tool.folder.path("password")] + options
        )
        let rescued = try run(["salvage", "--json", "-o", tool.folder.path("rescued.db")])
        return [
            try code(try run(["query", "--format=json", "SELECT 1 FROM t LIMIT 1"])),
            inspection.compactMap(\.self).joined(separator: "+"),
            try code(try run(["key", "check", "--json"])),
            try code(found),
            try code(rescued),
        ].joined(separator: " | ")
    }
}

extension KeyAnswerTests {
    private static func overwrite(_ data: inout Data, _ range: Range<Int>) {
        data.replaceSubrange(range, with: range.map { _ in UInt8.random(in: .min ... .max) })
    }

    private static let headerPragmas = """
        PRAGMA cipher_plaintext_header_size = 32;
        PRAGMA cipher_salt = "x'\(String(repeating: "a5", count: 16))'";

        """

    /// - Parameter salt: Two digits, which are repeated.
    private static func headerOptions(salt: String) -> [String] {
        ["--cipher-plaintext-header-size", "32"]
            + ["--cipher-salt", String(repeating: salt, count: 16)]
    }

    //        open | inspect | key check | key find | salvage
    static let rows: [Row] = [
        Row(name: "sound", answers: "ok | opens | ok | ok | ok"),
        Row(name: "sound, passphrase", isRawKey: false, answers: "ok | opens | ok | ok | ok"),
        Row(name: "version 3", version: 3, answers: "olderFormat | opens | ok | ok | ok"),
        Row(
            name: "version 3, passphrase",
            isRawKey: false,
            version: 3,
            answers: "olderFormat | opens | ok | ok | ok"
        ),
        Row(
            name: "version 2, passphrase",
            isRawKey: false,
            version: 2,
            answers: "olderFormat | opens | ok | ok | ok"
        ),
        Row(
            name: "version 1, passphrase",
            isRawKey: false,
            version: 1,
            answers: "olderFormat | opens | ok | ok | ok"
        ),
        Row(
            name: "another key",
            otherKey: true,
            answers: "wrongKey | wrong | wrongKey | noKeyOpens | wrongKey"
        ),
        Row(
            name: "another passphrase",
            isRawKey: false,
            otherKey: true,
            answers: "wrongKey | wrong | wrongKey | noKeyOpens | wrongKey"
        ),
        Row(
            name: "page 1 torn",
            change: { overwrite(&$0, 2048..<4096) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "page 1 torn, passphrase",
            isRawKey: false,
            change: { overwrite(&$0, 2048..<4096) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "page 1 torn, version 3",
            version: 3,
            change: { overwrite(&$0, 512..<1024) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "page 1 gone but its salt",
            change: { overwrite(&$0, 16..<4096) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "page 1 gone",
            change: { overwrite(&$0, 0..<4096) },
            answers: "damaged | opens+salt+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "pages 1 to 3 damaged",
            change: {
                for page in 0..<3 { overwrite(&$0, page * 4096 + 2048..<page * 4096 + 2060) }
            },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "pages 1 to 3 gone, passphrase",
            isRawKey: false,
            change: { overwrite(&$0, 16..<12288) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "a bit of the salt",
            change: { $0[3] ^= 1 },
            answers: "damaged | opens+salt+damaged | damaged | ok | ok"
        ),
        Row(
            name: "two bytes of the salt",
            change: {
                $0[3] ^= 1
                $0[4] ^= 2
            },
            answers: "damaged | opens+salt+damaged | damaged | ok | ok"
        ),
        Row(
            name: "a bit of the salt, passphrase",
            isRawKey: false,
            change: { $0[3] ^= 1 },
            answers: "wrongKey | wrong | wrongKey | noKeyOpens | ok"
        ),
        Row(
            name: "half",
            change: { $0 = $0.prefix(20 * 4096) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "half a page more",
            change: { $0 = $0.prefix(20 * 4096 + 2048) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "the first page",
            change: { $0 = $0.prefix(4096) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "zeros at the end",
            change: { $0 += Data(count: 8192) },
            answers: "ok | opens+damaged | ok | ok | ok"
        ),
        Row(
            name: "plaintext header",
            pragmas: headerPragmas,
            options: headerOptions(salt: "a5"),
            answers: "ok | opens | ok | ok | ok"
        ),
        Row(
            name: "plaintext header, not given",
            pragmas: headerPragmas,
            answers:
                "plaintextHeader | saltNeeded | plaintextHeader | plaintextHeader | plaintextHeader"
        ),
        Row(
            name: "plaintext header, another salt",
            pragmas: headerPragmas,
            options: headerOptions(salt: "a6"),
            answers: "wrongKey | wrong | wrongKey | noKeyOpens | wrongKey"
        ),
        Row(
            name: "without HMACs",
            pragmas: "PRAGMA cipher_use_hmac = off;",
            options: ["--hmac-algorithm", "off"],
            answers: "ok | opens | ok | ok | ok"
        ),
        Row(
            name: "without HMACs, page 1 gone",
            pragmas: "PRAGMA cipher_use_hmac = off;",
            options: ["--hmac-algorithm", "off"],
            change: { overwrite(&$0, 16..<4096) },
            answers: "damaged | opens+damaged | damaged | ok | incomplete"
        ),
        Row(
            name: "pages of 8192 bytes, not given",
            pragmas: "PRAGMA cipher_page_size = 8192;",
            answers: "otherSettings | opens | ok | ok | ok"
        ),
        Row(
            name: "without HMACs, not given",
            isRawKey: false,
            pragmas: "PRAGMA cipher_use_hmac = off;",
            answers: "otherSettings | opens | ok | ok | ok"
        ),
        Row(
            name: "numbers in HMACs with the highest byte first",
            isRawKey: false,
            pragmas: "PRAGMA cipher_hmac_pgno = be;",
            answers: "otherSettings | opens | ok | ok | ok"
        ),
        Row(
            name: "another hash function, not given",
            pragmas: "PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_SHA256;",
            answers: "otherSettings | opens | ok | ok | ok"
        ),
        // Deriving keys takes too long for each opening.
        Row(
            name: "2 iterations, not given",
            isRawKey: false,
            pragmas: "PRAGMA kdf_iter = 2;",
            answers: "wrongKey | wrong | ok | ok | wrongKey"
        ),
        Row(
            name: "random bytes",
            change: { overwrite(&$0, 0..<$0.count) },
            answers: "wrongKey | wrong | wrongKey | noKeyOpens | wrongKey"
        ),
    ]
}
