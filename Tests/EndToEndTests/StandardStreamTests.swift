import Foundation
import TestSupport
import Testing

/// Standard output and standard error that can't be written, or are closed.
@Suite struct StandardStreamTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    /// Runs the tool with what a shell makes of its streams.
    private func run(_ arguments: [String], _ redirection: String) throws -> ProcessResult {
        try TestSupport.run(
            "/bin/bash",
            ["-c", "\"$@\" \(redirection)", "bash", builtExecutable("migrationkit-cli")]
                + arguments,
            environment: tool.environment,
            newSession: true
        )
    }

    private func onStore(_ command: String, _ arguments: String...) -> [String] {
        [command] + tool.opening + ["--migrations", tool.migrations] + arguments
    }

    @Test(arguments: [
        ["--help"], ["--version"], ["manual"], ["completions", "bash"], ["migrate", "--help"],
        ["schema-dump"], ["schema-dump", "--json"],
    ])
    func aFullDiskBehindStandardOutputIsAnError(_ command: [String]) throws {
        let migrations = command[0] == "schema-dump" ? ["--migrations", tool.migrations] : []
        let result = try run(command + migrations, ">/dev/full")
        #expect(result.status == 74, "\(result)")
        #expect(result.stderr.contains("standard output can't be written: no space left on device"))
        let closed = try run(command + migrations, ">&-")
        #expect(closed.status == 74, "\(closed)")
        #expect(closed.stderr.contains("standard output can't be written: it is closed"))
    }

    @Test(arguments: ["status", "plan", "history", "verify"])
    func aReportThatIsLostIsAnError(_ command: String) throws {
        #expect(try tool.onStore("migrate").status == 0)
        for form in [[], ["--json"]] {
            let result = try run(onStore(command) + form, ">/dev/full")
            #expect(result.status == 74, "\(result)")
            #expect(result.stderr.contains("no space left on device"))
        }
    }

    @Test func aMigrationWhoseReportIsLostIsCommitted() throws {
        let result = try run(onStore("migrate"), ">/dev/full")
        #expect(result.status == 74, "\(result)")
        #expect(try tool.onStore("status", "--exit-code").status == 0)
    }

    @Test func theErrorOfTheCommandCountsMoreThanALostResult() throws {
        let result = try run(
            onStore("status") + ["--exit-code"] + ["--db-path", "/nowhere"],
            ">&-"
        )
        #expect(result.status == 66, "\(result)")
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        let pending = try run(onStore("status") + ["--exit-code"], ">/dev/full")
        #expect(pending.status == 3, "\(pending)")
        #expect(pending.stderr.contains("warning: standard output can't be written"))
    }

    @Test func closedStreamsAreNoPlaceInTheDatabase() throws {
        for redirection in [">&- 2>&-", "<&- >&- 2>&-"] {
            #expect(try run(onStore("migrate"), redirection).status == 74)
            #expect(try tool.onStore("verify").status == 0)
            #expect(try tool.onStore("rollback", "--steps", "3").status == 0)
        }
    }

    @Test func anErrorWithoutStandardErrorKeepsItsExitCode() throws {
        for redirection in ["2>&-", "2>/dev/full"] {
            #expect(try run(onStore("status"), redirection).status == 66)
            #expect(try run(["nonsense"], redirection).status == 64)
            #expect(try run(onStore("status") + ["--json"], redirection).status == 66)
        }
    }

    @Test func aReaderThatLeavesEndsTheToolQuietly() throws {
        // 141 is bash's word for SIGPIPE; ignored, it is the tool's own.
        for ignored in ["", "trap '' PIPE; "] {
            let result = try TestSupport.run(
                "/bin/bash",
                [
                    "-c", "exec 3> >(exec true); wait $!; \(ignored)\"$@\" >&3; exit $?", "bash",
                    builtExecutable("migrationkit-cli"), "manual",
                ],
                environment: tool.environment,
                newSession: true
            )
            #expect(result.status == 141, "\(result)")
            #expect(result.stderr.isEmpty)
        }
    }

    /// The first warning, before anything is done, finds nobody who reads it.
    @Test func aReaderThatLeavesEndsNoWork() throws {
        let path = tool.folder.path("password")
        let work = [
            onStore("migrate"), onStore("rollback"), onStore("migrate") + ["--json"],
            ["rekey"] + tool.opening + ["--new-raw-key", "--new-password-file", path],
        ]
        for command in work {
            let result = try TestSupport.run(
                "/bin/bash",
                [
                    "-c", "exec 3> >(exec true); wait $!; \"$@\" >&3 2>&3; exit $?", "bash",
                    builtExecutable("migrationkit-cli"),
                ] + command,
                environment: tool.environment.merging(["MIGRATIONKIT_UNKNOWN": "1"]) { $1 },
                newSession: true
            )
            #expect(result.status == 141, "\(command): \(result)")
            let isBack = command[0] == "rollback"
            #expect(try tool.onStore("status", "--exit-code").status == (isBack ? 3 : 0))
        }
    }

    @Test func thousandsOfLinesStayInOrder() throws {
        let names = (0..<3000).map { "t\($0)" }
        try tool.write(
            "0004_many",
            up: names.map { "CREATE TABLE \($0) (a, b, c, d);" }.joined(separator: "\n")
        )
        let result = try tool.run("schema-dump", "--migrations", tool.migrations)
        let tables = result.stdout.split(separator: "\n").filter {
            $0.hasPrefix("CREATE TABLE t") && $0.hasSuffix("(a, b, c, d);")
        }
        #expect(tables.count == names.count)
    }
}
