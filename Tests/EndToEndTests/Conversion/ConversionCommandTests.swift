import Foundation
import TestSupport
import Testing

@Suite struct ConversionCommandTests {
    private let tool: Tool
    private let newKey: String

    init() throws {
        tool = try Tool(isRawKey: true)
        newKey = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("new", newKey.utf8)
    }

    private func makePlaintext(_ path: String? = nil) throws {
        _ = try SQLiteShell.run(
            path ?? tool.database,
            "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
        )
    }

    private func makeEncrypted() throws {
        _ = try tool.shell("CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');")
    }

    private func row(key: String?) throws -> String {
        try SQLCipherShell.run(tool.database, key: key, "SELECT a FROM t;")
    }

    private var spelled: String { "x'\(tool.password)'" }

    private func run(_ arguments: String...) throws -> ProcessResult {
        try tool.run([arguments[0]] + tool.opening + arguments.dropFirst())
    }

    // MARK: - What They Do

    @Test func rekeyTakesTheNewKeyFromEverySource() throws {
        try makeEncrypted()
        let file = try run(
            "rekey",
            "--new-password-file",
            tool.folder.path("new"),
            "--new-raw-key",
            "--json"
        )
        #expect(file.status == 0, "\(file)")
        let document = try file.json()
        #expect(document["schemaVersion"] as? Int == 1)
        #expect(document["database"] as? String == tool.database)
        #expect(document["rows"] as? Int == 1)
        #expect(try row(key: "x'\(newKey)'") == "zettel")

        let opening = [
            "--db-path", tool.database, "--password-file", tool.folder.path("new"), "--raw-key",
        ]
        let command = try tool.run(
            ["rekey", "--new-password-command", "echo a passphrase"] + opening
        )
        #expect(command.status == 0, "\(command)")
        #expect(try row(key: "a passphrase") == "zettel")

        let input = try tool.run(
            [
                "rekey", "--db-path", tool.database, "--password-command", "echo a passphrase",
                "--new-password-file", "-",
            ],
            input: "another one\n"
        )
        #expect(input.status == 0, "\(input)")
        #expect(try row(key: "another one") == "zettel")
    }

    @Test func anInputThatTheEnvironmentNamesGivesOneKeyOnly() throws {
        try makeEncrypted()
        var tool = tool
        tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = "/dev/stdin"
        let result = try tool.run(
            [
                "rekey", "--db-path", tool.database, "--raw-key", "--new-password-file", "-",
                "--json",
            ],
            input: tool.password
        )
        #expect(result.status == 64, "\(result)")
        let message = try result.jsonError()["message"] as? String
        #expect(message == "standard input can give one of the two keys only.")
    }

    @Test func newPassphraseIsAskedForTwice() throws {
        try makeEncrypted()
        for (second, status) in [("a slip", Int32(64)), ("new one", 0)] {
            let process = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                ["rekey"] + tool.opening,
                environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
            )
            #expect(process.wait(for: "New passphrase for \(tool.database): "))
            process.type(Array("new one\n".utf8))
            #expect(process.wait(for: "Once more: "))
            process.type(Array("\(second)\n".utf8))
            #expect(process.finish().status == status)
        }
        #expect(try row(key: "new one") == "zettel")
    }

    @Test func decryptAsksFirst() throws {
        try makeEncrypted()
        let before = try tool.folder.data("store.db")
        let unanswered = try run("decrypt", "--json")
        #expect(unanswered.status == 64)
        #expect(try unanswered.jsonError()["code"] as? String == "needsConfirmation")
        #expect(try tool.folder.data("store.db") == before)

        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["decrypt"] + tool.opening,
            environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
        )
        #expect(process.wait(for: "? Anyone who can read the file"))
        #expect(process.wait(for: "[y/N] "))
        process.type(Array("n\n".utf8))
        #expect(process.finish().status == 77)
        #expect(try tool.folder.data("store.db") == before)

        #expect(try run("decrypt", "--yes").status == 0)
        #expect(try row(key: nil) == "zettel")
    }

    // MARK: - What They Refuse

    @Test func otherProcessIsNamed() throws {
        try makeEncrypted()
        let holder = try LockHolder(tool.database, key: spelled)
        let result = try run("decrypt", "--yes", "--lock-timeout", "0.2")
        #expect(result.status == 75)
        #expect(result.stderr.contains("is open in process "), "\(result)")
        #expect(result.stderr.contains("(python"))
        try holder.release()
        #expect(try run("decrypt", "--yes", "--lock-timeout", "0.2").status == 0)
    }

    @Test func controlCLeavesTheStoreAsItWas() throws {
        try makeEncrypted()
        let holder = try LockHolder(tool.database, key: spelled)
        let before = try tool.folder.data("store.db")
        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["decrypt", "--yes"] + tool.opening,
            environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
        )
        #expect(process.wait(for: "\r\u{1B}[2Kwaiting for process "))
        process.type([3])
        let result = process.finish()
        #expect(result.status == 130)
        let ending = "\r\u{1B}[2K\u{1B}[31merror:\u{1B}[0m interrupted"
        #expect(result.stdout.contains(ending), "\(result)")
        try holder.release()
        #expect(try tool.folder.data("store.db") == before)
        #expect(try tool.folder.names == ["migrations", "new", "password", "store.db"])
    }

    @Test func folderThatCantBeWrittenIsTold() throws {
        try tool.folder.makeFolder("closed")
        let path = tool.folder.path("closed/store.db")
        try makePlaintext(path)
        let before = try tool.folder.snapshot()
        #expect(chmod(tool.folder.path("closed"), 0o500) == 0)
        let command = [
            try builtExecutable("migrationkit-cli"), "encrypt", "--db-path", path,
            "--password-file", tool.folder.path("password"), "--raw-key", "--json",
        ]
        let asOwner = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
        let words = (geteuid() == 0 ? asOwner : []) + command
        let result = try TestSupport.run(
            words[0],
            Array(words.dropFirst()),
            environment: tool.environment,
            newSession: true
        )
        #expect(chmod(tool.folder.path("closed"), 0o700) == 0)
        #expect(result.status == 77)
        #expect(try result.jsonError()["code"] as? String == "readOnlyFolder")
        #expect(try tool.folder.snapshot() == before)
    }

    @Test(arguments: ["rekey", "decrypt", "backup", "restore"])
    func fullDiskLeavesTheStoreAsItWas(_ command: String) throws {
        _ = try tool.shell(
            """
            CREATE TABLE t (a);
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200)
            INSERT INTO t SELECT hex(randomblob(1900)) FROM n;
            """
        )
        let before = try tool.folder.data("store.db")
        #expect(before.count > 800_000)
        let elsewhere = try TemporaryFolder()
        let extra =
            switch command {
            case "rekey": ["--new-password-file", tool.folder.path("new"), "--new-raw-key"]
            case "backup": ["--output", tool.folder.path("backup.db")]
            case "restore": ["--from", elsewhere.path("backup.db"), "--yes"]
            default: ["--yes"]
            }
        if command == "restore" {
            #expect(try run("backup", "--output", elsewhere.path("backup.db")).status == 0)
        }
        // A file system that nobody else sees; the store goes into it and comes out again.
        let script = #"""
            folder=$1 copy=$(mktemp -d); shift
            trap "rm -rf $copy" EXIT
            cp -a "$folder/." $copy && mount -t tmpfs -o size=1200k,mode=700 none "$folder" &&
                cp -a $copy/. "$folder" || exit 99
            "$@"; status=$?
            rm -rf $copy && cp -a "$folder" $copy && umount "$folder" &&
                find "$folder" -mindepth 1 -delete && cp -a $copy/. "$folder" || exit 98
            exit $status
            """#
        let result = try TestSupport.run(
            "unshare",
            [
                "--mount", "--map-root-user", "bash", "-c", script, "bash", tool.folder.path,
                try builtExecutable("migrationkit-cli"), command, "--json",
            ] + tool.opening + extra,
            environment: tool.environment,
            newSession: true
        )
        #expect(result.status == 74, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "diskFull")
        // It is said before anything is written, with what is needed and what is there.
        let message = try #require(try result.jsonError()["message"] as? String)
        let said = try #require(
            message.firstMatch(
                of: /the new file needs ([0-9.]+) MB in .+, and ([0-9.]+) MB are free/
            )
        )
        #expect(try #require(Double(said.1)) > #require(Double(said.2)), "\(message)")
        #expect(try tool.folder.data("store.db") == before)
        #expect(try tool.folder.names == ["migrations", "new", "password", "store.db"])
    }
}
