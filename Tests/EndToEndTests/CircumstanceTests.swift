import Foundation
import TestSupport
import Testing

/// What the shell that starts the tool has made of its words, its environment and its limits.
@Suite struct CircumstanceTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
    }

    /// Runs a script of the shell, in which `tool` is the tool, in the folder of the store.
    private func run(_ script: String) throws -> ProcessResult {
        let program = try builtExecutable("migrationkit-cli")
        let start = "cd \(tool.folder.path("")) && tool() { \(program) \"$@\"; }"
        return try TestSupport.run(
            "/bin/bash",
            ["-c", "\(start); \(script)"],
            environment: tool.environment,
            newSession: true
        )
    }

    /// The character that stands for bytes that are no text, is in the name of another file.
    @Test func aPathThatIsNoTextIsNotTakenForAnotherOne() throws {
        let key = "--raw-key --password-file password"
        let files = "cp store.db $'v\\xff.db'; cp store.db $'v\\xef\\xbf\\xbd.db'"
        for command in [
            "tool rekey --db-path $'v\\xff.db' \(key) --new-password-file password --json",
            "MIGRATIONKIT_DB_PATH=$'v\\xff.db' tool rekey \(key) --new-password-file password --json",
        ] {
            let result = try run("\(files); cat v*.db | sha256sum >before; \(command)")
            #expect(result.status == 64, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "notText")
            let compared = try run("cat v*.db | sha256sum | cmp - before")
            #expect(compared.status == 0, "\(compared)")
        }
    }

    /// Escape, bell and carriage return, in the name of a file that somebody else has chosen.
    @Test(arguments: [
        "key check", "inspect", "status --migrations migrations", "verify", "history",
        "backup --output $'c\\e\\a\\r.db'", "decrypt --yes --output $'d\\e\\a\\r.db'",
    ])
    func namesDoNothingToATerminal(_ command: String) throws {
        let result = try run(
            """
            cp store.db $'a\\e]0;b\\a\\r.db'
            tool \(command) --db-path $'a\\e]0;b\\a\\r.db' --raw-key --password-file password
            """
        )
        #expect(result.status == 0, "\(result)")
        #expect(!result.outputBytes.contains { $0 == 0x1b || $0 == 7 || $0 == 13 }, "\(result)")
        #expect(!result.errorBytes.contains { $0 == 0x1b || $0 == 7 || $0 == 13 }, "\(result)")
    }

    @Test(arguments: ["backup --output new.db", "decrypt --yes"])
    func aFileThatMayNotGrowIsAnErrorAndLeavesNothing(_ command: String) throws {
        _ = try tool.shell("CREATE TABLE blob AS SELECT randomblob(300000) AS a;")
        let before = try tool.folder.names
        let result = try run(
            "ulimit -f 100; tool \(command) --db-path store.db --raw-key --password-file password"
        )
        #expect(result.status == 74, "\(result)")
        #expect(try tool.folder.names == before)
        #expect(try tool.shell("SELECT length(a) FROM blob;") == "300000")
    }

    /// What somebody types who comes from another tool, in its folder.
    @Test func theFoldersOfOtherToolsAreFound() throws {
        let moved = try run(
            "mkdir -p db/migrations sql; rmdir sql; MIGRATIONKIT_MIGRATIONS=nowhere tool lint"
        )
        #expect(moved.status == 66, "\(moved)")
        #expect(moved.stderr.contains("--migrations db/migrations"), "\(moved)")
        #expect(!moved.stderr.contains("--migrations sql"), "\(moved)")
    }

    /// It is loaded when a key is asked of it, and not before.
    @Test func aMissingLibraryIsTold() throws {
        let libraries = "mkdir lib; echo >lib/libsecret-1.so.0; export LD_LIBRARY_PATH=$PWD/lib"
        let result = try run(
            """
            \(libraries); tool status --db-path store.db --migrations migrations \
            --keychain-service app --json
            """
        )
        #expect(result.status == 69, "\(result)")
        let error = try result.jsonError()
        #expect(error["code"] as? String == "noSecretService")
        #expect((error["message"] as? String)?.contains("libsecret") == true)
        #expect((error["hint"] as? String)?.contains("libsecret-1-0") == true)
        let other = try run(
            """
            export LD_LIBRARY_PATH=$PWD/lib; tool status --db-path store.db \
            --migrations migrations --raw-key --password-file password
            """
        )
        #expect(other.status == 0, "\(other)")
    }
}
