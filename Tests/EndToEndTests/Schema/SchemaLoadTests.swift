import Foundation
import TestSupport
import Testing

/// A dump whose loading is interrupted.
@Suite struct SchemaLoadTests {
    let tool: Tool
    let dump: String

    init() throws {
        tool = try Tool(isRawKey: true)
        dump = tool.folder.path("schema.sql")
    }

    @Test func controlCLeavesNothing() throws {
        try tool.writeItems()
        try tool.folder.write(
            "schema.sql",
            """
            CREATE TABLE begun (id INTEGER);
            CREATE TABLE endless AS
            WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
            SELECT max(x) FROM c;
            """.utf8
        )
        let process = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["schema-load", dump, "--migrations", tool.migrations] + tool.opening,
            environment: tool.environment
        )
        // The lock is there as long as the dump runs.
        try wait(for: "the lock") {
            let names = try tool.folder.paths
            #expect(!names.contains("store.db"))
            return names.contains { $0.hasSuffix("-migration.lock") }
        }
        process.send(SIGINT)
        let result = try process.finish()
        #expect(result.status == 130, "\(result)")
        #expect(try tool.folder.names == ["migrations", "password", "schema.sql"])
    }
}
