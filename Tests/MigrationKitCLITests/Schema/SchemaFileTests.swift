import Foundation
import TestSupport
import Testing

/// The files that `schema-dump` writes to and compares with.
@Suite struct SchemaFileTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    private func dump(_ arguments: String...) throws -> ProcessResult {
        try tool.run(["schema-dump", "--migrations", tool.migrations] + arguments)
    }

    private func isLink(_ name: String) -> Bool {
        let destination = try? FileManager.default.destinationOfSymbolicLink(
            atPath: tool.folder.path(name)
        )
        return destination != nil
    }

    private func link(_ name: String, to destination: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: tool.folder.path(name),
            withDestinationPath: destination
        )
    }

    // MARK: Writing

    @Test func aFileThatIsReplacedKeepsItsMode() throws {
        try tool.folder.write("schema.sql", "CREATE TABLE old (a);".utf8, mode: 0o640)
        #expect(try dump("--output", tool.folder.path("schema.sql")).status == 0)
        #expect(tool.folder.mode("schema.sql") == 0o640)
        #expect(try dump("--check", tool.folder.path("schema.sql")).status == 0)
        #expect(try tool.folder.names == ["migrations", "password", "schema.sql"])
    }

    /// A stranger's change could lead it to any file, such as a hook of git's.
    @Test func aLinkIsNotWritten() throws {
        try tool.folder.makeFolder("other")
        try tool.folder.write("other/schema.sql", "old".utf8, mode: 0o640)
        try link("other/second", to: "schema.sql")
        try link("first", to: "other/second")
        try link("nowhere", to: "new.sql")
        for name in ["first", "nowhere"] {
            let refused = try dump("--output", tool.folder.path(name))
            #expect(refused.status == 73, "\(refused)")
            #expect(refused.stderr.contains("it is a link; give the path of the file itself"))
        }
        #expect(isLink("first") && isLink("other/second") && isLink("nowhere"))
        #expect(
            try String(contentsOfFile: tool.folder.path("other/schema.sql"), encoding: .utf8)
                == "old"
        )
        #expect(access(tool.folder.path("new.sql"), F_OK) != 0)

        try link("circle", to: "circle")
        let refused = try dump("--output", tool.folder.path("circle"))
        #expect(refused.status == 73, "\(refused)")
        #expect(refused.stderr.contains("too many levels of symbolic links"))
    }

    // MARK: Reading

    @Test func aFolderIsNoFileToRead() throws {
        let compared = try dump("--check", tool.migrations)
        #expect(compared.status == 66, "\(compared)")
        #expect(compared.stderr.hasPrefix("error: \(tool.migrations) is a folder, not a file"))
        let loaded = try tool.run(["schema-load", tool.migrations] + tool.opening)
        #expect(loaded.status == 66, "\(loaded)")
        #expect(loaded.stderr.hasPrefix("error: \(tool.migrations) is a folder, not a dump"))
    }

    @Test func theHintNamesTheSameMigrations() throws {
        let missing = try dump("--check", tool.folder.path("my schema.sql"))
        #expect(missing.status == 66)
        let command =
            "schema-dump --migrations \(tool.migrations) --output '\(tool.folder.path("my schema.sql"))'"
        #expect(missing.stderr.contains(command), "\(missing)")
    }
}
