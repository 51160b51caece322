import TestSupport

/// Changes a byte of an encrypted file's first page, as a newer SQLite with the key would.
enum FirstPage {
    static func set(_ offset: Int, to value: UInt8, in path: String, key: TestKey) throws {
        // The design of SQLCipher's pages: <https://www.zetetic.net/sqlcipher/design/>
        let program = """
            import hashlib, hmac, json, subprocess, sys
            path, key, offset, value = json.load(sys.stdin)
            file = open(path, "r+b")
            page = file.read(4096)
            salt, body, iv = page[:16], page[16:4016], page[4016:4032]
            mac_key = hashlib.pbkdf2_hmac(
                "sha512", bytes.fromhex(key), bytes(b ^ 0x3a for b in salt), 2, 32)

            def code(body):
                message = body + iv + (1).to_bytes(4, "little")
                return hmac.new(mac_key, message, hashlib.sha512).digest()

            def aes(direction, data):
                return subprocess.run(
                    ["openssl", "enc", direction, "-aes-256-cbc", "-nopad", "-K", key, "-iv", iv.hex()],
                    input=data, stdout=subprocess.PIPE, check=True).stdout

            assert code(body) == page[4032:]
            plain = bytearray(aes("-d", body))
            plain[offset - 16] = value
            body = aes("-e", bytes(plain))
            file.seek(16)
            file.write(body + iv + code(body))
            """
        try Python.output(of: program, input: [path, key.fragments[0], offset, value])
    }
}
