import Foundation
import TestSupport
import Testing

@Suite struct BackupCommandTests {
    private let tool: Tool
    private let newKey: String
    private var backup: String { tool.folder.path("backup.db") }

    init() throws {
        tool = try Tool(isRawKey: true)
        newKey = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("new", newKey.utf8)
        _ = try tool.shell(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
        )
    }

    private func run(_ arguments: String...) throws -> ProcessResult {
        try tool.run([arguments[0]] + tool.opening + arguments.dropFirst())
    }

    private func rows(_ path: String, key: String? = nil) throws -> String {
        try SQLCipherShell.run(path, key: "x'\(key ?? tool.password)'", "SELECT a FROM t;")
    }

    @Test func keysComeFromTheSourcesThatRekeyHas() throws {
        let made = try run(
            "backup",
            "--output",
            backup,
            "--new-password-command",
            "cat \(tool.folder.path("new"))",
            "--new-raw-key",
            "--json"
        )
        #expect(made.status == 0, "\(made)")
        #expect(try made.json()["compared"] as? Bool == true)
        #expect(try rows(backup, key: newKey) == "zettel")
        let restored = try tool.run(
            [
                "restore", "--db-path", tool.folder.path("back.db"), "--from", backup,
                "--password-file", tool.folder.path("new"), "--raw-key",
                "--new-password-file", "-", "--new-raw-key",
            ],
            input: tool.password
        )
        #expect(restored.status == 0, "\(restored)")
        #expect(try rows(tool.folder.path("back.db")) == "zettel")
    }

    @Test func restoreAsksFirst() throws {
        #expect(try run("backup", "--output", backup).status == 0)
        let before = try tool.folder.data("store.db")
        for (answer, status) in [("n", Int32(77)), ("y", 0)] {
            let process = try TerminalProcess(
                builtExecutable("migrationkit-cli"),
                ["restore", "--from", backup] + tool.opening,
                environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
            )
            #expect(process.wait(for: "Replace \(tool.database) with the backup \(backup)?"))
            #expect(process.wait(for: "[y/N] "))
            #expect(try tool.folder.data("store.db") == before)
            process.type(Array("\(answer)\n".utf8))
            #expect(process.finish().status == status)
        }
        #expect(try tool.folder.data("store.db") != before)
        #expect(try rows(tool.database) == "zettel")
    }

    @Test func controlCLeavesTheDatabaseAsItWas() throws {
        #expect(try run("backup", "--output", backup).status == 0)
        let holder = try LockHolder(tool.database, key: "x'\(tool.password)'")
        let process = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["restore", "--yes", "--from", backup] + tool.opening,
            environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
        )
        #expect(process.wait(for: "\r\u{1B}[2Kwaiting for process "))
        process.type([3])
        #expect(process.finish().status == 130)
        try holder.release()
        #expect(
            try tool.folder.names
                == ["backup.db", "migrations", "new", "password", "store.db"]
        )
        #expect(try rows(tool.database) == "zettel")
    }

    /// On a medium that can't be written SQLite itself can't open a database in WAL mode.
    @Test func databaseOnAMediumThatCantBeWrittenIsBackedUpAndRestored() throws {
        try tool.folder.makeFolder("medium")
        let start = tool.database
        // With a row in the log, as a copy of a running system has it.
        let medium = tool.folder.path("medium/store.db")
        _ = try tool.shell(
            """
            PRAGMA wal_autocheckpoint = 0;
            INSERT INTO t VALUES ('in the log');
            .shell cp \(start) \(medium); cp \(start)-wal \(medium)-wal
            """
        )
        let before = try tool.folder.snapshot().entries.filter { $0.key.hasPrefix("medium/") }
        let script = #"""
            mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
            ! touch "$1/x" 2>/dev/null || exit 98
            shift; tool=$1; shift
            "$tool" backup --db-path "$1" --output "$2" --password-file "$4" --raw-key &&
                "$tool" restore --db-path "$3" --from "$1" --password-file "$4" --raw-key
            """#
        let result = try TestSupport.run(
            "unshare",
            [
                "--mount", "--map-root-user", "bash", "-c", script, "bash",
                tool.folder.path("medium"), try builtExecutable("migrationkit-cli"), medium, backup,
                tool.folder.path("back.db"), tool.folder.path("password"),
            ],
            environment: tool.environment,
            newSession: true
        )
        #expect(result.status == 0, "\(result)")
        #expect(try rows(backup) == "zettel\nin the log")
        #expect(try rows(tool.folder.path("back.db")) == "zettel\nin the log")
        #expect(
            try tool.folder.snapshot().entries.filter { $0.key.hasPrefix("medium/") } == before
        )
    }

    /// The folder of the database is on another file system than the output.
    @Test func outputMayBeOnAnotherFileSystem() throws {
        let script = #"""
            mount -t tmpfs none "$1" || exit 99
            "$2" backup --db-path "$3" --output "$1/b.db" --password-file "$4" --raw-key &&
                "$2" restore --db-path "$5" --from "$1/b.db" --password-file "$4" --raw-key
            """#
        let result = try TestSupport.run(
            "unshare",
            [
                "--mount", "--map-root-user", "bash", "-c", script, "bash", tool.migrations,
                try builtExecutable("migrationkit-cli"), tool.database,
                tool.folder.path("password"), tool.folder.path("back.db"),
            ],
            environment: tool.environment,
            newSession: true
        )
        #expect(result.status == 0, "\(result)")
        #expect(try rows(tool.folder.path("back.db")) == "zettel")
    }
}
