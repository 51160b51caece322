import Foundation
import TestSupport
import Testing

/// What a command reports as done stays done when the power goes just after it.
@Suite struct DurabilityTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    /// The system calls of a command that change files or synchronize them, with the files' names.
    private func calls(_ command: String, _ arguments: String...) throws -> [Substring] {
        let trace = tool.folder.path("trace")
        let result = try TestSupport.run(
            "strace",
            [
                "-f", "-qq", "-y", "-o", trace, "-e",
                "trace=unlink,unlinkat,pwrite64,write,ftruncate,fsync,fdatasync",
                builtExecutable("migrationkit-cli"), command,
            ] + tool.opening + ["--migrations", tool.migrations] + arguments,
            environment: tool.environment,
            newSession: true
        )
        try #require(result.status == 0, "\(result)")
        return try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    }

    /// With a rollback journal a commit is the end of the journal after the last write to the
    /// database: its removal, which the folder must learn of, or a write to it.
    private func expectDurable(
        _ calls: [Substring],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let database = "<\(tool.database)>"
        let journal = "\(tool.database)-journal"
        let lastWrite = calls.lastIndex { $0.contains("write") && $0.contains(database) }
        let rest = calls[try #require(lastWrite, sourceLocation: sourceLocation)...]
        func isSynchronized(after end: Int?, _ file: String) -> Bool {
            guard let end else { return false }
            return rest[end...].contains { $0.contains("sync(") && $0.contains("<\(file)>") }
        }
        let removal = rest.firstIndex { $0.contains("unlink") && $0.contains(journal) }
        let ending = rest.firstIndex { $0.contains("write") && $0.contains(journal) }
        #expect(
            isSynchronized(after: removal, tool.folder.path)
                || isSynchronized(after: ending, journal),
            "\(rest.joined(separator: "\n"))",
            sourceLocation: sourceLocation
        )
    }

    @Test func everyCommandThatCommitsSynchronizesTheEndOfTheJournal() throws {
        try expectDurable(calls("migrate", "--all-or-nothing"))
        try expectDurable(calls("rollback"))
        try expectDurable(calls("rollback", "--all-or-nothing"))
        try expectDurable(calls("migrate"))
        try expectDurable(calls("redo"))
        try tool.write("0001_items", up: "CREATE TABLE item (id INTEGER, b);", down: "SELECT 1;")
        try expectDurable(calls("repair", "0001_items", "--yes"))

        unlink(tool.database)
        _ = try tool.shell("CREATE TABLE item (id INTEGER, b);")
        try expectDurable(calls("baseline", "0001_items"))
    }
}
