import Foundation
import TestSupport
import Testing

/// Files of another user's. Only root can make any.
@Suite(.enabled(if: geteuid() == 0)) struct ConversionOwnerTests {
    private let tool: Tool
    private let other: uid_t = 65533

    init() throws {
        tool = try Tool(isRawKey: true)
        _ = try tool.shell("CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');")
        #expect(
            try tool.run(["backup", "--output", tool.folder.path("backup.db")] + tool.opening)
                .status == 0
        )
        try tool.folder.write("new", ToolFolder.randomDigits(count: 64).utf8)
        #expect(chmod(tool.folder.path("new"), 0o600) == 0)
        #expect(chown(tool.database, other, other) == 0 && chmod(tool.database, 0o666) == 0)
    }

    private var rekey: [String] {
        ["rekey", "--new-password-file", tool.folder.path("new"), "--new-raw-key"] + tool.opening
    }

    private var restore: [String] {
        ["restore", "--from", tool.folder.path("backup.db"), "--yes"] + tool.opening
    }

    /// Runs a command as a user who owns what root owns, and has none of root's rights.
    private func runAsAnother(_ arguments: [String]) throws -> ProcessResult {
        try TestSupport.run(
            "unshare",
            ["--user", "--map-user=1000", "--map-group=1000", builtExecutable("migrationkit-cli")]
                + arguments + ["--json"],
            environment: tool.environment,
            newSession: true
        )
    }

    @Test func databaseOfAnotherIsNotReplaced() throws {
        let before = try tool.folder.snapshot()
        for command in [rekey, restore] {
            let result = try runAsAnother(command)
            #expect(result.status == 77, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "otherOwner")
            #expect(try tool.folder.snapshot() == before)
        }
    }

    @Test func databaseOfAnotherMayBeCopied() throws {
        let copy = try runAsAnother(rekey + ["--output", tool.folder.path("copy.db")])
        #expect(copy.status == 0, "\(copy)")
        let arguments = ["backup", "--output", tool.folder.path("more.db")] + tool.opening
        let backup = try runAsAnother(arguments)
        #expect(backup.status == 0, "\(backup)")
        #expect(try owner("store.db") == other)
        #expect(try owner("copy.db") == 0 && owner("more.db") == 0)
    }

    @Test func rootKeepsTheOwner() throws {
        #expect(try tool.run(restore).status == 0)
        #expect(try owner("store.db") == other)
        #expect(tool.folder.mode("store.db") == 0o600)
        #expect(try tool.run(rekey).status == 0)
        #expect(try owner("store.db") == other)
        #expect(tool.folder.mode("store.db") == 0o600)
    }

    private func owner(_ name: String) throws -> uid_t {
        var status = stat()
        try #require(stat(tool.folder.path(name), &status) == 0)
        return status.st_uid
    }
}
