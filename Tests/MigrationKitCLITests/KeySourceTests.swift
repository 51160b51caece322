import Foundation
import TestSupport
import Testing

/// The key from a file or the environment, and which of several is taken.
@Suite struct KeySourceTests {
    var tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
    }

    private var store: [String] { ["--db-path", tool.database, "--migrations", tool.migrations] }
    private var passwordFile: String { tool.folder.path("password") }

    private func status(_ arguments: String...) throws -> ProcessResult {
        try tool.run(["status"] + store + arguments)
    }

    private func expectFailure(
        _ result: ProcessResult,
        _ exit: Int32,
        _ code: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(result.status == exit, "\(result)", sourceLocation: sourceLocation)
        #expect(
            try result.jsonError()["code"] as? String == code,
            "\(result)",
            sourceLocation: sourceLocation
        )
    }

    // MARK: - Options

    @Test func passphraseThatIsNoText() throws {
        let bytes: [UInt8] = [0xff, 0xfe, 0x00, 0x80, 0x20, 0x22]
        let file = try tool.folder.write("bytes", bytes)
        let arguments = ["--db-path", tool.folder.path("other.db"), "--password-file", file]
        let migrations = ["--migrations", tool.migrations]
        #expect(try tool.run(["migrate"] + arguments + migrations).status == 0)
        #expect(try tool.run(["status"] + arguments + migrations).status == 0)
        try tool.folder.write("bytes", [0xff, 0xfe])
        #expect(try tool.run(["status"] + arguments + migrations).status == 77)
    }

    // MARK: - Without an option

    @Test mutating func environmentPassword() throws {
        tool.environment["MIGRATIONKIT_PASSWORD"] = tool.password
        #expect(try status().status == 0)
        tool.environment["MIGRATIONKIT_PASSWORD"] = ""
        try expectFailure(status("--json"), 77, "emptyKey")
    }

    @Test mutating func environmentFileComesBeforeEnvironmentPassword() throws {
        tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = passwordFile
        tool.environment["MIGRATIONKIT_PASSWORD"] = "another"
        #expect(try status().status == 0)
        tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = tool.folder.path("none")
        try expectFailure(status("--json"), 66, "noSuchKeyFile")
    }
}
