import Foundation
import TestSupport
import Testing

/// The passphrase of a run, where other processes give it or could see it.
@Suite struct MainJobTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
    }

    @Test func passwordComesFromStandardInput() throws {
        try tool.writeItems()
        let opening = ["--db-path", tool.database, "--migrations", tool.migrations]
        let fromInput = opening + ["--password-file", "-"]
        #expect(try tool.run(["migrate"] + fromInput, input: tool.password + "\n").status == 0)
        #expect(try tool.run(["status"] + fromInput, input: tool.password).status == 0)
        #expect(try tool.onStore("status").status == 0)
    }

    @Test func passwordArgumentIsWarnedAboutAndScrubbed() throws {
        // A step that goes on until it is killed, so that there is time to look.
        try tool.write(
            "0001_endless",
            up: """
                CREATE TABLE t AS
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                SELECT max(x) FROM c;
                """
        )
        for form in [["--password", tool.password], ["--password=\(tool.password)"]] {
            let child = try ChildProcess(
                builtExecutable("migrationkit-cli"),
                ["migrate", "--db-path", tool.database, "--migrations", tool.migrations] + form,
                environment: tool.environment
            )
            // The file exists only once the arguments have been read.
            try wait(for: "the database") { FileManager.default.fileExists(atPath: tool.database) }
            let arguments = try Data(
                contentsOf: URL(fileURLWithPath: "/proc/\(child.processIdentifier)/cmdline")
            )
            child.send(SIGKILL)
            let result = try child.finish()
            #expect(arguments.range(of: Data("migrations".utf8)) != nil)
            #expect(arguments.range(of: Data("horse".utf8)) == nil)
            #expect(result.stderr.hasPrefix("warning: --password can be seen"))
            #expect(!result.stderr.contains(tool.password))
            try FileManager.default.removeItem(atPath: tool.database)
            try? FileManager.default.removeItem(atPath: tool.database + "-journal")
        }
    }
}
