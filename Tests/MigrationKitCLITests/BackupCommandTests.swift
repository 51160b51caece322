import Foundation
import TestSupport
import Testing

/// What `backup` and `encrypt` say of a copy, and of a word that is missing.
@Suite struct BackupCommandTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        _ = try tool.shell(
            "PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
        )
    }

    private func run(_ arguments: String...) throws -> ProcessResult {
        try tool.run([arguments[0]] + tool.opening + arguments.dropFirst())
    }

    @Test func theUsageNamesBothPlacesOfTheBackup() throws {
        let missing = try run("backup")
        #expect(missing.status == 64)
        #expect(missing.stderr.contains("Give its path as an argument, or with --output."))
        #expect(missing.stderr.contains("backup [<database> [<path>]] [--output <path>]"))
    }

    @Test func onlyWhatIsSoundIsCalledSound() throws {
        let plain = tool.folder.path("plain.db")
        _ = try SQLCipherShell.run(plain, key: nil, SQLCipherShell.shortIndex)
        let encrypt = ["encrypt", "--db-path", plain] + tool.opening.suffix(3) + ["--output"]
        let text = try tool.run(encrypt + [tool.folder.path("1.db")])
        #expect(text.status == 0, "\(text)")
        #expect(text.stdout.contains("See the warnings."))
        #expect(text.stderr.contains("wrong # of entries in index i; it was copied unchanged"))
        let json = try tool.run(encrypt + [tool.folder.path("2.db"), "--json"])
        #expect(try json.json()["findings"] as? [String] == ["wrong # of entries in index i"])
        #expect(
            try run("backup", "--output", tool.folder.path("backup.db")).stdout
                .contains("Its structure is sound.")
        )
    }
}
