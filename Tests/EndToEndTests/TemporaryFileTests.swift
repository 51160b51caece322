import Foundation
import TestSupport
import Testing

/// What SQLite sorts reaches the disk encrypted, and in a file that nobody else finds.
@Suite struct TemporaryFileTests {
    private static let marker = "zettelkasten"
    private static let rowCount = 500_000

    private let tool: Tool

    /// A table of 80 MB, and an index on it that is yet to be built.
    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_items",
            up: """
                CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
                INSERT INTO item (body)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT \(Self.rowCount))
                SELECT abs(random()) || replace(hex(zeroblob(5)), '00', '\(Self.marker)') || x FROM n;
                """
        )
        try #require(try tool.onStore("migrate").status == 0)
        try tool.write("0002_index", up: Self.index)
    }

    private static let index = "CREATE INDEX item_body ON item (body);"
    private static let names = ["migrations", "password", "store.db"]

    private func calls(_ words: [String], input: String = "") throws -> [Substring] {
        try WrittenFiles.calls(words, environment: tool.environment, input: input)
    }

    @Test func noRowIsWrittenAsItIs() throws {
        let copy = tool.folder.path("copy.db")
        try FileManager.default.copyItem(atPath: tool.database, toPath: copy)
        let ours = try calls(
            [builtExecutable("migrationkit-cli"), "migrate"] + tool.opening
                + ["--migrations", tool.migrations]
        )
        // O_TMPFILE: the file never has a name.
        let creations = ours.filter { $0.contains("O_TMPFILE") }
        #expect(!creations.isEmpty)
        for call in creations {
            #expect(call.contains("\"\(tool.folder.path)\""), "\(call)")
            #expect(call.contains("O_EXCL") && call.contains("O_CLOEXEC"), "\(call)")
            #expect(call.contains("0600"), "\(call)")
        }
        #expect(ours.count { $0.contains("pwrite64") && $0.contains("/#") } > 1000)
        let shown = ours.filter { $0.contains(Self.marker) }
        #expect(shown.isEmpty, "\(shown.prefix(3))")
        // A mapping would reach the disk without a call. Only the log's index, which has no rows, is
        // mapped so.
        #expect(!ours.contains { $0.contains("MAP_SHARED") && $0.contains("/#") })
        #expect(try tool.folder.names == ["copy.db"] + Self.names)

        // The shell spills in the clear, which shows that this test would see it.
        let theirs = try calls(
            ["sqlcipher", "-batch", copy],
            input: "PRAGMA key = \"x'\(tool.password)'\";\n\(Self.index)"
        )
        #expect(theirs.contains { $0.contains(Self.marker) })
    }

    @Test func killedRunLeavesNoFile() throws {
        var (spilled, peak) = (false, 0)
        // The last run comes to its end.
        for part in [0.0, 0.3, 0.6, nil] {
            let process = try ChildProcess(
                builtExecutable("migrationkit-cli"),
                ["migrate"] + tool.opening + ["--migrations", tool.migrations],
                environment: tool.environment,
                newSession: true
            )
            let status = "/proc/\(process.processIdentifier)/status"
            var start: Date?
            while let text = try? String(contentsOfFile: status, encoding: .utf8) {
                guard !text.contains("\nState:\tZ") else { break }
                if let size = text.firstMatch(of: /VmHWM:\s+(\d+) kB/)?.1 {
                    peak = max(peak, Int(size) ?? 0)
                }
                if start == nil, try isSpilling(process.processIdentifier) { start = Date() }
                if let start, let part, Date().timeIntervalSince(start) >= part {
                    process.send(SIGKILL)
                }
                usleep(1000)
            }
            let result = try process.finish()
            spilled = start != nil
            #expect(spilled)
            if part == nil {
                #expect(result.status == 0, "\(result)")
            } else {
                #expect(result.signal == SIGKILL, "\(result)")
            }
            let names = try tool.folder.names.filter { !$0.hasPrefix("store.db-") }
            #expect(names == Self.names)
            for name in try tool.folder.paths where !name.hasPrefix("migrations/") {
                #expect(try tool.folder.data(name).range(of: Data(Self.marker.utf8)) == nil)
            }
        }
        // In KiB. What is sorted alone has 80 MB.
        #expect(peak > 0 && peak < 96 << 10)
        #expect(try tool.folder.names == Self.names)
        #expect(
            try tool.shell(
                "PRAGMA integrity_check; SELECT count(*) FROM item INDEXED BY item_body;"
            )
                == "ok\n\(Self.rowCount)"
        )
    }

    private func isSpilling(_ process: pid_t) throws -> Bool {
        let folder = "/proc/\(process)/fd"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.contains {
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
            return link?.hasPrefix(tool.folder.path + "/#") == true
        }
    }
}
