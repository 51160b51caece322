import Foundation
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQL

/// The standard output stream, which reports write errors.
///
/// `print` doesn't: on a full disk, a redirected result would look complete.
final class StandardOutput: Sendable {
    private let buffer = Locked(Buffer())

    /// The buffer's size: how much is written with one system call.
    private static let limit = 1 << 16
    /// A terminal gets each line at once.
    private let keepsBack = !Terminal.isOutput

    /// Writes a text and a newline, now or later. ``flush()`` throws any error.
    func write(_ text: String) {
        buffer.withLock { buffer in
            buffer.waiting += text.utf8
            buffer.waiting.append(UInt8(ascii: "\n"))
            if !keepsBack || buffer.waiting.count >= Self.limit { buffer.empty() }
        }
    }

    /// Writes bytes, now or later.
    ///
    /// - Returns: Whether everything until now could be written.
    func write(_ bytes: [UInt8]) -> Bool {
        buffer.withLock { buffer in
            buffer.waiting += bytes
            if !keepsBack || buffer.waiting.count >= Self.limit { buffer.empty() }
            return buffer.failure == nil
        }
    }

    /// Writes a secret and a newline, without buffering.
    func reveal(_ secret: Secret) {
        buffer.withLock { buffer in
            buffer.empty()
            buffer.send(secret.write)
            buffer.send { writeAll(Data("\n".utf8), to: $0) }
        }
    }

    /// Writes the buffer.
    ///
    /// - Throws: ``StandardOutputError`` if this or an earlier write failed.
    func flush() throws(StandardOutputError) {
        let failure = buffer.withLock { buffer in
            buffer.empty()
            return buffer.failure
        }
        if let failure { throw failure }
    }

    /// The unwritten bytes, and the first error.
    private struct Buffer {
        var waiting: [UInt8] = []
        private(set) var failure: StandardOutputError?

        mutating func empty() {
            // The output of a host's own steps comes first.
            fflush(nil)
            let bytes = waiting
            waiting.removeAll(keepingCapacity: true)
            send { writeAll(bytes, to: $0) }
        }

        mutating func send(_ write: (_ descriptor: Int32) -> Int32?) {
            guard failure == nil, let code = write(STDOUT_FILENO) else { return }
            failure = StandardOutputError(errno: code)
        }
    }
}

/// Standard output can't be written.
struct StandardOutputError: Error, Equatable {
    /// Why, as errno.
    let errno: Int32

    /// Whether the reader has closed the pipe. That isn't reported as an error.
    var isBrokenPipe: Bool { errno == EPIPE }
}

extension StandardOutputError: LocalizedError {
    var errorDescription: String? {
        let reason = errno == EBADF ? "it is closed" : systemReason(errno)
        return "standard output can't be written: \(reason)"
    }

    var recoverySuggestion: String? {
        "Everything else that the command had to do is done."
    }
}

extension StandardOutputError: CodedError {
    var code: ErrorCode { ErrorCode("outputNotWritten", .inputOutput) }
}

/// The standard error stream, by lines.
public enum StandardError {
    /// Writes a line. Does nothing if standard error is closed: the exit code still reports the
    /// error.
    ///
    /// - Parameter text: The line, without a line feed.
    public static func write(_ text: String) {
        send("\(text)\n")
    }

    /// Writes a text unchanged.
    static func send(_ text: String) {
        _ = writeAll(Data(text.utf8), to: STDERR_FILENO)
    }

    /// Whether it is a terminal on which a progress line can be replaced.
    static var isTerminal: Bool { Terminal.isRich(STDERR_FILENO) }

    /// Replaces the progress line on a terminal; `nil` removes it. A line that is too long is cut,
    /// since a wrapped one could not be removed.
    static func showProgress(_ line: String?) {
        let shown = line.map { $0.printable.prefix(Terminal.width(STDERR_FILENO) - 1) } ?? ""
        send("\r\u{1B}[2K\(shown)")
    }
}
