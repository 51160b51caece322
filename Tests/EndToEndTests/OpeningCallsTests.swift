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

    private func trace(_ calls: String, _ arguments: [String]) throws -> [Substring] {
        let trace = tool.folder.path("trace")
        let result = try TestSupport.run(
            "strace",
            ["-f", "-qq", "-o", trace, "-e", "trace=\(calls)", builtExecutable("migrationkit-cli")]
                + arguments,
            environment: tool.environment,
            newSession: true
        )
        try #require(result.status == 0, "\(result)")
        return try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    }

    private var migrate: [String] {
        ["migrate"] + tool.opening + ["--migrations", tool.migrations]
    }

    @Test func aDatabaseIsLookedAtTwice() throws {
        let all = try trace("%file", migrate).filter {
            $0.contains("\"\(tool.database)") && !$0.contains("execve(")
        }
        // Those before SQLite opens it to write it.
        let calls = all[..<(try #require(all.firstIndex { $0.contains("O_RDWR") }))]
        // Two looks at four names, three questions about access, and one when the options are read.
        // SQLite itself makes five more to read the header, and one before it opens the file.
        #expect(calls.count <= 18, "\(calls.joined(separator: "\n"))")
        #expect(!calls.contains { $0.contains("readlink") }, "\(calls.joined(separator: "\n"))")
    }

    /// With each transaction, SQLite locks the file and looks for journals.
    @Test(arguments: [(pending: 0, transactions: 6), (pending: 1, transactions: 22)])
    func aRunMakesFewTransactions(_ pending: Int, _ transactions: Int) throws {
        if pending == 1 { try tool.write("0002_u", up: "CREATE TABLE u (a);") }
        // The range of bytes that readers share: https://www.sqlite.org/fileformat2.html#lockbyte
        let locks = try trace("fcntl", migrate).filter {
            $0.contains("F_RDLCK") && $0.contains("l_start=1073741826")
        }
        #expect((1...transactions).contains(locks.count), "\(locks.joined(separator: "\n"))")
    }
}
