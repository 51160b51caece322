import MigrationKitCommon
import Foundation
import KeyStore

/// The standard output stream, which reports when something couldn't be written.
///
/// `print` doesn't: on a full disk, a redirected result would seem complete.
final class StandardOutput: Sendable {
    private let buffer = Locked(Buffer())

    /// The most that is kept back for one call to the system.
    private static let limit = 1 << 16
    /// A terminal gets each line at once.
    private let keepsBack = !Terminal.isOutput

    /// Writes a text and a newline, now or later. ``flush()`` throws what goes wrong.
    func write(_ text: String) {
        buffer.withLock { buffer in
            buffer.waiting += text.utf8
            buffer.waiting.append(UInt8(ascii: "\n"))
            if !keepsBack || buffer.waiting.count >= Self.limit { buffer.empty() }
        }
    }

    /// Writes a secret and a newline, past every buffer.
    func reveal(_ secret: Secret) {
        buffer.withLock { buffer in
            buffer.empty()
            buffer.send(secret.write)
            buffer.send { writeAll(Data("\n".utf8), to: $0) }
        }
    }

    /// Writes what is kept back.
    ///
    /// - Throws: ``StandardOutputError`` if that, or anything before it, couldn't be written.
    func flush() throws(StandardOutputError) {
        let failure = buffer.withLock { buffer in
            buffer.empty()
            return buffer.failure
        }
        if let failure { throw failure }
    }

    /// What is not written yet, and the first failure.
    private struct Buffer {
        var waiting: [UInt8] = []
        private(set) var failure: StandardOutputError?

        mutating func empty() {
            // What a host's own steps have printed came before.
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

    /// Whether the reader has gone, which is its right, and nothing to speak of.
    var isBrokenPipe: Bool { errno == EPIPE }
}

extension StandardOutputError: LocalizedError {
    var errorDescription: String? {
        let reason = errno == EBADF ? "it is closed" : POSIXError(errno: errno).reason
        return "standard output can't be written: \(reason)"
    }

    var recoverySuggestion: String? {
        "Everything else that the command had to do is done."
    }
}

extension StandardOutputError: CodedError {
    var code: ErrorCode { ErrorCode("outputNotWritten", .inputOutput) }
}
