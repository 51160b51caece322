import Foundation
import TestSupport
import Testing

/// `key export` and `key import`, on a real Secret Service and with key files.
@Suite struct RecoveryCopyTests {
    private let secrets: PrivateSecretService
    private let tool: Tool
    private let passphrase = "Süßes oder Saures \(UInt64.random(in: 1...UInt64.max))"
    private let item = ["--keychain-service", "org.notes", "--keychain-account", "main"]

    init() throws {
        secrets = try PrivateSecretService()
        tool = try Tool(environment: secrets.environment, isRawKey: true)
        _ = try tool.shell("CREATE TABLE t (a);")
        try tool.folder.write("recovery", (passphrase + "\n").utf8)
        chmod(tool.folder.path("recovery"), 0o600)
        try store(tool.password)
    }

    private var copy: String { tool.folder.path("notes.p12") }
    private var opening: [String] { ["--db-path", tool.database] + item }
    private var withPassphrase: [String] {
        ["--recovery-password-file", tool.folder.path("recovery")]
    }

    private func store(_ key: String, raw: Bool = true, _ more: String...) throws {
        let stored = try tool.run(
            ["key", "set", "--password-file", "-"] + item + (raw ? ["--raw-key"] : []) + more,
            input: key
        )
        #expect(stored.status == 0, "\(stored)")
    }

    private func lookup(_ account: String = "main") throws -> String {
        try secrets.run("secret-tool", ["lookup", "service", "org.notes", "username", account])
            .stdout
    }

    private func forget() throws {
        #expect(try tool.run(["key", "delete", "--yes"] + item).status == 0)
    }

    private func export(_ more: String...) throws -> ProcessResult {
        try tool.run(["key", "export", "--output", copy] + opening + withPassphrase + more)
    }

    private func expectRefused(
        _ result: ProcessResult,
        _ status: Int32,
        _ code: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(result.status == status, "\(result)", sourceLocation: sourceLocation)
        let found = try result.jsonError()["code"] as? String
        #expect(found == code, "\(result)", sourceLocation: sourceLocation)
        #expect(!result.stderr.contains(tool.password), sourceLocation: sourceLocation)
        #expect(!result.stderr.contains(passphrase), sourceLocation: sourceLocation)
    }

    // MARK: - Container

    @Test func copyBringsTheKeyBackAfterItsItemIsLost() throws {
        let exported = try export("--json")
        #expect(exported.status == 0, "\(exported)")
        #expect(try exported.json()["database"] as? String == tool.database)
        var status = stat()
        #expect(stat(copy, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        let bytes = try tool.folder.data("notes.p12")
        #expect(bytes.range(of: Data(tool.password.utf8)) == nil)
        try forget()

        let imported = try tool.run(["key", "import", copy, "--json"] + opening + withPassphrase)
        #expect(imported.status == 0, "\(imported)")
        #expect(try imported.json()["database"] as? String == tool.database)
        #expect(try lookup() == tool.password)
        #expect(try tool.run(["key", "check"] + opening).status == 0)
        // Again, nothing happens.
        let again = try tool.run(["key", "import", copy, "--json"] + opening + withPassphrase)
        #expect(again.status == 0, "\(again)")
        #expect(try again.json()["replaced"] as? Bool == false)
    }

    /// The command of the documentation, with the passphrase from where a terminal would be.
    @Test func opensslAloneOpensTheCopyOfARawKey() throws {
        #expect(try export().status == 0)
        let opened = try TestSupport.run(
            "/bin/sh",
            ["-c", "openssl pkcs12 -in '\(copy)' -passin stdin | tail -n 1 | tr -d ' '"],
            input: (passphrase + "\n").utf8
        )
        let digits = opened.stdout.trimmingCharacters(in: .newlines).lowercased()
        #expect(digits == tool.password)
        let help = try tool.run("key", "export", "--help").stdout
        #expect(help.contains("openssl pkcs12 -in FILE | tail -n 1 | tr -d ' '"))
        // It asks on a terminal by itself.
        let terminal = try TerminalProcess("/usr/bin/openssl", ["pkcs12", "-in", copy])
        #expect(terminal.wait(for: "Password:"))
        terminal.type((passphrase + "\n").utf8)
        #expect(terminal.finish().status == 0)
    }

    /// RFC 8018 asks for at least 8 bytes, and NIST SP 800-132 for 16.
    @Test func theSaltHas16Bytes() throws {
        #expect(try export().status == 0)
        let bytes = [UInt8](try tool.folder.data("notes.p12"))
        // The object identifier of PBKDF2, then a sequence that begins with the salt.
        let identifier: [UInt8] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 0x0c, 0x30]
        let start = try #require(bytes.firstRange(of: identifier)).upperBound
        #expect(bytes[(start + 1)...].starts(with: [4, 16]))
    }

    @Test func opensslAloneOpensTheCopyOfAPassphrase() throws {
        let secret = "correct horse — ünïcode"
        try store(secret, raw: false, "--replace", "--yes")
        let exported = try tool.run(["key", "export", "--output", copy] + item + withPassphrase)
        #expect(exported.status == 0, "\(exported)")
        let opened = try TestSupport.run(
            "/bin/sh",
            [
                "-c",
                """
                openssl pkcs12 -in '\(copy)' -passin stdin | tail -n 1 \
                | perl -pe 's/\\W//g; $_ = pack "H*", $_'
                """,
            ],
            input: (passphrase + "\n").utf8
        )
        #expect(opened.stdout == secret, "\(opened)")
        try forget()
        #expect(try tool.run(["key", "import", copy] + item + withPassphrase).status == 0)
        #expect(try lookup() == secret)
    }

    @Test func wrongPassphraseAndDamagedCopiesStoreNothing() throws {
        #expect(try export().status == 0)
        try forget()
        let bytes = [UInt8](try tool.folder.data("notes.p12"))
        try tool.folder.write("wrong", "wrong".utf8)
        chmod(tool.folder.path("wrong"), 0o600)
        try expectRefused(
            tool.run(
                ["key", "import", copy, "--json", "--recovery-password-file"]
                    + [tool.folder.path("wrong")] + item
            ),
            77,
            "wrongRecoveryPassphrase"
        )
        var changed = bytes
        changed[bytes.count / 2] ^= 1
        for (damaged, status, code) in [
            (Array(bytes.dropLast()), 65, "damagedRecoveryCopy"),
            (Array(bytes.prefix(40)), 65, "damagedRecoveryCopy"),
            (bytes + [10], 65, "damagedRecoveryCopy"),
            (changed, 77, "wrongRecoveryPassphrase"),
            (Array("no copy\n".utf8), 65, "noRecoveryCopy"),
            ([], 65, "noRecoveryCopy"),
        ] as [([UInt8], Int32, String)] {
            try tool.folder.write("damaged", damaged)
            let import_ = ["key", "import", tool.folder.path("damaged"), "--json"]
            try expectRefused(tool.run(import_ + item + withPassphrase), status, code)
        }
        #expect(try lookup() == "")
        let missing = ["key", "import", tool.folder.path("none"), "--json"]
        try expectRefused(tool.run(missing + item), 66, "noSuchKeyFile")
    }

    @Test func exportReplacesNoFileAndChecksTheKeyFirst() throws {
        try tool.folder.write("notes.p12", "mine".utf8)
        try expectRefused(export("--json"), 73, "exists")
        #expect(try tool.folder.data("notes.p12") == Data("mine".utf8))
        let elsewhere = ["--output", tool.folder.path("none/copy"), "--json"]
        try expectRefused(
            tool.run(["key", "export"] + opening + withPassphrase + elsewhere),
            73,
            "cannotWrite"
        )
        try FileManager.default.removeItem(atPath: copy)
        try store(ToolFolder.randomDigits(count: 64), "--replace", "--yes")
        try expectRefused(export("--json"), 77, "wrongKey")
        #expect(!FileManager.default.fileExists(atPath: copy))
        // Without a terminal, nobody is asked for a passphrase.
        let unasked = ["key", "export", "--output", copy, "--json"] + item
        try expectRefused(tool.run(unasked), 64, "noRecoveryPassphrase")
        try tool.folder.write("recovery", "two\nlines".utf8)
        try expectRefused(tool.run(unasked + withPassphrase), 77, "unusableKey")
    }

    @Test func passphraseIsAskedForTwiceOnATerminal() throws {
        let terminal = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["key", "export", "--output", copy] + opening,
            environment: tool.environment
        )
        for question in ["Passphrase of the recovery copy: ", "Once more: "] {
            #expect(terminal.wait(for: question))
            #expect(!terminal.echoes)
            terminal.type((passphrase + "\n").utf8)
        }
        let exported = terminal.finish()
        #expect(exported.status == 0, "\(exported)")
        #expect(!terminal.text.contains(passphrase))
        try forget()
        let other = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["key", "import", copy] + item,
            environment: tool.environment
        )
        #expect(other.wait(for: "Passphrase of the recovery copy: "))
        other.type((passphrase + "\n").utf8)
        #expect(other.finish().status == 0)
        #expect(try lookup() == tool.password)
    }

    @Test func anotherKeyIsReplacedOnlyOnRequestAndKept() throws {
        #expect(try export().status == 0)
        let other = ToolFolder.randomDigits(count: 64)
        try store(other, "--replace", "--yes")
        let import_ = ["key", "import", copy, "--json"] + opening + withPassphrase
        try expectRefused(tool.run(import_), 73, "keyExists")
        try expectRefused(tool.run(import_ + ["--replace"]), 64, "needsConfirmation")
        #expect(try lookup() == other)
        let replaced = try tool.run(import_ + ["--replace", "--yes"])
        #expect(replaced.status == 0, "\(replaced)")
        #expect(try replaced.json()["replaced"] as? Bool == true)
        #expect(try lookup() == tool.password)
        // Beside it is the key that it had replaced itself.
        let kept = try secrets.run(
            "secret-tool",
            ["search", "--all", "service", "migrationkit-previous: org.notes"]
        )
        let keepsBoth = [other, tool.password].allSatisfy { kept.stdout.contains("= \($0)\n") }
        #expect(keepsBoth)
    }

    @Test func keyThatDoesNotOpenTheDatabaseIsNotStored() throws {
        #expect(try export().status == 0)
        try forget()
        let other = tool.folder.path("other.db")
        _ = try SQLCipherShell.run(other, key: "another", "CREATE TABLE t (a);")
        let import_ = ["key", "import", copy, "--json", "--db-path", other] + withPassphrase
        try expectRefused(tool.run(import_ + item), 77, "wrongKey")
        #expect(try lookup() == "")
    }

    @Test func lockedCollectionLosesNothing() throws {
        #expect(try export().status == 0)
        try secrets.lock()
        let import_ = ["key", "import", copy, "--json", "--no-prompt"] + item + withPassphrase
        try expectRefused(tool.run(import_), 77, "collectionLocked")
        let second = tool.folder.path("second.p12")
        let again = ["key", "export", "--output", second, "--json", "--no-prompt"]
        try expectRefused(tool.run(again + item + withPassphrase), 77, "collectionLocked")
        #expect(!FileManager.default.fileExists(atPath: second))
    }

    @Test func keyFilesNeedNoSecretService() throws {
        var tool = tool
        tool.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
        let exported = try tool.run(
            ["key", "export", "--output", copy] + tool.opening + withPassphrase
        )
        #expect(exported.status == 0, "\(exported)")
        let file = tool.folder.path("back")
        let import_ = ["key", "import", copy, "--output", file, "--db-path", tool.database]
        let imported = try tool.run(import_ + withPassphrase)
        #expect(imported.status == 0, "\(imported)")
        #expect(imported.stdout.contains("--password-file \(file) --raw-key"))
        #expect(try tool.folder.data("back") == Data(tool.password.utf8))
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        try expectRefused(tool.run(import_ + withPassphrase + ["--json"]), 73, "exists")
        try expectRefused(
            tool.run(["key", "import", copy, "--json"] + item + withPassphrase),
            69,
            "noBus"
        )
    }

    @Test func whereTheSettingsNameAKeyFileTheKeyIsWrittenToIt() throws {
        #expect(try export().status == 0)
        let settings = tool.folder.path("settings.toml")
        try tool.folder.write("settings.toml", "db-path = 'store.db'\npassword-file = 'key'\n".utf8)
        let file = tool.folder.path("key")
        let back = ["key", "import", copy, "--config", settings] + withPassphrase
        let refused = try tool.run(back)
        #expect(refused.status == 64)
        #expect(refused.stderr.contains("the settings name the key file \(file)"), "\(refused)")
        #expect(refused.stderr.contains("--output \(file)"), "\(refused)")
        try expectRefused(tool.run(back + ["--json"]), 64, "noItemNamed")

        try forget()
        let stored = try tool.run(back + item)
        #expect(stored.status == 0)
        #expect(stored.stderr.contains("note: the settings name the key file"), "\(stored)")

        #expect(try tool.run(back + ["--output", file]).status == 0)
        let status = try tool.run(["tables", "--config", settings, "--raw-key"])
        #expect(status.status == 0, "\(status)")
    }
}
