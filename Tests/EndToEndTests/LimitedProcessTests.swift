import Foundation
import TestSupport
import Testing

/// SQL that takes any time and memory, in the commands that may run a stranger's.
@Suite struct LimitedProcessTests {
    private let tool: Tool
    /// A single instruction of SQLite, within which it notices nothing.
    private let endless = """
        CREATE TABLE t (x);
        INSERT INTO t SELECT instr(hex(zeroblob(50000000)), hex(zeroblob(40000000)) || '1');
        """

    init() throws {
        tool = try Tool()
        try tool.folder.write("empty.sql", "".utf8)
    }

    private var commands: [[String]] {
        [
            ["lint"], ["schema-dump"], ["schema-diff", "--to", tool.folder.path("empty.sql")],
            ["create", "next", "--to", tool.folder.path("empty.sql")], ["test"],
        ].map { $0 + ["--migrations", tool.migrations] }
    }

    private func run(
        _ arguments: [String],
        limit variable: String,
        _ value: String
    ) throws -> ProcessResult {
        var tool = tool
        tool.environment[variable] = value
        return try tool.run(arguments)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func oneSignalEndsThemWithinAnInstruction(_ signal: Int32) throws {
        try tool.write("0001_endless", up: endless)
        let process = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            commands[0],
            environment: tool.environment,
            newSession: true
        )
        let parent = process.processIdentifier
        // It is in the instruction once its child has used half a second: two are what 'lint' allows.
        try wait(for: "the instruction") {
            let children = "/proc/\(parent)/task/\(parent)/children"
            let numbers = try String(contentsOfFile: children, encoding: .utf8)
            guard let child = numbers.split(separator: " ").first.flatMap({ pid_t($0) }) else {
                return false
            }
            // Its fourteenth field, in hundredths of a second.
            return try Int(processFields(child)[11]) ?? 0 > 50
        }
        process.send(signal)
        let result = try process.finish(within: 10)
        #expect(result.signal == signal, "\(result)")
    }

    @Test func timeIsLimited() throws {
        try tool.write(
            "0001_endless",
            up: """
                CREATE TABLE t AS
                WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c;
                """
        )
        // 'lint' has a limit of its own for this one.
        for command in commands.dropFirst() {
            let result = try run(command + ["--json"], limit: "MIGRATIONKIT_MAX_SECONDS", "1")
            #expect(result.status == 65, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "limitExceeded", "\(result)")
        }
        try tool.write("0001_endless", up: endless)
        let result = try run(commands[0], limit: "MIGRATIONKIT_MAX_SECONDS", "3")
        #expect(result.status == 65, "\(result)")
        #expect(result.stderr.contains("more than 3 seconds of processor time"), "\(result)")
    }

    @Test func memoryIsLimited() throws {
        let blob = "(zeroblob(700000000))"
        try tool.write(
            "0001_large",
            up: "CREATE TABLE t (x);\nINSERT INTO t VALUES \(blob), \(blob), \(blob), \(blob);"
        )
        for command in commands {
            let result = try tool.run(command)
            #expect(result.status != 0, "\(result)")
            #expect((result.stdout + result.stderr).contains("out of memory"), "\(result)")
        }
    }

    @Test func moreSQLThanSQLiteTakesIsNotRead() throws {
        try tool.folder.write("migrations/0001_large.sql", "".utf8)
        try FileManager.default.sparseFile(tool.folder.path("migrations/0001_large.sql"))
        let result = try tool.run(["lint", "--migrations", tool.migrations])
        #expect(result.status == 77, "\(result)")
        #expect(result.stderr.contains("can't be read: file too large"), "\(result)")
    }

    @Test func aLimitIsAWholeNumber() throws {
        let result = try run(commands[0], limit: "MIGRATIONKIT_MAX_MEMORY", "2G")
        #expect(result.status == 64, "\(result)")
        #expect(result.stderr.contains("MIGRATIONKIT_MAX_MEMORY is no whole number"))
    }
}

extension FileManager {
    fileprivate func sparseFile(_ path: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 3_000_000_000)
        try file.close()
    }
}
