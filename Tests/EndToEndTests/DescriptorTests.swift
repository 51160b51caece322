import Foundation
import TestSupport
import Testing

/// Closing a descriptor of a file ends all of the process's locks on it, those of SQLite's connections
/// too. So no command closes one while there are such locks. <https://www.sqlite.org/howtocorrupt.html>
@Suite struct DescriptorTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_note",
            up: """
                CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT, size INTEGER);
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500)
                INSERT INTO note (body) SELECT hex(zeroblob(200)) FROM n;
                """,
            down: "DROP TABLE note;"
        )
        try tool.write("0002_tag", up: "CREATE TABLE tag (a);", down: "DROP TABLE tag;")
        try #require(tool.onStore("migrate").status == 0)
        try tool.write(
            "0003_size",
            up:
                "-- migrate:batch rows=100\nUPDATE note SET size = length(body) WHERE size IS NULL;",
            down: "UPDATE note SET size = NULL;"
        )
    }

    private func commands() throws -> [[String]] {
        let store = tool.opening
        let folder = store + ["--migrations", tool.migrations]
        let copy = ["--output", tool.folder.path("copy.db")]
        try tool.folder.write("new-password", (String(repeating: "a1", count: 32) + "\n").utf8)
        let newKey = ["--new-password-file", tool.folder.path("new-password"), "--new-raw-key"]
        return [
            ["migrate"] + folder, ["migrate", "--dry-run"] + folder,
            ["migrate", "--all-or-nothing"] + folder,
            ["migrate", "--backup", tool.folder.path("copy.db")] + folder,
            ["plan"] + folder, ["rehearse"] + folder, ["status"] + folder, ["history"] + store,
            ["rollback"] + folder, ["redo"] + folder,
            ["downgrade", "--yes", "--to", "0001_note"] + folder,
            ["downgrade", "--dry-run", "--to", "0001_note"] + folder,
            ["verify"] + folder, ["verify", "--full"] + folder, ["inspect"] + store,
            ["tables"] + store, ["query"] + store + ["SELECT count(*) FROM note"],
            ["schema-dump"] + store, ["backup"] + copy + store, ["salvage"] + copy + store,
            ["decrypt", "--yes"] + copy + store, ["rekey"] + newKey + store,
            ["restore", "--yes", "--from", tool.folder.path("start")] + store,
            ["key", "check"] + store,
        ]
    }

    @Test(arguments: Journal.allCases) func noCommandEndsLocksOfItsConnections(
        _ journal: Journal
    ) throws {
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let start = tool.folder.path("start")
        try FileManager.default.moveItem(atPath: tool.database, toPath: start)
        var closeCount = 0
        for command in try commands() {
            for name in try tool.folder.names where name.contains("store.db") || name == "copy.db" {
                unlink(tool.folder.path(name))
            }
            try FileManager.default.copyItem(atPath: start, toPath: tool.database)
            let trace = tool.folder.path("trace")
            let result = try TestSupport.run(
                "strace",
                ["-f", "-qq", "-y", "-o", trace, "-e", "trace=openat,close,fcntl"]
                    + [builtExecutable("migrationkit-cli")] + command,
                environment: tool.environment,
                newSession: true
            )
            #expect(result.status == 0, "\(command): \(result)")
            var descriptors = Descriptors(in: tool.folder.path)
            try descriptors.read(String(contentsOfFile: trace, encoding: .utf8))
            #expect(
                descriptors.faults.isEmpty,
                "\(command): \(descriptors.faults.joined(separator: "\n"))"
            )
            closeCount += descriptors.closeCount
        }
        #expect(closeCount > 50)
    }
}

/// The descriptors and the locks of a process, by its system calls.
private struct Descriptors {
    private let folder: String
    private var open: [Int: String] = [:]
    /// Where the locks begin, by the path of their file.
    private var locks: [String: Set<Int>] = [:]
    private(set) var faults: [String] = []
    private(set) var lockCount = 0
    private(set) var closeCount = 0

    init(in folder: String) { self.folder = folder }

    mutating func read(_ trace: String) throws {
        var begun: [Substring: Substring] = [:]
        for line in trace.split(separator: "\n") {
            let thread = line.prefix { $0 != " " }
            var call = line.dropFirst(thread.count).drop { $0 == " " }
            if let end = call.range(of: " <unfinished") {
                begun[thread] = call[..<end.lowerBound]
                continue
            }
            if call.hasPrefix("<... "), let end = call.range(of: " resumed>") {
                call = Substring(
                    (begun.removeValue(forKey: thread) ?? "") + call[end.upperBound...]
                )
            }
            try note(call)
        }
    }

    // openat(AT_FDCWD</tmp>, "/tmp/mk/store.db", O_RDWR|O_CREAT, 0644) = 5</tmp/mk/store.db>
    // fcntl(5</tmp/mk/store.db>, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_SET, l_start=128, l_len=1}) = 0
    private mutating func note(_ call: Substring) throws {
        let opened = /(?:openat\(|fcntl\(.*, F_DUPFD).*\) += (\d+)<([^>]*)>/
        let locked =
            /fcntl\(\d+<([^>]*)>, F_SETLKW?, .*l_type=F_(\w+), .*l_start=(\d+), l_len=(\d+)\}\) += 0/
        if let (_, number, path) = try opened.prefixMatch(in: call)?.output {
            open[Int(number) ?? -1] = String(path)
        } else if let (_, path, type, start, length) = try locked.prefixMatch(in: call)?.output {
            let start = Int(start) ?? 0
            let end = length == "0" ? Int.max : start + (Int(length) ?? 0)
            if type == "UNLCK" {
                let kept = locks[String(path), default: []].filter { !(start..<end ~= $0) }
                locks[String(path)] = kept
            } else {
                locks[String(path), default: []].insert(start)
                lockCount += 1
            }
        } else if let (_, number, path) = try /close\((\d+)<([^>]*)>\)/.prefixMatch(in: call)?
            .output
        {
            open[Int(number) ?? -1] = nil
            let path = String(path)
            guard path.hasPrefix(folder), !path.contains("deleted") else { return }
            closeCount += 1
            let isOpenStill = open.values.contains(path)
            // The index has one descriptor in a process, whatever is locked at this moment.
            if isOpenStill, path.hasSuffix("-shm") || locks[path]?.isEmpty == false {
                faults.append("\(call), with locks at \(locks[path]?.sorted() ?? [])")
            }
            locks[path] = nil
        }
    }
}
