import Foundation
import TestSupport
import Testing

/// Batches run while other programs open the database, read it, write it and close it.
@Suite struct BatchesBesideProgramsTests {
    private static let roundCount = Samples.count(2)
    private static let programCount = 3

    private let tool: Tool

    init() throws {
        try OtherProgram.require("sqlcipher")
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_note",
            up: """
                CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT, size INTEGER);
                CREATE TABLE log (id INTEGER);
                CREATE TRIGGER noted AFTER UPDATE ON note BEGIN INSERT INTO log VALUES (new.id); END;
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600)
                INSERT INTO note (id, body) SELECT i, hex(zeroblob(200)) FROM n;
                """
        )
        try #require(tool.onStore("migrate").status == 0)
        try tool.write(
            "0002_size",
            up: """
                -- migrate:batch rows=50
                UPDATE note SET size = length(body) WHERE size IS NULL;

                -- migrate:check
                -- every note has its size
                SELECT id FROM note WHERE size IS NOT length(body);
                """
        )
        // A new row is always behind the batches.
        try tool.folder.write(
            "other.sql",
            """
            PRAGMA key = "x'\(tool.password)'";
            PRAGMA busy_timeout = 20000;
            SELECT count(size) FROM note;
            INSERT INTO note (id, body) SELECT min(id) - 1, 'other' FROM note;
            """.utf8
        )
    }

    /// A program in a loop, until there is a file "stop".
    private func startOther() throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh",
            [
                "-c",
                """
                while [ ! -e "$0/stop" ]; do
                    sqlcipher -batch "$0/store.db" < "$0/other.sql" > /dev/null 2>> "$0/errors"
                done
                """,
                tool.folder.path,
            ],
            environment: tool.environment,
            newSession: true
        )
    }

    @Test(arguments: Journal.allCases) func everyRowIsChangedOnce(_ journal: Journal) throws {
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let start = tool.folder.path("start")
        try FileManager.default.moveItem(atPath: tool.database, toPath: start)
        var (others, busy) = (0, 0)
        for round in 0..<Self.roundCount {
            for name in try tool.folder.names where name.contains("store.db") || name == "stop" {
                unlink(tool.folder.path(name))
            }
            try FileManager.default.copyItem(atPath: start, toPath: tool.database)
            try tool.folder.write("errors", [])
            let programs = try (0..<Self.programCount).map { _ in try startOther() }
            try wait(for: "a row of another program", interval: 500) {
                (try? tool.shell("SELECT count(*) > 600 FROM note;").hasSuffix("1")) ?? false
            }
            let result = try tool.onStore("migrate", "--lock-timeout", "30")
            try tool.folder.write("stop", [])
            for program in programs { _ = try program.finish() }
            #expect(result.status == 0, "round \(round): \(result)")
            // Those that came afterwards have the lowest keys.
            let found = try tool.shell(
                """
                PRAGMA integrity_check;
                SELECT count(*) FROM note
                WHERE size IS NULL AND id > (SELECT min(id) FROM note WHERE size IS NOT NULL);
                SELECT (SELECT count(*) FROM log) = count(size),
                    (SELECT count(DISTINCT id) FROM log) = count(size), count(size) > 600, count(*) - 600
                FROM note;
                """
            ).split(separator: "\n")
            #expect(found.prefix(2) == ["ok", "0"], "round \(round): \(found)")
            #expect(found.last?.hasPrefix("1|1|1|") == true, "round \(round): \(found)")
            others += Int(found.last?.split(separator: "|").last ?? "") ?? 0
            let errors = String(decoding: try tool.folder.data("errors"), as: UTF8.self)
                .split(separator: "\n")
            #expect(errors.allSatisfy { $0.contains("database is locked") }, "\(errors)")
            busy += errors.count
        }
        report(
            """
            batches beside \(Self.programCount) programs, \(journal.rawValue): \(Self.roundCount) runs, \
            \(others) rows of others, which found it locked \(busy) times
            """
        )
    }
}
