import Foundation
import TestSupport
import Testing

/// Where the key and the rows of a query are, and where they aren't, while it runs and afterwards.
@Suite struct QueryHygieneTests {
    private static let marker = "zettelkasten"
    private static let rowCount = 300_000
    private let tool: Tool

    /// A table of 40 MB.
    init() throws {
        tool = try Tool(isRawKey: true)
        _ = try tool.shell(
            """
            CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
            INSERT INTO item (body)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(Self.rowCount))
            SELECT abs(random()) || printf('%.*c', 80, 'x') || '\(Self.marker)' || i FROM n;
            """
        )
    }

    private var words: [String] {
        get throws { [try builtExecutable("migrationkit-cli"), "query"] + tool.opening }
    }

    @Test func sortingWritesNoRowToAFile() throws {
        let calls = try WrittenFiles.calls(
            words + [
                "SELECT count(*), max(body) FROM (SELECT DISTINCT body FROM item ORDER BY body DESC)"
            ],
            environment: tool.environment
        )
        let shown = calls.filter { $0.contains(Self.marker) }
        // Standard output has the one row.
        #expect(shown.count == 1 && shown.allSatisfy { $0.contains(" write(1<pipe:") }, "\(shown)")
        // What doesn't fit the memory is in a file without a name beside the database, encrypted.
        let made = calls.filter { $0.contains("O_CREAT") || $0.contains("O_TMPFILE") }
        #expect(
            made.allSatisfy { $0.contains("O_TMPFILE") && $0.contains(tool.folder.path) },
            "\(made)"
        )
        #expect(!calls.contains { $0.contains("/var/tmp") || $0.contains("etilqs") })
        #expect(!calls.contains { $0.contains(tool.password) && !$0.contains("/password>") })
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
    }

    @Test(arguments: ["table", "jsonl", "csv", "list"])
    func memoryDoesNotGrowWithTheRows(_ format: String) throws {
        let output = try TemporaryFolder()
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", "exec \"$@\" >\"$0\"", output.path("rows")] + words
                + ["SELECT a.*, a.* FROM item AS a", "--format", format],
            environment: tool.environment,
            newSession: true
        )
        // In KiB.
        var peak = 0
        let status = "/proc/\(process.processIdentifier)/status"
        while let text = try? String(contentsOfFile: status, encoding: .utf8) {
            guard !text.contains("\nState:\tZ") else { break }
            if let size = text.firstMatch(of: /VmHWM:\s+(\d+) kB/)?.1 {
                peak = max(peak, Int(size) ?? 0)
            }
            usleep(2000)
        }
        #expect(try process.finish().status == 0)
        #expect(try output.data("rows").count > 60_000_000)
        #expect(peak > 0 && peak < 64 << 10, "\(peak)")
    }

    @Test func keyIsNowhereToBeSeenWhileAQueryRuns() throws {
        let process = try ChildProcess(
            words[0],
            Array(try words.dropFirst()) + ["SELECT body FROM item", "--format", "list"],
            environment: tool.environment,
            newSession: true
        )
        // It waits, since nobody reads on.
        #expect(process.readLine() != nil)
        let proc = "/proc/\(process.processIdentifier)"
        for name in ["cmdline", "environ"] {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(proc)/\(name)"))
            #expect(!data.isEmpty && data.range(of: Data(tool.password.utf8)) == nil, "\(name)")
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: proc + "/fd").map {
            try FileManager.default.destinationOfSymbolicLink(atPath: "\(proc)/fd/\($0)")
        }
        #expect(files.contains(tool.database))
        #expect(!files.contains { $0.contains("password") })
        let maps = try String(contentsOfFile: proc + "/maps", encoding: .utf8)
        // Nothing of the database is mapped, and so nothing that is decrypted.
        #expect(!maps.contains(tool.folder.path))
        process.send(SIGKILL)
        _ = try process.finish()
    }
}
