import Foundation
import TestSupport
import Testing

/// `patch` takes what `schema-dump --check` prints.
@Suite struct SchemaFormatTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
    }

    private func dump(_ arguments: String...) throws -> ProcessResult {
        try tool.run(["schema-dump", "--migrations", tool.migrations] + arguments)
    }

    // MARK: - --check

    @Test func aDifferenceIsToldAndCanBeApplied() throws {
        try tool.write("0001_long", up: (1...9).map { "CREATE TABLE t\($0) (id);" }.joined())
        let file = tool.folder.path("schema.sql")
        _ = try dump("--output", file)
        try tool.write(
            "0002_change",
            up: "DROP TABLE t1; DROP TABLE t5; CREATE TABLE t0 (id); CREATE TABLE t9a (id);"
        )
        let before = try tool.folder.data("schema.sql")
        let result = try dump("--check", file)
        #expect(result.status == 3)
        let header = "--- \(file)\n+++ migrations\n@@ -1,12 +1,10 @@\n"
        #expect(result.stdout.hasPrefix(header), "\(result.stdout)")
        #expect(result.stdout.contains("\n-CREATE TABLE t5 (id);\n"))
        #expect(
            result.stderr == """
                error: \(file) differs from the schema of the migrations
                  The difference is on standard output: '-' is in the file, '+' in the schema of
                  the migrations. If the migrations are right, write the file again:
                    migrationkit-cli schema-dump --migrations \(tool.migrations) --output \(file)

                """
        )
        #expect(try tool.folder.data("schema.sql") == before)

        let patched = try run("patch", ["-s", file], input: result.outputBytes)
        #expect(patched.status == 0, "\(patched)")
        #expect(try dump("--check", file).status == 0)
    }

    @Test func aMissingLineEndIsADifferenceThatCanBeApplied() throws {
        try tool.writeItems()
        let file = try tool.folder.write("schema.sql", "CREATE TABLE item (id INTEGER);".utf8)
        let result = try dump("--check", file)
        #expect(result.status == 3)
        #expect(result.stdout.contains("\n\\ No newline at end of file\n"))
        #expect(try run("patch", ["-s", file], input: result.outputBytes).status == 0)
        #expect(try dump("--check", file).status == 0)

        let empty = try tool.folder.write("empty.sql", [])
        let all = try dump("--check", empty)
        #expect(all.status == 3)
        #expect(try run("patch", ["-s", empty], input: all.outputBytes).status == 0)
        #expect(try dump("--check", empty).status == 0)
    }
}
