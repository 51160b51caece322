import Foundation
import TestSupport
import Testing

/// The settings of a file are found that nobody remembers.
@Suite struct CipherSearchTests {
    struct File: CustomTestStringConvertible {
        let pragmas: String
        /// What names its settings; `nil` if only the search can.
        let options: [String]?
        var isRawKey = false

        var testDescription: String { pragmas }
    }

    static let files = [
        File(
            pragmas: "PRAGMA cipher_page_size = 1024; PRAGMA kdf_iter = 4000;",
            options: [
                "--cipher-compatibility", "4", "--cipher-page-size", "1024", "--kdf-iterations",
                "4000",
            ]
        ),
        File(
            pragmas: "PRAGMA cipher_use_hmac = off;",
            options: ["--cipher-compatibility", "4", "--hmac-algorithm", "off"]
        ),
        File(
            pragmas: "PRAGMA cipher_page_size = 65536;",
            options: ["--cipher-compatibility", "4", "--cipher-page-size", "65536"]
        ),
        File(
            pragmas: "PRAGMA cipher_compatibility = 3; PRAGMA cipher_page_size = 4096;",
            options: ["--cipher-compatibility", "3", "--cipher-page-size", "4096"]
        ),
        File(
            pragmas: """
                PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_SHA256; PRAGMA kdf_iter = 2;
                PRAGMA cipher_hmac_algorithm = HMAC_SHA256;
                """,
            options: [
                "--cipher-compatibility", "4", "--kdf-iterations", "2", "--kdf-algorithm",
                "sha256", "--hmac-algorithm", "sha256",
            ]
        ),
        File(
            pragmas: "PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_SHA1; PRAGMA kdf_iter = 64000;",
            options: [
                "--cipher-compatibility", "3", "--cipher-page-size", "4096", "--hmac-algorithm",
                "sha512",
            ]
        ),
        File(pragmas: "PRAGMA kdf_iter = 10; PRAGMA cipher_hmac_pgno = be;", options: nil),
        File(pragmas: "PRAGMA cipher_hmac_pgno = be;", options: nil, isRawKey: true),
        File(pragmas: "PRAGMA fast_kdf_iter = 100;", options: nil),
        File(pragmas: "PRAGMA fast_kdf_iter = 1;", options: nil, isRawKey: true),
        File(
            pragmas: "PRAGMA kdf_iter = 310000;",
            options: ["--cipher-compatibility", "4", "--kdf-iterations", "310000"]
        ),
        File(
            pragmas: """
                PRAGMA cipher_page_size = 16384; PRAGMA cipher_hmac_algorithm = HMAC_SHA1;
                """,
            options: [
                "--cipher-compatibility", "4", "--cipher-page-size", "16384", "--hmac-algorithm",
                "sha1",
            ],
            isRawKey: true
        ),
    ]

    private static let query = ["query", "--format=json", "SELECT count(*) AS n FROM t"]

    private func tool(_ file: File) throws -> Tool {
        let tool = try Tool.withoutSecretStore(isRawKey: file.isRawKey)
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.shellKey,
            file.pragmas + "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3);"
        )
        return tool
    }

    @Test(arguments: files) func settingsAreFound(_ file: File) throws {
        let tool = try tool(file)
        let opening = tool.opening
        let checked = try tool.run(["key", "check", "--json"] + opening)
        #expect(checked.status == 0, "\(checked)")
        let options = file.options ?? ["--find-settings"]
        #expect(try checked.json()["options"] as? [String] == options)
        // What is printed works, in the settings file, too.
        for words in [options, ["--find-settings"]] {
            let read = try tool.run(Self.query + opening + words)
            #expect(read.status == 0 && read.stdout.contains("3"), "\(read)")
        }
        if file.options != nil {
            let text = try tool.run(["key", "check"] + opening).stdout
            let lines = text.split(separator: "\n").drop { !$0.hasSuffix("migrationkit.toml:") }
            try tool.writeSettings(lines.dropFirst().joined(separator: "\n"))
            let config = ["--config", tool.folder.path("migrationkit.toml")]
            let read = try tool.run(Self.query + opening + config)
            #expect(read.status == 0, "\(read)")
        }
        let upgraded = try tool.run(["upgrade", "--find-settings"] + opening)
        #expect(upgraded.status == 0, "\(upgraded)")
        #expect(try tool.run(Self.query + opening).status == 0)
    }

    /// SQLCipher keeps the mask for all connections of a process, so that it must not be set.
    @Test(arguments: [true, false]) func anotherMaskOfHMACsIsNamed(_ isRawKey: Bool) throws {
        let mask = #"cipher_hmac_salt_mask = "x'5c'""#
        let tool = try tool(File(pragmas: "PRAGMA \(mask);", options: nil, isRawKey: isRawKey))
        for command in [["key", "check"], Self.query + ["--find-settings"]] {
            let refused = try tool.run(command + tool.opening)
            #expect(refused.status == 77, "\(refused)")
            #expect(refused.stderr.contains(mask) && refused.stderr.contains("salvage"))
        }
        let rescued = tool.folder.path("rescued.db")
        let salvaged = try tool.run(["salvage", "--output", rescued] + tool.opening)
        #expect(salvaged.status == 0, "\(salvaged)")
        let key = Array(tool.opening.dropFirst(2))
        #expect(try tool.run(Self.query + ["--db-path", rescued] + key).stdout.contains("3"))
    }

    /// A question or a pipe answers only once.
    @Test func theKeyIsReadOnce() throws {
        let tool = try tool(File(pragmas: "PRAGMA kdf_iter = 2;", options: nil))
        let password = tool.folder.path("password")
        let searching = ["key", "check", "--json", "--find-settings"] + tool.opening
        let source = try tool.run(searching).json()["keySource"] as? String
        #expect(source == "the file \"\(password)\"")
        try tool.folder.write("once", "cat '\(password)' && rm '\(password)'".utf8)
        let read = try tool.run(
            Self.query + ["--db-path", tool.database, "--find-settings"]
                + ["--password-command", "sh '\(tool.folder.path("once"))'"]
        )
        #expect(read.status == 0, "\(read)")
        #expect(read.stderr.contains("has other settings: 4096-byte pages"))
    }

    /// What a killed program has begun stays as it is.
    @Test func checkingAKeyUndoesNothing() throws {
        let tool = try tool(File(pragmas: "", options: nil, isRawKey: true))
        _ = try TestSupport.run(
            "sqlcipher",
            ["-batch", tool.database],
            input: """
                PRAGMA key = "\(tool.shellKey)"; PRAGMA cache_size = 2; BEGIN;
                INSERT INTO t SELECT randomblob(3000) FROM t, t, t;
                .shell kill -9 $PPID

                """.utf8
        )
        let names = ["store.db", "store.db-journal"]
        let before = try names.map(tool.folder.data)
        let checked = try tool.run(["key", "check", "--json"] + tool.opening)
        #expect(try checked.jsonError()["code"] as? String == "needsRecovery", "\(checked)")
        #expect(try names.map(tool.folder.data) == before)
        #expect(try tool.run(Self.query + tool.opening).status == 74)
    }

    @Test func aWrongKeyIsToldWithWhatWasTried() throws {
        let tool = try tool(File(pragmas: "", options: nil, isRawKey: true))
        try tool.folder.write("password", ToolFolder.randomDigits(count: 64).utf8)
        let checked = try tool.run(["key", "check"] + tool.opening)
        #expect(checked.status == 77)
        #expect(checked.stderr.contains("with numbers of iterations"))
        #expect(!checked.stderr.contains("--find-settings"))
        // The command itself says what is wrong.
        let read = try tool.run(Self.query + tool.opening + ["--find-settings"])
        #expect(read.status == 77)
    }

    @Test func digitsOfAPassphraseAreNotARawKey() throws {
        let tool = try tool(File(pragmas: "", options: nil))
        let digits = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("password", digits.utf8)
        try FileManager.default.removeItem(atPath: tool.database)
        _ = try SQLCipherShell.run(
            tool.database,
            key: digits,
            "CREATE TABLE t(a);"
        )
        let read = try tool.run(Self.query + tool.opening + ["--raw-key"])
        #expect(read.status == 77)
        #expect(read.stderr.contains("leave out --raw-key"))
        let found = try tool.run(
            ["key", "find", "--db-path", tool.database, "--key-file", tool.folder.path("password")]
        )
        #expect(found.status == 0 && !found.stdout.contains("--raw-key"), "\(found)")
    }

    /// Files of SQLite3 Multiple Ciphers, by that library.
    @Test(arguments: [
        ("sqlcipher", "SQLCipher's encryption"), ("aes256cbc", "AES in CBC mode"),
        ("chacha20", "ChaCha20 or Ascon"),
        ("ascon128", "ChaCha20 or Ascon"), ("aegis", "AEGIS"), ("rc4", "RC4"),
    ])
    func filesOfMultipleCiphersAreNamed(_ cipher: String, _ words: String) throws {
        let tool = try tool(File(pragmas: "", options: nil))
        try FileManager.default.removeItem(atPath: tool.database)
        func run(_ statements: [String]) throws {
            try Python.output(
                of: """
                    import apsw, json, sys
                    path, statements = json.load(sys.stdin)
                    connection = apsw.Connection(path)
                    for statement in statements: connection.execute(statement)
                    """,
                input: [tool.database, statements]
            )
        }
        let opening = ["PRAGMA cipher = '\(cipher)'", "PRAGMA key = '\(tool.password)'"]
        try run(opening + ["CREATE TABLE t(a)", "INSERT INTO t VALUES (1), (2), (3)"])
        let isSQLCipher = cipher == "sqlcipher"
        let checked = try tool.run(["key", "check"] + tool.opening)
        #expect(checked.status == 66, "\(checked)")
        #expect(checked.stderr.contains("is a file of SQLite3 Multiple Ciphers, with \(words)"))
        #expect(checked.stderr.contains("The key is right") == isSQLCipher)
        let inspected = try tool.run(["inspect", "--json", "--db-path", tool.database])
        #expect(try inspected.json()["multipleCiphers"] as? String == words)
        let found = try tool.run(
            ["key", "find"] + tool.opening.prefix(2) + ["--key-file", tool.folder.path("password")]
        )
        #expect(found.status == (isSQLCipher ? 0 : 66), "\(found)")
        guard isSQLCipher else { return }
        let sound = try tool.run(["inspect"] + tool.opening)
        #expect(sound.status == 0, "\(sound)")
        let rescued = tool.folder.path("rescued.db")
        let salvaged = try tool.run(["salvage", "--output", rescued] + tool.opening)
        #expect(salvaged.status == 0, "\(salvaged)")
        let key = Array(tool.opening.dropFirst(2))
        let read = try tool.run(Self.query + ["--db-path", rescued] + key)
        #expect(read.stdout.contains("3"), "\(read)")
        // What is advised.
        try run(opening + ["PRAGMA legacy = 4", "PRAGMA rekey = '\(tool.password)'"])
        #expect(try tool.run(Self.query + tool.opening).stdout.contains("3"))
        // Another key.
        try tool.folder.write("password", "another".utf8)
        let wrong = try tool.run(["key", "check"] + tool.opening)
        #expect(wrong.status == 77, "\(wrong)")
    }
}
