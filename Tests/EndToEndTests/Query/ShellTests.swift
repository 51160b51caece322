import Foundation
import TestSupport
import Testing

/// `shell` hands the database to the `sqlcipher` shell, and its key to nobody else.
@Suite struct ShellTests {
    private let tool: Tool

    init() throws {
        var tool = try Tool(isRawKey: true)
        tool.environment["HOME"] = tool.folder.path
        self.tool = tool
        _ = try tool.shell("CREATE TABLE note (title); INSERT INTO note VALUES ('one');")
    }

    private func shell(_ arguments: [String] = [], input: String) throws -> ProcessResult {
        try tool.run(["shell"] + tool.opening + arguments, input: input)
    }

    @Test func commandsRunAndTheExitCodeIsTheShells() throws {
        let result = try shell(input: "SELECT title FROM note;\nPRAGMA temp_store;\n")
        #expect(result.stdout == "one\n2\n", "\(result)")
        #expect(result.stderr == "" && result.status == 0)
        #expect(try shell(input: ".exit 7\n").status == 7)
        #expect(
            try shell(["--", "-csv", "SELECT title, 1 FROM note"], input: "").stdout == "one,1\n"
        )
    }

    /// What opens a file: the version of SQLCipher, and what the settings say beside it.
    @Test(arguments: [1, 2, 3, 4])
    func everyVersionOpens(_ version: Int) throws {
        let path = tool.folder.path("old.db")
        let passphrase = "it's a \"pass\" \\ — ünïcode"
        try tool.folder.write("passphrase", passphrase.utf8)
        _ = try SQLCipherShell.run(
            path,
            key: passphrase,
            compatibility: version,
            "CREATE TABLE note (title); INSERT INTO note VALUES ('v\(version)');"
        )
        let result = try tool.run(
            [
                "shell", "--db-path", path, "--password-file", tool.folder.path("passphrase"),
                "--cipher-compatibility", "\(version)",
            ],
            input: "SELECT title FROM note;\n"
        )
        #expect(result.stdout == "v\(version)\n" && result.status == 0, "\(result)")
    }

    @Test func chosenSettingsAndPlaintextOpen() throws {
        let path = tool.folder.path("own.db")
        _ = try SQLCipherShell.run(
            path,
            key: "x'\(tool.password)'",
            "PRAGMA cipher_page_size = 8192; PRAGMA cipher_hmac_algorithm = HMAC_SHA256; CREATE TABLE own (a);"
        )
        let own = try tool.run(
            [
                "shell", "--db-path", path, "--password-file", tool.folder.path("password"),
                "--raw-key", "--cipher-page-size", "8192", "--hmac-algorithm", "sha256",
            ],
            input: ".tables\n"
        )
        #expect(own.stdout == "own\n", "\(own)")
        let plain = tool.folder.path("plain.db")
        _ = try SQLCipherShell.run(plain, key: nil, "CREATE TABLE plain (a);")
        let result = try tool.run(
            ["shell", "--db-path", plain, "--no-encryption"],
            input: ".tables\nPRAGMA temp_store;\n"
        )
        #expect(result.stdout.contains("plain") && result.stdout.hasSuffix("2\n"), "\(result)")
    }

    @Test func aPlaintextHeaderOpensWithItsSalt() throws {
        let path = tool.folder.path("header.db")
        let salt = ToolFolder.randomDigits(count: 32)
        _ = try SQLCipherShell.run(
            path,
            key: tool.shellKey,
            """
            PRAGMA cipher_plaintext_header_size = 32; PRAGMA cipher_salt = "x'\(salt)'";
            CREATE TABLE note (body); INSERT INTO note VALUES ('zettel');
            """
        )
        let shown = try tool.run(
            ["shell", "--db-path", path, "--password-file", tool.folder.path("password")]
                + ["--raw-key", "--cipher-salt", salt],
            input: "SELECT body FROM note;\n"
        )
        #expect(shown.stdout.contains("zettel"), "\(shown)")
    }

    @Test func wrongKeyIsExplainedBeforeTheShellStarts() throws {
        try tool.folder.write("password", ToolFolder.randomDigits(count: 64).utf8)
        let result = try shell(input: "SELECT 1;\n")
        #expect(result.status == 77 && result.stdout == "", "\(result)")
    }

    /// A write-ahead log hides commits from SQLite, whose first change would overwrite them.
    @Test func aDamagedLogIsLeftAsItIs() throws {
        _ = try tool.shell(
            """
            .dbconfig no_ckpt_on_close on
            PRAGMA journal_mode = WAL;
            INSERT INTO note VALUES ('two'); INSERT INTO note VALUES ('three');
            """
        )
        var log = try tool.folder.data("store.db-wal")
        // Of the first frame the salt.
        log[41] ^= 0x5a
        try tool.folder.write("store.db-wal", log)
        let database = try tool.folder.data("store.db")
        let result = try shell(input: "SELECT count(*) FROM note;")
        #expect(result.status == 74, "\(result)")
        #expect(try tool.folder.data("store.db") == database)
        #expect(try tool.folder.data("store.db-wal") == log)
    }

    @Test func missingShellIsNamedWithWhatToInstall() throws {
        for program in ["no-such-shell", "/nowhere/sqlcipher", tool.folder.path] {
            let result = try shell(["--program", program], input: "")
            #expect(result.status == 69, "\(result)")
            #expect(result.stderr.contains("there is no program '\(program)'"))
            #expect(result.stderr.contains("apt install sqlcipher"))
        }
    }

    @Test func keyIsNotReadFromTheShellsInput() throws {
        let result = try tool.run(
            ["shell", "--db-path", tool.database, "--password-file", "-", "--raw-key"],
            input: tool.password
        )
        #expect(result.status == 64 && result.stdout == "", "\(result)")
    }

    /// A shell on a terminal, looked at from outside while it waits for a command.
    @Test func keyIsNeitherShownNorKeptNorReadable() throws {
        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["shell"] + tool.opening,
            environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
        )
        #expect(process.wait(for: "sqlite>"), "\(process.text)")
        let folder = "/proc/\(process.processIdentifier)"
        let digits = Data(tool.password.utf8)
        // It is the shell itself, in the place of the tool.
        let line = try Data(contentsOf: URL(fileURLWithPath: folder + "/cmdline"))
        #expect(line.starts(with: Data("sqlcipher\0-init\0/dev/fd/".utf8)))
        let environment = try Data(contentsOf: URL(fileURLWithPath: folder + "/environ"))
        for data in [line, environment] { #expect(data.range(of: digits) == nil) }
        var pipes = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: folder + "/fd") {
            let target = try FileManager.default.destinationOfSymbolicLink(
                atPath: "\(folder)/fd/\(name)"
            )
            #expect(!target.hasSuffix("/password"))
            guard target.hasPrefix("pipe:") else { continue }
            pipes += 1
            let copy = open("\(folder)/fd/\(name)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            defer { if copy >= 0 { close(copy) } }
            var bytes = [UInt8](repeating: 0, count: 100)
            // Empty for ever: the other end is closed.
            #expect(copy >= 0 && read(copy, &bytes, 100) == 0)
        }
        #expect(pipes == 1)

        process.type("SELECT title || title FROM note;\r".utf8)
        #expect(process.wait(for: "oneone"))
        // Ctrl-C ends a statement of the shell, and not the shell.
        process.type(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
            SELECT 'run' || 'ning' UNION ALL SELECT count(*) FROM n;\r
            """.utf8
        )
        #expect(process.wait(for: "running"), "\(process.text)")
        process.type([3])
        #expect(process.wait(for: "interrupted"), "\(process.text)")
        process.type(".exit 5\r".utf8)
        let result = process.finish()
        #expect(result.status == 5)
        #expect(Data(result.outputBytes).range(of: digits) == nil)
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
    }

    /// Everything that the shell writes anywhere, while it sorts more than fits its memory.
    @Test func nothingOfKeyOrRowsIsWrittenToAFile() throws {
        _ = try tool.shell(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000)
            INSERT INTO note SELECT 'zettelkasten' || abs(random()) || printf('%.*c', 80, 'x') FROM n;
            """
        )
        let calls = try WrittenFiles.calls(
            [builtExecutable("migrationkit-cli"), "shell"] + tool.opening,
            environment: tool.environment,
            input: "SELECT count(*) FROM (SELECT DISTINCT title FROM note ORDER BY title);\n"
        )
        #expect(calls.contains { $0.contains("300001") })
        #expect(!calls.contains { $0.contains(tool.password) && !$0.contains("pipe:") })
        #expect(!calls.contains { $0.contains("zettelkasten") })
        #expect(!calls.contains { $0.contains("/var/tmp") || $0.contains("etilqs") })
    }
}
