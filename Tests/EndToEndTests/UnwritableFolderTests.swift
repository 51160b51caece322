import Foundation
import TestSupport
import Testing

/// A folder in which nothing can be created: no journal, no lock, no copy.
@Suite struct UnwritableFolderTests {
    private let tool: Tool
    private var inFolder: String { tool.folder.path("closed/store.db") }

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        try tool.folder.makeFolder("closed")
    }

    /// Runs a command on a store without root's right to write everywhere.
    private func run(_ command: [String], on store: String) throws -> ProcessResult {
        let command =
            [try builtExecutable("migrationkit-cli")] + command
            + ["--db-path", store, "--password-file", tool.folder.path("password"), "--raw-key"]
            + ["--migrations", tool.migrations]
        let asOwner = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
        let words = (geteuid() == 0 ? asOwner : []) + command
        return try TestSupport.run(
            words[0],
            Array(words.dropFirst()),
            environment: tool.environment,
            newSession: true
        )
    }

    /// Runs a command while the folder can't be written, and checks that it changes no file.
    private func runWhileClosed(_ command: [String], on store: String) throws -> ProcessResult {
        let before = try tool.folder.snapshot()
        #expect(chmod(tool.folder.path("closed"), 0o500) == 0)
        let result = try run(command, on: store)
        #expect(chmod(tool.folder.path("closed"), 0o700) == 0)
        #expect(try tool.folder.snapshot() == before)
        #expect(result.stdout.isEmpty)
        return result
    }

    @Test(arguments: [["migrate"], ["migrate", "--all-or-nothing"], ["rollback"]])
    func storeInItIsLeftAsItIs(_ command: [String]) throws {
        #expect(try run(["migrate", "--to", "0002_row"], on: inFolder).status == 0)
        let result = try runWhileClosed(command, on: inFolder)
        #expect(result.status == 77)
        #expect(result.stderr.hasPrefix("error: the folder of \(inFolder) can't be written\n"))
        #expect(
            result.stderr.contains(
                "SQLite keeps a journal beside the file. Check the owner and the mode"
            )
        )
    }

    @Test func newStoreInItIsRefused() throws {
        let result = try runWhileClosed(["migrate"], on: inFolder)
        #expect(result.status == 73)
        #expect(
            result.stderr.hasPrefix("error: \(inFolder) can't be created: permission denied\n")
        )
    }

    @Test func nothingIsMigratedWhereTheBackupIsRefused() throws {
        #expect(try run(["migrate", "--to", "0002_row"], on: tool.database).status == 0)
        let backup = tool.folder.path("closed/copy.db")
        let result = try runWhileClosed(["migrate", "--backup", backup], on: tool.database)
        #expect(result.status == 73)
        #expect(
            result.stderr.hasPrefix("error: the backup \(backup) can't be made: permission denied")
        )
        #expect(try tool.onStore("migrate").status == 0)
    }
}
