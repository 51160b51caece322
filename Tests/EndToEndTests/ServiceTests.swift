import Foundation
import TestSupport
import Testing

/// A real server, ended by the signal that systemd and Kubernetes send.
@Suite struct ServiceTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
    }

    private func start(rows: Int) throws -> ChildProcess {
        try ChildProcess(
            builtExecutable("ServiceProbe", besideTests: true),
            [tool.folder.path, "\(rows)"],
            environment: tool.environment
        )
    }

    private func applied() throws -> [String] {
        try tool.shell("SELECT identifier FROM grdb_migrations ORDER BY 1;")
            .split(separator: "\n").map(String.init)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalInTheMiddleOfAMigrationLeavesTheStoreWhole(_ signal: Int32) throws {
        // So many that the migration would go on for an hour.
        let interrupted = try start(rows: 1_000_000_000)
        #expect(interrupted.readLine() == "migrating")
        interrupted.send(signal)
        let result = try interrupted.finish()
        #expect(result.status == 0, "\(result)")
        // Nothing was served.
        #expect(result.stdout.hasSuffix("ended\n"))
        #expect(!result.stdout.contains("serving"))

        #expect(try applied() == ["0001_notes"])
        #expect(try tool.shell("SELECT COUNT(*) FROM note;") == "0")
        let verified = try tool.run(["verify", "--full"] + tool.opening)
        #expect(verified.status == 0, "\(verified)")

        let next = try start(rows: 100)
        #expect(next.readLine() == "migrating")
        #expect(next.readLine() == "serving 100")
        next.send(signal)
        let end = try next.finish()
        #expect(end.status == 0, "\(end)")
        #expect(end.stdout.hasSuffix("stopped\nended\n"))
        // The log was moved into the file.
        #expect(try tool.folder.names.filter { $0.hasPrefix("store.db") } == ["store.db"])
        #expect(try applied() == ["0001_notes", "0002_rows"])
    }

    @Test func aKilledMigrationIsGoneOnWith() throws {
        let killed = try start(rows: 1_000_000_000)
        #expect(killed.readLine() == "migrating")
        killed.send(SIGKILL)
        #expect(try killed.finish().signal == SIGKILL)
        let next = try start(rows: 100)
        #expect(next.readLine() == "migrating")
        #expect(next.readLine() == "serving 100")
        next.send(SIGTERM)
        #expect(try next.finish().status == 0)
    }
}
