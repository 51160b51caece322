import TestSupport
import Testing

/// What SQLCipher 3 and before could be set to, and SQLCipher 4 can't read.
@Suite struct OldSettingsTests {
    /// A file as SQLCipher 3 writes it with a cipher of OpenSSL. (SQLCipher 3.4.1 reads those of the program
    /// below.)
    struct File: CustomTestStringConvertible {
        var cipher = "aes-256-cbc"
        var keyCount = 32
        var vectorCount = 16
        /// 16 without HMACs.
        var reservedCount = 48
        var pageSize = 1024
        var iterations = 4000
        var isRawKey = false
        /// What names the cipher.
        var words = ""

        var testDescription: String { "\(self)" }

        var json: [String: Any] {
            [
                "cipher": cipher, "keyCount": keyCount, "vectorCount": vectorCount,
                "reserved": reservedCount, "size": pageSize, "iterations": iterations,
                "isRaw": isRawKey,
            ]
        }
    }

    static let ciphers = [
        File(cipher: "aes-128-cbc", keyCount: 16, words: "keys of 128 bits, such as aes-128-cbc"),
        File(
            cipher: "aes-128-cbc",
            keyCount: 16,
            pageSize: 4096,
            iterations: 100,
            words: "keys of 128 bits, such as aes-128-cbc"
        ),
        File(
            cipher: "aes-192-cbc",
            keyCount: 24,
            isRawKey: true,
            words: "keys of 192 bits, such as aes-192-cbc"
        ),
        File(cipher: "aes-256-cfb", words: "the cipher aes-256-cfb"),
        File(cipher: "aes-256-cfb", reservedCount: 36, words: "keys of 256 bits, such as"),
        File(cipher: "aes-256-ofb", words: "the cipher aes-256-ofb"),
        File(cipher: "aes-256-ctr", isRawKey: true, words: "the cipher aes-256-ctr"),
        File(cipher: "camellia-256-cbc", words: "keys of 256 bits, such as"),
        File(cipher: "bf-cbc", keyCount: 16, vectorCount: 8, words: "such as bf-cbc"),
        File(
            cipher: "des-ede3-cbc",
            keyCount: 24,
            vectorCount: 8,
            words: "keys of 192 bits, such as des-ede3-cbc"
        ),
        File(cipher: "aes-256-ecb", vectorCount: 0, words: "keys of 256 bits"),
        File(
            cipher: "aes-128-cbc",
            keyCount: 16,
            reservedCount: 16,
            words: "no HMAC, the cipher aes-128-cbc"
        ),
    ]

    private static let query = ["query", "--format=json", "SELECT count(*) AS n FROM t"]

    private static let program = """
        import hashlib, hmac, json, os, sqlite3, subprocess, sys
        path, key, file = json.load(sys.stdin)
        size, reserved = file["size"], file["reserved"]
        connection = sqlite3.connect(path + "-plain")
        connection.executescript(f"PRAGMA page_size = {size}; CREATE TABLE t(a);")
        connection.executescript("INSERT INTO t VALUES (1), (2), (3);")
        connection.close()
        plain = open(path + "-plain", "rb").read()
        os.remove(path + "-plain")
        salt = os.urandom(16)
        def derive(bytes, salt, iterations):
            return hashlib.pbkdf2_hmac("sha1", bytes, salt, iterations, file["keyCount"])
        if file["isRaw"]:
            key = bytes.fromhex(key)[:file["keyCount"]]
        else:
            key = derive(key.encode(), salt, file["iterations"])
        code_key = derive(key, bytes(byte ^ 0x3a for byte in salt), 2)
        def half(page, offset): return int.from_bytes(page[offset:offset + 2], "big")
        def shift(page, header):
            # Makes room for the reserved bytes behind the cells.
            places = range(header + 8, header + 8 + 2 * half(page, header + 3), 2)
            start = half(page, header + 5)
            cells = page[start:]
            page[start - reserved:] = cells + bytes(reserved)
            for place in [header + 5, *places]:
                page[place:place + 2] = (half(page, place) - reserved).to_bytes(2, "big")
        with open(path, "wb") as output:
            for number in range(1, len(plain) // size + 1):
                page = bytearray(plain[(number - 1) * size:number * size])
                if number == 1: page[20] = reserved
                shift(page, 100 if number == 1 else 0)
                vector = os.urandom(file["vectorCount"])
                words = ["openssl", "enc", "-" + file["cipher"], "-nopad", "-K", key.hex()]
                words += ["-iv", vector.hex()] if vector else []
                words += ["-provider", "default", "-provider", "legacy"]
                start = 16 if number == 1 else 0
                content = bytes(page[start:size - reserved])
                content = subprocess.run(words, input=content, capture_output=True).stdout
                assert len(content) == size - reserved - start
                content += vector
                if reserved > 16:
                    message = content + number.to_bytes(4, "little")
                    content += hmac.new(code_key, message, "sha1").digest()
                output.write(salt * (number == 1) + content)
                output.write(os.urandom(size - start - len(content)))
        """

    private func tool(_ file: File) throws -> Tool {
        let tool = try Tool.withoutSecretStore(isRawKey: file.isRawKey)
        try Python.output(of: Self.program, input: [tool.database, tool.password, file.json])
        return tool
    }

    @Test(arguments: ciphers) func anotherCipherIsNamed(_ file: File) throws {
        let tool = try tool(file)
        let salvage = ["salvage", "--output", tool.folder.path("rescued.db")]
        for command in [["key", "check"], Self.query + ["--find-settings"], salvage] {
            // 'salvage' searches for no other number of iterations.
            if command == salvage, file.iterations == 100 { continue }
            let refused = try tool.run(command + tool.opening)
            #expect(refused.status == 77, "\(refused)")
            #expect(refused.stderr.contains(file.words), "\(refused)")
            #expect(refused.stderr.contains("The key is right, and the file isn't damaged"))
            #expect(refused.stderr.contains("sqlcipher_export"))
        }
        let found = try tool.run(
            ["key", "find"] + tool.opening.prefix(2) + ["--key-file", tool.folder.path("password")]
        )
        #expect(found.status == 0, "\(found)")
        #expect(found.stdout.contains("No command reads the file"))
        if file.iterations == 4000 {
            let inspected = try tool.run(["inspect"] + tool.opening)
            #expect(inspected.status == 77, "\(inspected)")
            #expect(inspected.stdout.contains("is the file's, but SQLCipher 4 can't decrypt it"))
            #expect(!inspected.stdout.contains("Damage"))
        }
    }

    @Test func aWrongKeyIsNotRightForAnotherCipher() throws {
        let tool = try tool(File(cipher: "aes-128-cbc", keyCount: 16, isRawKey: true))
        try tool.folder.write("password", ToolFolder.randomDigits(count: 64).utf8)
        let wrong = try tool.run(["key", "check"] + tool.opening)
        #expect(wrong.status == 77 && !wrong.stderr.contains("The key is right"), "\(wrong)")
        #expect(wrong.stderr.contains("SQLite3 Multiple"), "\(wrong)")
    }

    @Test(arguments: [true, false]) func pagesOf512BytesAreRead(_ isRawKey: Bool) throws {
        let tool = try tool(File(reservedCount: 16, pageSize: 512, isRawKey: isRawKey))
        let checked = try tool.run(["key", "check", "--json"] + tool.opening)
        #expect(try checked.json()["options"] as? [String] == ["--find-settings"], "\(checked)")
        let read = try tool.run(Self.query + tool.opening + ["--find-settings"])
        #expect(read.stdout.contains("3"), "\(read)")
        let upgraded = try tool.run(["upgrade", "--find-settings"] + tool.opening)
        #expect(upgraded.status == 0, "\(upgraded)")
        #expect(try tool.run(Self.query + tool.opening).stdout.contains("3"))
    }

    @Test(arguments: [true, false])
    func pagesOf512BytesWithHMACsAreSalvaged(_ isRawKey: Bool) throws {
        let tool = try tool(File(pageSize: 512, isRawKey: isRawKey))
        for command in [["key", "check"], Self.query + ["--find-settings"]] {
            let refused = try tool.run(command + tool.opening)
            #expect(refused.status == 77, "\(refused)")
            #expect(refused.stderr.contains("512-byte pages"), "\(refused)")
            #expect(refused.stderr.contains("salvage"), "\(refused)")
        }
        let rescued = tool.folder.path("rescued.db")
        let salvage = ["salvage", "--output", rescued, "--find-settings"]
        let salvaged = try tool.run(salvage + tool.opening)
        #expect(salvaged.status == 0, "\(salvaged)")
        let key = Array(tool.opening.dropFirst(2))
        // The new file has the other settings of the old one.
        let words = ["--find-settings", "--db-path", rescued]
        let read = try tool.run(Self.query + words + key)
        #expect(read.stdout.contains("3"), "\(read)")
    }
}
