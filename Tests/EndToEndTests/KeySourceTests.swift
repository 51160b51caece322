import Foundation
import TestSupport
import Testing

/// The ways by which a process gets a key: streams, other programs, the terminal.
@Suite struct KeySourceTests {
    var tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
    }

    private var store: [String] { ["--db-path", tool.database, "--migrations", tool.migrations] }
    private var passwordFile: String { tool.folder.path("password") }

    private func status(_ arguments: String..., input: String = "") throws -> ProcessResult {
        try tool.run(["status"] + store + arguments, input: input)
    }

    /// Runs the tool's `status` from a line of a shell's, in which `$TOOL` stands for it.
    private func shell(_ shell: String, _ line: String) throws -> ProcessResult {
        var environment = tool.environment
        environment["KEY_FILE"] = passwordFile
        let words = [try builtExecutable("migrationkit-cli"), "status"] + store
        return try TestSupport.run(
            shell,
            ["-c", line, shell] + words,
            environment: environment,
            newSession: true
        )
    }

    private func expectFailure(
        _ result: ProcessResult,
        _ exit: Int32,
        _ code: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(result.status == exit, "\(result)", sourceLocation: sourceLocation)
        #expect(
            try result.jsonError()["code"] as? String == code,
            "\(result)",
            sourceLocation: sourceLocation
        )
    }

    // MARK: - Options

    @Test func standardInputWithoutANewlineOrWithOne() throws {
        for input in [tool.password, tool.password + "\n", tool.password + "\r\n"] {
            #expect(try status("--password-file", "-", input: input).status == 0)
        }
        let two = try status("--password-file", "-", "--json", input: tool.password + "\n\n")
        try expectFailure(two, 77, "wrongKey")
        #expect(try two.jsonError()["keySource"] as? String == "standard input")
    }

    @Test func descriptor() throws {
        let result = try shell("sh", "\"$@\" --password-fd 5 5<\"$KEY_FILE\"")
        #expect(result.status == 0, "\(result)")
        try expectFailure(status("--password-fd", "9", "--json"), 64, "unusableKeySource")
    }

    @Test func processSubstitution() throws {
        let result = try shell("bash", "\"$@\" --password-file <(cat \"$KEY_FILE\")")
        #expect(result.status == 0, "\(result)")
    }

    @Test func command() throws {
        #expect(try status("--password-command", "cat '\(passwordFile)'").status == 0)
        // Without a shell, so that a variable is a word like any other.
        let words = try status("--password-command", "echo $HOME", "--json")
        try expectFailure(words, 77, "wrongKey")
        #expect(try words.jsonError()["keySource"] as? String == "the command \"echo\"")
    }

    @Test(arguments: [
        ("sh -c 'echo no luck >&2; exit 3'", 77, "passwordCommandFailed", "status 3"),
        ("sh -c 'kill -TERM $$'", 77, "passwordCommandFailed", "signal 15"),
        ("/no/such/program", 77, "passwordCommandFailed", "/no/such/program"),
        ("echo 'half a word", 64, "unusableKeySource", "'"),
        ("", 64, "unusableKeySource", "empty"),
        ("true", 77, "emptyKey", "empty"),
        ("head -c 65537 /dev/zero", 77, "keyTooLarge", "65536"),
    ]) func commandThatFails(_ command: String, exit: Int32, code: String, word: String) throws {
        let before = try tool.folder.snapshot()
        let human = try status("--password-command", command)
        #expect(human.status == exit, "\(human)")
        #expect(human.stderr.contains("error: ") && human.stderr.contains(word), "\(human)")
        // What the command itself says comes first.
        #expect(human.stderr.hasPrefix(command.contains("no luck") ? "no luck\n" : "error: "))
        let json = try status("--password-command", command, "--json")
        #expect(json.status == exit)
        #expect(json.stderr.contains("\"code\":\"\(code)\""), "\(json)")
        #expect(try tool.folder.snapshot() == before)
    }

    @Test func commandInheritsNothingOfOurs() throws {
        var tool = tool
        tool.environment["MIGRATIONKIT_PASSWORD"] = "not for others"
        let seen = tool.folder.path("seen")
        let script = "env >\"\(seen)\"; ls -l /proc/self/fd >>\"\(seen)\"; cat \"\(passwordFile)\""
        let result = try tool.run(
            ["status"] + store + ["--password-command", "sh -c '\(script)'"],
            input: "nothing for it"
        )
        #expect(result.status == 0, "\(result)")
        let text = try String(contentsOfFile: seen, encoding: .utf8)
        #expect(text.contains("PATH="))
        #expect(!text.contains("MIGRATIONKIT_PASSWORD"))
        #expect(text.contains("/dev/null"))
        #expect(!text.contains("store.db"))
    }

    @Test func rawKeyWantsItsDigits() throws {
        for (digits, exit) in [
            (String(repeating: "a1", count: 32), Int32(77)),
            (String(repeating: "a", count: 63), 77),
        ] {
            let result = try status("--raw-key", "--password-file", "-", "--json", input: digits)
            try expectFailure(result, exit, digits.count == 64 ? "wrongKey" : "unusableKey")
        }
        let spelled = "x'\(String(repeating: "a1", count: 32))'"
        let refused = try status("--password-file", "-", "--json", input: spelled)
        try expectFailure(refused, 77, "unusableKey")
        #expect(!refused.stderr.contains("a1a1"))
    }

    // MARK: - Without an option

    @Test mutating func credentialComesBeforeTheEnvironment() throws {
        try tool.folder.makeFolder("credentials")
        tool.environment["CREDENTIALS_DIRECTORY"] = tool.folder.path("credentials")
        tool.environment["MIGRATIONKIT_PASSWORD"] = "another"
        tool.environment["MIGRATIONKIT_KEYCHAIN_SERVICE"] = "another"
        // There is none yet, so the environment counts: the keychain before the password.
        tool.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(tool.folder.path("no-bus"))"
        try expectFailure(status("--json"), 69, "noBus")
        tool.environment["MIGRATIONKIT_KEYCHAIN_SERVICE"] = ""
        try expectFailure(status("--json"), 77, "wrongKey")

        // Its mode is its manager's business.
        tool.environment["MIGRATIONKIT_KEYCHAIN_SERVICE"] = "another"
        let credential = "credentials/migrationkit-password"
        try tool.folder.write(credential, tool.password.utf8, mode: 0o444)
        #expect(try status().status == 0)
        // An account names the keychain, and an option any other source.
        try expectFailure(status("--keychain-account", "a", "--json"), 69, "noBus")
        let file = try tool.folder.write("other", "another".utf8)
        let explicit = try status("--password-file", file, "--json")
        try expectFailure(explicit, 77, "wrongKey")
        #expect(try explicit.jsonError()["keySource"] as? String == "the file \"\(file)\"")
    }

    // MARK: - On a terminal

    private func terminal(_ arguments: String...) throws -> TerminalProcess {
        try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["status"] + store + arguments,
            environment: tool.environment
        )
    }

    @Test func terminalIsAskedWithoutEcho() throws {
        let terminal = try terminal()
        #expect(terminal.wait(for: "Passphrase for \(tool.database): "))
        #expect(!terminal.echoes)
        terminal.type("\(tool.password)\n".utf8)
        let result = terminal.finish()
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("Nothing is pending."))
        #expect(!result.stdout.contains(tool.password))
    }

    @Test func interruptEndsTheToolAtTheTerminal() throws {
        let terminal = try terminal()
        #expect(terminal.wait(for: "Passphrase for"))
        terminal.type([0x03])
        #expect(terminal.finish().signal == SIGINT)
    }

    @Test func nobodyIsAskedWhereNobodyIsToBe() throws {
        let result = try terminal("--no-prompt").finish()
        #expect(result.status == 64)
        #expect(result.stdout.contains("no key was given"))
    }
}
