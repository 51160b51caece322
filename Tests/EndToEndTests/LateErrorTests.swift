import Foundation
import TestSupport
import Testing

/// System calls that fail, one at a time: what is said of the transaction is what is there.
@Suite struct LateErrorTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write("0001_t", up: "CREATE TABLE t (a);", down: "DROP TABLE t;")
    }

    /// Runs a command again and again, each time with another call failing.
    ///
    /// - Parameter call: The call, and how it fails.
    /// - Returns: How often an error came after the commit.
    private func lateErrors(
        _ command: [String],
        failing call: String,
        count: Int,
        before: (Tool) throws -> Void
    ) throws -> Int {
        let isRollback = command[0] == "rollback"
        var late = 0
        for ordinal in 1...count {
            for suffix in ["", "-journal", "-wal", "-shm"] { unlink(tool.database + suffix) }
            try before(tool)
            let result = try TestSupport.run(
                "strace",
                [
                    "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-P", tool.database, "-P",
                    tool.folder.path,
                    "-P", tool.database + "-journal",
                    "-e", "trace=\(call.prefix { $0 != ":" })", "-e",
                    "inject=\(call):when=\(ordinal)",
                    builtExecutable("migrationkit-cli"),
                ] + command + tool.opening + ["--migrations", tool.migrations],
                environment: tool.environment,
                newSession: true
            )
            guard result.status != 0 else { continue }
            let place = "\(command) \(call) \(ordinal): \(result)"
            let tables = try tool.shell("SELECT count(*) FROM sqlite_schema WHERE name = 't';")
            let isDone = (tables == "1") != isRollback
            // The same words over two lines.
            let words = result.stderr.split { " \n".contains($0) }.joined(separator: " ")
            if words.contains("nothing has changed") { #expect(!isDone, "\(place)") }
            if words.contains("after the commit") {
                #expect(isDone, "\(place)")
                late += 1
            }
        }
        return late
    }

    @Test(arguments: [["migrate"], ["migrate", "--all-or-nothing"]])
    func whatIsSaidOfAMigrationIsSo(_ command: [String]) throws {
        var late = 0
        for (call, count) in [("fdatasync:error=EIO", 14), ("fcntl:error=ENOLCK", 40)] {
            late += try lateErrors(command, failing: call, count: count) { tool in
                _ = try tool.shell("CREATE TABLE other (a);")
            }
        }
        // Of the steps one by one, the synchronizing of the journal that is kept.
        #expect(late > 0 || command.count > 1)
    }

    @Test func whatIsSaidOfARollbackIsSo() throws {
        for (call, count) in [("fdatasync:error=EIO", 14), ("fcntl:error=ENOLCK", 40)] {
            _ = try lateErrors(["rollback"], failing: call, count: count) { tool in
                let result = try tool.onStore("migrate")
                try #require(result.status == 0, "\(result)")
            }
        }
    }
}
