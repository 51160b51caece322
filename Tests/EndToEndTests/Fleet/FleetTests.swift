import Foundation
import TestSupport
import Testing

/// Fleet commands with other processes, limits, a terminal and a list on standard input.
@Suite struct FleetTests {
    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: 12)
    }

    private func json(_ command: String, _ arguments: [String] = []) throws -> [String: Any] {
        let result = try fleet.run(command, fleet.all + ["--json"] + arguments)
        #expect(result.status == 0, "\(result)")
        return try result.json()
    }

    @Test func logWithoutATerminalGetsALineNowAndThen() throws {
        let holder = try LockHolder(fleet.path("s11"), key: "x'\(tool.password)'")
        defer { try? holder.release() }
        let result = try fleet.run("migrate", fleet.all + ["--lock-timeout", "6"])
        #expect(result.status == 1)
        #expect(result.stderr.hasPrefix("migrate: 11 of 12 stores"), "\(result)")
        // Standard error holds the document of the failure alone.
        let json = try fleet.run("migrate", fleet.all + ["--lock-timeout", "6", "--json"])
        #expect(try json.jsonError()["code"] as? String == "storesFailed")
    }

    /// A process that has no file left crashes in places, so it must not come to that.
    @Test func jobsNeedOpenFiles() throws {
        func run(_ limits: String, _ jobs: [String]) throws -> ProcessResult {
            let words = fleet.arguments("migrate", fleet.all + ["--json"] + jobs)
            return try TestSupport.run(
                "sh",
                ["-c", "\(limits) && exec \"$@\"", "", builtExecutable("migrationkit-cli")]
                    + words,
                environment: tool.environment
            )
        }
        let refused = try run("ulimit -Sn 128 && ulimit -Hn 200", ["--jobs", "64"])
        #expect(refused.status == 64, "\(refused)")
        #expect(try refused.jsonError()["code"] as? String == "tooManyJobs")
        #expect(
            try refused.jsonError()["hint"] as? String == """
                Give --jobs 9 at most, or raise the limit ('ulimit -n'; LimitNOFILE= in a unit).
                """
        )
        #expect(try run("ulimit -n 64", []).status == 0)
        // A soft limit is raised.
        #expect(try run("ulimit -Sn 64 && ulimit -Hn 2000", ["--jobs", "64"]).status == 0)
    }

    // MARK: - Rollback

    private func writeUndoable(down: String = "DROP TABLE tag;") throws {
        try tool.write("0003_tags", up: "CREATE TABLE tag (id INTEGER);", down: down)
        try tool.write("0004_more", up: "CREATE TABLE more (id INTEGER);", down: "DROP TABLE more;")
    }

    @Test func rollbackAsksOnATerminal() throws {
        try writeUndoable()
        #expect(try json("migrate")["applied"] as? Int == 24)
        let arguments = fleet.arguments("rollback", fleet.all + ["--to", "0003"])
        let terminal = try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            arguments,
            environment: tool.environment
        )
        #expect(terminal.wait(for: "12 databases?"))
        terminal.type("n\n".utf8)
        #expect(terminal.finish().status == 77)
        #expect(try fleet.ledger("s01").hasSuffix("0004_more"))
        #expect(try fleet.run("rollback", fleet.all + ["--to", "0003"]).status == 0)
    }

    // MARK: - Lists

    @Test func listComesFromStandardInput() throws {
        let result = try tool.run(
            fleet.arguments("migrate", ["--stores-file", "-", "--json"] + fleet.besideStores),
            input: "\(fleet.path("s01"))\n\(fleet.path("s02"))\n"
        )
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["done"] as? Int == 2)
    }

    @Test func missingStoreIsNotMade() throws {
        let result = try tool.run(
            fleet.arguments("migrate", ["--stores-file", "-", "--json"] + fleet.besideStores),
            input: "\(folder.path("stores/none.db"))\n"
        )
        #expect(result.status == 1)
        #expect(!FileManager.default.fileExists(atPath: folder.path("stores/none.db")))
    }
}
