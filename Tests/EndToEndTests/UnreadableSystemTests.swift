import Foundation
import TestSupport
import Testing

/// The system fails to say what is there: that is never taken for nothing.
@Suite struct UnreadableSystemTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        _ = try tool.shell("CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');")
        try tool.folder.write("new", ToolFolder.randomDigits(count: 64).utf8)
    }

    /// Runs a command under a failing call on a path.
    private func run(_ arguments: [String], failing call: String, on path: String) throws
        -> ProcessResult
    {
        try TestSupport.run(
            "strace",
            [
                "-f", "-qq", "-o", "/dev/null", "-P", path, "-e", "inject=\(call)",
                builtExecutable("migrationkit-cli"),
            ] + arguments,
            environment: tool.environment,
            newSession: true
        )
    }

    /// A program that has the database open, and does nothing, would go on with a file that has no
    /// name any more.
    @Test(arguments: ["/proc", "/proc/locks"])
    func processesThatCanNotBeListedAreNotAbsent(_ path: String) throws {
        let program =
            Python.connect + """
                path, key = json.loads(sys.stdin.readline())
                connection = connect(path, key)
                connection.execute("SELECT * FROM t").fetchall()
                print("open", flush=True)
                sys.stdin.readline()
                """
        let app = try ChildProcess(Python.executable, ["-c", program])
        let key = "x'\(tool.password)'"
        app.write(try JSONSerialization.data(withJSONObject: [tool.database, key]))
        app.write("\n".utf8)
        try #require(app.readLine() == "open")
        let before = try tool.folder.data("store.db")
        let result = try run(
            ["rekey", "--json", "--lock-timeout", "0"] + tool.opening
                + ["--new-password-file", tool.folder.path("new"), "--new-raw-key"],
            failing: "openat:error=EMFILE",
            on: path
        )
        #expect(result.status == 74, "\(result)")
        #expect(try (result.jsonError()["message"] as? String)?.contains("/proc") == true)
        #expect(try tool.folder.data("store.db") == before)
        app.write("\n".utf8)
        #expect(try app.finish().status == 0)
    }

    /// What can't be looked at may have rows to lose: it is asked about.
    @Test func databaseThatCanNotBeLookedAtIsNotReplacedWithoutAsking() throws {
        let backup = tool.folder.path("backup.db")
        try FileManager.default.copyItem(atPath: tool.database, toPath: backup)
        for ordinal in 1...8 {
            let before = try tool.folder.data("store.db")
            let result = try run(
                ["restore", "--from", backup, "--no-prompt"] + tool.opening,
                failing: "?stat,?newfstatat,?statx:error=EIO:when=\(ordinal)",
                on: tool.database
            )
            #expect(result.status != 0, "\(ordinal): \(result)")
            #expect(try tool.folder.data("store.db") == before)
        }
    }

    /// A folder that the disk doesn't list may hold the drafts of a killed run.
    @Test func folderThatCanNotBeListedIsNotEmpty() throws {
        for command in [["inspect"], ["verify", "--full"]] {
            let result = try run(
                command + ["--json"] + tool.opening,
                failing: "getdents64:error=EIO",
                on: tool.folder.path
            )
            #expect(result.status == 74, "\(result)")
            let message = try result.jsonError()["message"] as? String
            #expect(message?.contains(tool.folder.path) == true, "\(result)")
        }
    }
}
