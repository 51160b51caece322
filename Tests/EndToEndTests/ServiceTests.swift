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

    /// What a service manager tells apart, each without a trap and a backtrace.
    @Test func aFailedStartEndsWithTheErrorsCode() throws {
        func expectEnd(
            _ status: Int32,
            _ text: String,
            rows: Int = 1,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let result = try start(rows: rows).finish()
            #expect(result.status == status, "\(result)", sourceLocation: sourceLocation)
            #expect(
                result.stderr.hasPrefix("error: ") && result.stderr.contains(text),
                "\(result)",
                sourceLocation: sourceLocation
            )
            for word in ["INSERT", "Fatal", "Stack"] {
                #expect(!result.stderr.contains(word), "\(result)", sourceLocation: sourceLocation)
            }
        }
        let ran = try start(rows: 1)
        #expect(ran.readLine() == "serving 1")
        ran.send(SIGTERM)
        #expect(try ran.finish().status == 0)

        let digits = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("password", digits.utf8)
        try expectEnd(77, "the key does not open")
        try tool.folder.write("password", digits.utf8, mode: 0o644)
        try expectEnd(77, "mode 0644")
        try FileManager.default.removeItem(atPath: tool.folder.path("password"))
        try expectEnd(66, "there is no key file")
        try tool.folder.write("password", tool.password.utf8)
        _ = try tool.shell("INSERT INTO grdb_migrations VALUES ('9999_newer');")
        try expectEnd(65, "9999_newer")
        _ = try tool.shell(
            """
            DELETE FROM grdb_migrations WHERE identifier <> '0001_notes'; DELETE FROM note;
            CREATE TRIGGER no BEFORE INSERT ON note BEGIN SELECT raise(ABORT, 'no notes'); END;
            """
        )
        try expectEnd(1, "a trigger refuses the row")
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
