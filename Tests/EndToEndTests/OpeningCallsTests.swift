import Foundation
import TestSupport
import Testing

/// How often the file system is asked about a database before SQLite opens it: a fleet opens thousands.
@Suite struct OpeningCallsTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write("0001_t", up: "CREATE TABLE t (a);")
        try #require(tool.onStore("migrate").status == 0)
    }

    /// The calls about the database and its journals before SQLite opens it to write it.
    private func calls(_ arguments: [String]) throws -> [Substring] {
        let trace = tool.folder.path("trace")
        let result = try TestSupport.run(
            "strace",
            ["-f", "-qq", "-o", trace, "-e", "trace=%file", builtExecutable("migrationkit-cli")]
                + arguments,
            environment: tool.environment,
            newSession: true
        )
        try #require(result.status == 0, "\(result)")
        let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
            .filter { $0.contains("\"\(tool.database)") && !$0.contains("execve(") }
        let opening = try #require(calls.firstIndex { $0.contains("O_RDWR") })
        return Array(calls[..<opening])
    }

    @Test func aDatabaseIsLookedAtTwice() throws {
        let calls = try calls(["migrate"] + tool.opening + ["--migrations", tool.migrations])
        // Two looks at four names, three questions about access, and one when the options are read.
        // SQLite itself makes five more to read the header, and one before it opens the file.
        #expect(calls.count <= 18, "\(calls.joined(separator: "\n"))")
        #expect(!calls.contains { $0.contains("readlink") }, "\(calls.joined(separator: "\n"))")
    }
}
