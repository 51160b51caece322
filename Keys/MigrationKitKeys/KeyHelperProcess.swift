import FoundationEssentials
import Glibc

/// One running key helper, and the conversation with it.
final class KeyHelperProcess {
    private let program: String
    private let input: Pipe
    private let output: Pipe
    private let child: pid_t
    private let memory: SecretPages

    /// The longest line of an answer, in bytes.
    private static let limit = 2 * SecretReader.limit

    init(_ words: [String]) throws {
        program = words[0]
        (input, output) = (try Pipe(), try Pipe())
        // The input's other end stays open here, too: writing to a helper that has ended is then no
        // error that a signal reports. Its closed output is noticed.
        child = try SecretCommand.spawn(words, input: input.read, output: output.write)
        output.closeWriteEnd()
        _ = fcntl(input.write, F_SETFL, O_NONBLOCK)
        memory = SecretPages(capacity: Self.limit)
    }

    deinit {
        memory.release()
        input.closeWriteEnd()
        input.closeReadEnd()
        output.closeReadEnd()
        // The end of its input is its sign to end.
        let isOver = { [child] in waitpid(child, nil, WNOHANG) != 0 }
        for pause in [0, 1, 4, 20, 75, 200, 400, 300] as [useconds_t] {
            usleep(pause * 1000)
            if isOver() { return }
        }
        kill(child, SIGKILL)
        while waitpid(child, nil, 0) < 0, errno == EINTR {}
    }

    /// Whether it waits for a question. A helper that has ended or says something doesn't.
    var isReady: Bool {
        var output = pollfd(fd: output.read, events: Int16(POLLIN), revents: 0)
        return poll(&output, 1, 0) == 0
    }

    /// Asks for the key of a store.
    ///
    /// - Parameters:
    ///   - timeout: How long it may take for an answer.
    ///   - start: From when on that counts.
    ///   - check: Called several times a second; what it throws ends the conversation.
    ///   - read: Reads the answer, a line without its end.
    /// - Returns: `nil` if the helper has ended.
    /// - Throws: ``KeySourceError/helperTimedOut(program:seconds:)``;
    ///   ``KeySourceError/unusableAnswer(program:reason:)``; what the closures throw. Nothing more can
    ///   be asked then.
    func ask<Value>(
        _ store: String,
        within timeout: Duration,
        since start: ContinuousClock.Instant,
        check: () throws -> Void,
        _ read: (UnsafeRawBufferPointer) throws -> Value
    ) throws -> Value? {
        defer { explicit_bzero(memory.base, memory.byteCount) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        var question = ArraySlice([UInt8](try encoder.encode(["store": store])) + [0x0A])
        var used = 0
        while true {
            try check()
            guard ContinuousClock.now < start + timeout else {
                throw KeySourceError.helperTimedOut(
                    program: program,
                    seconds: timeout / .seconds(1)
                )
            }
            var ends = [
                pollfd(fd: output.read, events: Int16(POLLIN), revents: 0),
                pollfd(
                    fd: question.isEmpty ? -1 : input.write,
                    events: Int16(POLLOUT),
                    revents: 0
                ),
            ]
            guard poll(&ends, 2, 100) > 0 else { continue }
            if ends[1].revents != 0 {
                let count = question.withUnsafeBytes {
                    write(input.write, $0.baseAddress, $0.count)
                }
                if count > 0 { question = question.dropFirst(count) }
            }
            guard ends[0].revents != 0 else { continue }
            let count = Glibc.read(output.read, memory.base + used, Self.limit - used)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if used == Self.limit { throw isNotOneLine }
                return nil
            }
            used += count
            let bytes = UnsafeRawBufferPointer(start: memory.base, count: used)
            guard let end = bytes[(used - count)...].firstIndex(of: 0x0A) else { continue }
            guard end == used - 1, question.isEmpty else { throw isNotOneLine }
            return try read(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
        }
    }

    private var isNotOneLine: KeySourceError {
        .unusableAnswer(program: program, reason: "it is not one line, or too long")
    }
}
