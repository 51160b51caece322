import Foundation
import TestSupport
import Testing

/// Runs of one command of the tool on one database, which `strace` kills before one system call or
/// another.
struct KilledRuns {
    /// The calls that change what is on the disk.
    private static let calls = [
        "openat", "pwrite64", "fsync", "fdatasync", "ftruncate", "fchmod", "rename", "unlink",
        "link",
    ]

    private let tool: Tool
    private let arguments: [String]
    private let prepare: () throws -> Void
    /// The calls of a run that is not disturbed, in their order.
    private let trace: [Call]
    /// Which of them makes the file of the first lock: what comes before changes nothing.
    private let begin: Int
    /// The calls of the main thread from the first one on that is about the folder's files.
    private let mainCalls: [Call]

    private struct Call {
        let name: String
        /// `strace` counts the calls of each thread by itself.
        let ordinal: Int
        let isOfMainThread: Bool
    }

    /// Traces a run.
    ///
    /// - Parameter prepare: Makes the files as they are before each run.
    init(_ tool: Tool, _ arguments: [String], prepare: @escaping () throws -> Void) throws {
        self.tool = tool
        self.arguments = arguments
        self.prepare = prepare
        try prepare()
        let result = try Self.run(
            tool,
            arguments,
            under: ["-e", "trace=\(Self.calls.joined(separator: ","))"]
        )
        try #require(result.status == 0, "\(result)")
        let lines = String(decoding: try tool.folder.data("migrations/trace"), as: UTF8.self)
            .split(separator: "\n")
            // Another thread's call may stand between the beginning of a call and its end.
            .filter { !$0.contains(" resumed>") }
        // 6286  openat(AT_FDCWD, "/tmp/mk-x/store.db-migration.lock", ...
        begin = try #require(lines.firstIndex { $0.contains("-migration.lock") })
        func words(_ line: Substring) -> [Substring] { line.split(separator: " ") }
        let main = words(lines[begin]).first
        var counts: [String: Int] = [:]
        trace = lines.map { line in
            let name = String(words(line).dropFirst().joined().prefix { $0 != "(" })
            let thread = words(line).first
            let ordinal = counts["\(thread ?? "") \(name)", default: 0] + 1
            counts["\(thread ?? "") \(name)"] = ordinal
            return Call(name: name, ordinal: ordinal, isOfMainThread: thread == main)
        }
        let first = lines.firstIndex { $0.contains(tool.folder.path) } ?? begin
        mainCalls = trace[first...].filter(\.isOfMainThread)
    }

    /// How many calls there are to be killed before.
    var callCount: Int { trace.count - begin }

    /// How many of them other threads than the main one make.
    var workerCallCount: Int { trace.count { !$0.isOfMainThread } }

    /// Points all over a run, and each around the call that puts the new file in its place.
    ///
    /// - Parameter name: That call's.
    func points(_ count: Int, around name: String) throws -> [Int] {
        let center = try #require(trace.lastIndex { $0.name == name })
        let closeCount = min(count / 2, 24)
        let evenCount = count - closeCount
        let close = (center - closeCount * 3 / 4)..<(center + closeCount - closeCount * 3 / 4)
        return (0..<evenCount).map { begin + $0 * (trace.count - begin) / evenCount }
            + close.map { min($0, trace.count - 1) }
    }

    /// Runs the command on the files as they were, and kills it.
    ///
    /// - Returns: Whether the call came at all.
    func kill(at point: Int) throws -> Bool {
        let call = trace[point]
        try prepare()
        let result = try Self.run(
            tool,
            arguments,
            under: [
                "-e", "trace=\(call.name)",
                "-e", "inject=\(call.name):signal=SIGKILL:when=\(call.ordinal)",
            ]
        )
        #expect(result.signal == SIGKILL || result.status == 0, "\(result)")
        return result.signal == SIGKILL
    }

    /// Runs the command on the files as they were, and stops it.
    ///
    /// - Parameter name: The last call of this name takes place; the process stops before it comes
    ///   back from it.
    /// - Parameter call: Only those before the last one of this name count.
    /// - Returns: The process, which `finish(_:)` lets go on.
    func stop(inLast name: String, before call: String) throws -> ChildProcess {
        let end = try #require(trace.lastIndex { $0.name == call })
        let calls = trace[...end].filter { $0.name == name && $0.isOfMainThread }
        let call = try #require(calls.last)
        return try #require(try stop(at: call))
    }

    /// How many calls ``stop(atMainCall:)`` can name.
    var mainCallCount: Int { mainCalls.count }

    /// Runs the command on the files as they were, and stops it in one of its calls, from 0.
    ///
    /// - Returns: `nil` if it ended without this call.
    func stop(atMainCall number: Int) throws -> ChildProcess? {
        try stop(at: mainCalls[number])
    }

    /// Lets a command that was stopped go on to its end.
    ///
    /// strace counts each thread's calls, and so stops the command again in the call of this number of
    /// another thread.
    static func finish(_ process: ChildProcess) throws -> ProcessResult {
        let ending = Background { try process.finish() }
        while !ending.isOver {
            process.send(SIGCONT)
            usleep(20_000)
        }
        return try ending.value()
    }

    private func stop(at call: Call) throws -> ChildProcess? {
        try prepare()
        // -D: the tracer is not between the process and the test.
        let process = try ChildProcess(
            "strace",
            [
                "-D", "-f", "-qq", "-o", tool.folder.path("migrations/trace"),
                "-e", "trace=\(call.name)",
                "-e", "inject=\(call.name):signal=SIGSTOP:when=\(call.ordinal)",
                builtExecutable("migrationkit-cli"),
            ] + arguments,
            environment: tool.environment,
            newSession: true
        )
        // A stopped process tells nobody but its parent and its tracer, which are not asked here.
        for _ in 0..<60_000 {
            let state = try processFields(process.processIdentifier).first
            if state == "T" { return process }
            // Under a tracer that listens for the end of the stop.
            if state == "t", try hasStopped() { return process }
            if state == "Z" { return nil }
            usleep(1000)
        }
        throw POSIXError(.ETIMEDOUT)
    }

    private func hasStopped() throws -> Bool {
        String(decoding: try tool.folder.data("migrations/trace"), as: UTF8.self)
            .contains("stopped by SIGSTOP")
    }

    private static func run(
        _ tool: Tool,
        _ arguments: [String],
        under options: [String]
    ) throws -> ProcessResult {
        try TestSupport.run(
            "strace",
            ["-f", "-qq", "-o", tool.folder.path("migrations/trace")] + options
                + [builtExecutable("migrationkit-cli")] + arguments,
            environment: tool.environment,
            newSession: true
        )
    }
}
