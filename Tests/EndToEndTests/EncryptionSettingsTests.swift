import Foundation
import TestSupport
import Testing

/// Settings and variables that say how a database is encrypted.
@Suite struct EncryptionSettingsTests {
    private let salt = ToolFolder.randomDigits(count: 32)

    @Test func settingsAndEnvironmentDescribeTheEncryption() throws {
        var here = try SettingsFolder()
        let path = here.folder.path("ios.db")
        _ = try SQLCipherShell.run(
            path,
            key: "x'\(here.tool.password)'",
            """
            PRAGMA cipher_page_size = 8192; PRAGMA cipher_hmac_algorithm = HMAC_SHA256;
            PRAGMA cipher_plaintext_header_size = 32; PRAGMA cipher_salt = "x'\(salt)'";
            CREATE TABLE t (a);
            """
        )
        let query = ["query", "SELECT * FROM t", "--password-file", "password", "--raw-key"]
        try here.write("db-path = 'ios.db'")
        #expect(try here.run(query).status == 77)
        try here.write(
            "db-path = 'ios.db'",
            "cipher-page-size = 8192",
            "hmac-algorithm = 'sha256'",
            "cipher-salt = '\(salt)'"
        )
        #expect(try here.run(query).status == 0)
        let migrated = try here.run("migrate", "--password-file", "password", "--raw-key")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(
            try here.setting("cipher-page-size")
                == .init(value: "8192", origin: "file", at: "migrationkit.toml", line: 2)
        )
        #expect(
            try here.setting("cipher-compatibility") == .init(value: "4", origin: "default")
        )
        #expect(
            try here.setting("hmac-algorithm", ["--hmac-algorithm", "sha1"])
                == .init(value: "sha1", origin: "option", at: "--hmac-algorithm")
        )

        // The environment overrides the file, and an option the environment.
        here.tool.environment["MIGRATIONKIT_CIPHER_PAGE_SIZE"] = "4096"
        #expect(try here.run(query).status == 77)
        #expect(try here.run(query + ["--cipher-page-size", "8192"]).status == 0)
        here.tool.environment["MIGRATIONKIT_CIPHER_PAGE_SIZE"] = nil
        try here.write("db-path = 'ios.db'")
        here.tool.environment["MIGRATIONKIT_CIPHER_PAGE_SIZE"] = "8192"
        here.tool.environment["MIGRATIONKIT_HMAC_ALGORITHM"] = "sha256"
        here.tool.environment["MIGRATIONKIT_CIPHER_SALT"] = salt
        #expect(try here.run(query).status == 0)
        here.tool.environment["MIGRATIONKIT_CIPHER_PLAINTEXT_HEADER_SIZE"] = "48"
        let size = try here.run(query)
        #expect(size.status == 77)
        #expect(size.stderr.contains("a plaintext header of 32 bytes"), "\(size)")

        // Without a header, the salt of the settings doesn't count.
        _ = try SQLCipherShell.run(
            here.folder.path("own.db"),
            key: "x'\(here.tool.password)'",
            "PRAGMA cipher_page_size = 8192; PRAGMA cipher_hmac_algorithm = HMAC_SHA256; "
                + "CREATE TABLE t (a);"
        )
        let own = try here.run(
            query + ["--db-path", "own.db", "--cipher-plaintext-header-size", "0"]
        )
        #expect(own.status == 0, "\(own)")
    }

    @Test(arguments: [
        ("kdf-iterations", "MIGRATIONKIT_KDF_ITERATIONS", "'many'", "many"),
        ("cipher-compatibility", "MIGRATIONKIT_CIPHER_COMPATIBILITY", "5", "5"),
        ("cipher-page-size", "MIGRATIONKIT_CIPHER_PAGE_SIZE", "4096.5", "4096.5"),
        ("kdf-algorithm", "MIGRATIONKIT_KDF_ALGORITHM", "'md5'", "md5"),
        ("hmac-algorithm", "MIGRATIONKIT_HMAC_ALGORITHM", "1", "none"),
        ("cipher-salt", "MIGRATIONKIT_CIPHER_SALT", "'12'", "12"),
        ("cipher-plaintext-header-size", "MIGRATIONKIT_CIPHER_PLAINTEXT_HEADER_SIZE", "128", "-1"),
    ])
    func wrongValuesAreToldWithTheirPlace(
        _ name: String,
        _ variable: String,
        _ inFile: String,
        _ inEnvironment: String
    ) throws {
        var here = try SettingsFolder()
        let status = ["status", "--db-path", "n.db", "--password-file", "password", "--raw-key"]
        try here.write("", "\(name) = \(inFile)")
        let byFile = try here.run(status)
        #expect(byFile.status == 64)
        #expect(
            byFile.stderr.hasPrefix("error: migrationkit.toml:2: '\(name)' must be "),
            "\(byFile)"
        )
        try here.write("")
        here.tool.environment[variable] = inEnvironment
        let byVariable = try here.run(status)
        #expect(byVariable.status == 64)
        #expect(
            byVariable.stderr.hasPrefix("error: \(variable): '\(name)' must be "),
            "\(byVariable)"
        )
    }
}
