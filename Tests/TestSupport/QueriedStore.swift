import Foundation
import Testing

/// A store whose rows and names try to harm whoever looks at them.
public struct QueriedStore<Tool: FolderTool>: Sendable {
    /// The tool in the store's folder.
    public let tool: Tool

    /// Makes the store.
    public init() throws {
        tool = try Tool(isRawKey: true)
        _ = try tool.shell(
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, body BLOB, size REAL);
            INSERT INTO note VALUES
                (1, 'plain', x'00ff', 1.5),
                (2, char(27) || ']0;owned' || char(7) || char(27) || '[31mred', NULL, 9e999),
                (3, 'two' || char(10) || 'lines' || char(13) || char(8) || '|`<b>', '', -0.1),
                (4, CAST(x'ff41c29b33316d' AS TEXT), zeroblob(5), -9e999),
                (5, 'a' || char(0) || 'b', 9223372036854775807, 1e300),
                (6, char(0x202E) || 'tfel' || char(0x9B) || '31m' || char(0x2028), '"q",\\', 0.0);
            CREATE TABLE "\u{1B}[31mbad" ("\u{1B}[2Jcolumn" TEXT, "a|b" TEXT);
            INSERT INTO "\u{1B}[31mbad" VALUES ('x', 'y');
            CREATE VIEW endless AS
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;
            CREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT);
            CREATE TABLE child (parent REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TABLE log (id INTEGER);
            CREATE TRIGGER logging AFTER UPDATE ON note BEGIN INSERT INTO log VALUES (new.id); END;
            CREATE VIRTUAL TABLE words USING fts5 (text);
            INSERT INTO words VALUES ('hello world');
            CREATE VIRTUAL TABLE area USING rtree (id, low, high);
            INSERT INTO area VALUES (1, 2, 3);
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('0001');
            """
        )
    }

    /// Runs `query`.
    public func query(_ arguments: String..., input: String = "") throws -> ProcessResult {
        try query(arguments, input: input)
    }

    /// Runs `query`.
    public func query(_ arguments: [String], input: String = "") throws -> ProcessResult {
        try tool.run(["query"] + tool.opening + arguments, input: input)
    }
}

extension ProcessResult {
    /// Whether something could make a terminal do more than show text.
    public var controlsTerminal: Bool {
        (outputBytes + errorBytes).contains { $0 < 0x20 && $0 != 0x0A || $0 == 0x7F }
            || (stdout + stderr).unicodeScalars.contains {
                (0x80..<0xA0).contains($0.value) || (0x2028...0x202E).contains($0.value)
            }
    }
}
