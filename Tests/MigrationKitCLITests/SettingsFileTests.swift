import MigrationKit
import MigrationKitLint
import Testing

@testable import MigrationKitCLI

@Suite struct SettingsFileTests {
    private func read(
        _ text: String,
        path: String = "migrationkit.toml",
        keys: [SettingsKey] = SettingsKey.allCases
    ) throws -> SettingsFile {
        try SettingsFile(bytes: Array(text.utf8), path: path, home: "/home/me", keys: keys)
    }

    private func refusal(of text: String) -> SettingsFileError? {
        #expect(throws: SettingsFileError.self) { try read(text) }
    }

    // MARK: - What It Says

    @Test func everySettingIsRead() throws {
        let file = try read(
            """
            db-path = "notes.db"
            migrations = 'sql'
            keychain-service = "com.example.Notes"
            keychain-account = "main"
            keychain-collection = "login"
            keychain-timeout = 5
            lock-timeout = 2.5
            require-index = ["note.note_title", "note.a.b", "note.note_title"]
            allow-out-of-order = true

            [lint]
            drop-table = "error"
            secret-in-migration = "note"
            table-not-strict = "off"
            """
        )
        #expect(
            file.value(.lint, as: [LintRule: LintLevel?].self)
                == [.dropTable: .error, .secretInMigration: .note, .tableNotStrict: nil]
        )
        #expect(file.value(.dbPath, as: String.self) == "notes.db")
        #expect(file.value(.migrations, as: String.self) == "sql")
        #expect(file.value(.keychainService, as: String.self) == "com.example.Notes")
        #expect(file.value(.keychainAccount, as: String.self) == "main")
        #expect(file.value(.keychainCollection, as: String.self) == "login")
        #expect(file.value(.keychainTimeout, as: Double.self) == 5)
        #expect(file.value(.lockTimeout, as: Double.self) == 2.5)
        // Once each; a dot in a name is the index's.
        #expect(
            file.value(.requireIndex) == [
                RequiredIndexSpec(table: "note", index: "note_title"),
                RequiredIndexSpec(table: "note", index: "a.b"),
            ]
        )
        #expect(file.value(.allowOutOfOrder, as: Bool.self) == true)
        #expect(try read("password-file = \"key\"").value(.passwordFile, as: String.self) == "key")
    }

    @Test(arguments: ["", "# nothing\n", "\n\n", "\u{FEFF}# nothing"])
    func nothingIsSettings(_ text: String) throws {
        #expect(try read(text).entries.isEmpty)
    }

    @Test(arguments: [
        ("migrationkit.toml", "a/b.db", "a/b.db"),
        ("conf/migrationkit.toml", "b.db", "conf/b.db"),
        ("conf/migrationkit.toml", "../b.db", "conf/../b.db"),
        ("/etc/notes/mk.toml", "b.db", "/etc/notes/b.db"),
        ("/etc/notes/mk.toml", "/var/b.db", "/var/b.db"),
        ("/etc/notes/mk.toml", "~/b.db", "/home/me/b.db"),
        ("conf/mk.toml", "~b.db", "conf/~b.db"),
    ])
    func pathsAreSeenFromTheFilesFolder(_ file: String, _ path: String, _ resolved: String) throws {
        for key in [SettingsKey.dbPath, .migrations, .passwordFile] {
            #expect(
                try read("\(key.rawValue) = \"\(path)\"", path: file).value(key, as: String.self)
                    == resolved
            )
        }
    }

    @Test func linesAreThoseInWhichSettingsBegin() throws {
        let file = try read(
            """
            # db-path = "no"

            require-index = [
              "note.db-path",
            ]
            keychain-service = '''
            db-path = "no"'''
              "db-path"   = "yes"
            lock-timeout=1

            """.replacing("\n", with: "\r\n")
        )
        #expect(file.entries[.requireIndex]?.line == 3)
        #expect(file.entries[.keychainService]?.line == 6)
        #expect(file.entries[.dbPath]?.line == 8)
        #expect(file.value(.dbPath, as: String.self) == "yes")
        #expect(file.entries[.lockTimeout]?.line == 9)
    }

    // MARK: - What It Doesn't Take

    @Test(arguments: [
        ("db-pth = \"a\"", "db-pth", "db-path"),
        ("keychain_service = 1", "keychain_service", "keychain-service"),
        ("migration = \"a\"", "migration", "migrations"), ("colour = \"red\"", "colour", nil),
        ("[database]\npath = \"a\"", "database", nil),
    ])
    func unknownSettingsNameTheNearest(_ text: String, _ key: String, _ nearest: String?) {
        #expect(
            refusal(of: "# one\n\(text)")
                == .unknownKey(key, place: "migrationkit.toml:2", nearest: nearest)
        )
    }

    @Test(arguments: [
        ("[lint]\n\ndrop-tabel = \"off\"", 3), ("[lint]\n\n\"drop-tabel\" = \"off\"", 3),
        ("lint.drop-tabel = \"off\"", 1), ("lint = { drop-tabel = \"off\" }", 1),
        ("lock-timeout = 1\nlint.drop-column = \"off\"\nlint.drop-tabel = \"off\"", 3),
    ])
    func unknownRulesNameTheNearest(_ text: String, _ line: Int) {
        let place = "migrationkit.toml:\(line)"
        #expect(
            refusal(of: text)
                == .unknownKey("lint.drop-tabel", place: place, nearest: "drop-table")
        )
        let wrong = text.replacing("drop-tabel", with: "drop-table").replacing("off", with: "hush")
        guard case .wrongValue(let key, _, let expected) = refusal(of: wrong) else {
            Issue.record("another error: \(wrong)")
            return
        }
        #expect(
            key == (line == 3 && text.contains("column") ? "lint.drop-column" : "lint.drop-table")
        )
        #expect(expected == #""off", "note", "warning" or "error""#)
    }

    @Test func migrationsAreNoSettingOfAProgramThatHasThemBuiltIn() {
        let keys = SettingsKey.allCases.filter { $0 != .migrations }
        #expect(
            throws: SettingsFileError.unknownKey(
                "migrations",
                place: "migrationkit.toml:1",
                nearest: nil
            )
        ) {
            try read("migrations = \"sql\"", keys: keys)
        }
    }

    @Test(arguments: [
        "db-path = 1", "db-path = \"\"", "db-path = [\"a\"]",
        "[db-path]\na = 1", "password-file = \"-\"", "migrations = true",
        "keychain-service = \"\"", "keychain-timeout = 0", "keychain-timeout = -1",
        "keychain-timeout = 86401", "keychain-timeout = nan", "keychain-timeout = \"5\"",
        "lock-timeout = -0.5", "lock-timeout = nan", "lock-timeout = false",
        "require-index = \"a.b\"", "require-index = [1]", "require-index = [\"a\"]",
        "require-index = [\".b\"]", "allow-out-of-order = 1", "allow-out-of-order = \"true\"",
        "lint = \"off\"", "lint = [\"drop-table\"]",
        "name-pattern = \"{name}.sql\"", "double-quoted-strings = \"yes\"",
    ])
    func wrongValuesSayWhatIsExpected(_ text: String) throws {
        let name = String(text.drop { $0 == "[" }.prefix { $0 != " " && $0 != "]" })
        let key = try #require(SettingsKey(rawValue: name))
        #expect(
            refusal(of: "\n\(text)")
                == .wrongValue(
                    key: name,
                    place: "migrationkit.toml:2",
                    expected: key.setting.kind.expected
                )
        )
    }

    @Test(arguments: [
        ("db-path = \"a", 1, 13), ("\ndb-path : \"a\"", 2, 9), ("db-path = a", 1, 11),
        ("a = 1\na = 2", 2, 5),
    ])
    func brokenTextHasAPlace(_ text: String, _ line: Int, _ column: Int) throws {
        guard case .malformed(let place, let reason) = try #require(refusal(of: text)) else {
            Issue.record("another error")
            return
        }
        #expect(place.hasPrefix("migrationkit.toml:\(line):"), "\(place)")
        #expect(place == "migrationkit.toml:\(line):\(column)", "\(place)")
        #expect(reason.hasPrefix("this is not TOML: "))
    }

    @Test(arguments: [
        ([0x61, 0xFF], "this is not UTF-8 text"),
        (Array("a = 1\0".utf8), "there is a NUL in this text"),
        (Array("db-path = \"a\\u0000b\"".utf8), "there is a NUL in this text"),
        (Array("\"db-path\\U00000000\" = 1".utf8), "there is a NUL in this text"),
    ])
    func bytesThatAreNoTextAreRefused(_ bytes: [UInt8], _ reason: String) {
        #expect(throws: SettingsFileError.malformed(place: "x.toml", reason: reason)) {
            try SettingsFile(bytes: bytes, path: "x.toml", home: nil, keys: [])
        }
    }

    @Test(arguments: [
        "password = \"hush\"", "passphrase = 'hush'", "key = \"hush\"", "raw-key = \"hush\"",
        "secret = \"hush\"", "Password = \"hush\"", "db_password = \"hush\"",
        "\"password\" = \"hush\"", "  'key' = \"hush\"", "password = hush", "password hush",
        "password: hush", "password = \"hush", "password = 99999999999999999999",
        "[database]\npassword = \"hush\"", "database.password = \"hush\"",
        "keychain.secret.value = \"hush\"", "\"pass\\u0077ord\" = \"hush\"",
        "db-path = broken\nclient-secret = \"hush\"",
    ])
    func secretsAreRefusedAndNotShown(_ text: String) throws {
        let error = try #require(refusal(of: text))
        guard case .secret = error else {
            Issue.record("another error: \(error)")
            return
        }
        let shown = "\(error) \(error.errorDescription ?? "") \(error.recoverySuggestion ?? "")"
        #expect(!shown.contains("hush"))
        #expect(!shown.contains("999"))
    }

    @Test(arguments: [
        "database = { password = \"hush\" }", "database = { password = \"hush\"", "hint = hush",
        "db-path = hush", "db-path = \"a\" hush", "keychain-timeout = \"hush\"",
        "require-index = [\"hush\"]", "db-path = \"hush\\q\"", "a = 12345678901234567890123",
    ])
    func noErrorShowsAValue(_ text: String) throws {
        let error = try #require(refusal(of: text))
        let shown = "\(error) \(error.errorDescription ?? "") \(error.recoverySuggestion ?? "")"
        #expect(!shown.contains("hush"), "\(shown)")
        #expect(!shown.contains("123456"), "\(shown)")
    }

    @Test func indexesOfTablesThatHoldSecretsAreNoSecrets() throws {
        let file = try read(
            """
            require-index = [
              "users.password",
              "secret.key" , "password.password" # the oldest
            ]
            """
        )
        #expect(file.value(.requireIndex, as: [RequiredIndexSpec].self)?.count == 3)
    }

    @Test func commandsAreRefused() {
        #expect(
            refusal(of: "password-command = \"pass show x\"")
                == .command(place: "migrationkit.toml:1")
        )
    }

    @Test func oneSourceOfTheKeyAtATime() {
        #expect(
            refusal(of: "keychain-service = \"s\"\npassword-file = \"f\"")
                == .severalKeySources(path: "migrationkit.toml")
        )
        for key in ["keychain-account", "keychain-collection"] {
            #expect(
                refusal(of: "\(key) = \"a\"")
                    == .missing(
                        key: "keychain-service",
                        for: key,
                        place: "migrationkit.toml:1"
                    )
            )
        }
    }
}
