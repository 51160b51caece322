import Common
import Foundation
import KeyStore

/// The standard output stream, which tells when something couldn't be written.
///
/// `print` doesn't: who redirects a result to a full disk would be told that all is well.
final class StandardOutput: @unchecked Sendable {
    // `@unchecked`: every access holds the lock.
    private let lock = NSLock()
    private var waiting: [UInt8] = []
    private var failure: StandardOutputError?

    /// As much as is kept back for one call to the system.
    private static let limit = 1 << 16
    /// Whoever sits at a terminal sees a line as soon as there is one.
    private let keepsBack = !Terminal.isOutput

    /// Writes a text and a newline, now or later. What goes wrong, ``flush()`` tells.
    func write(_ text: String) {
        lock.withLock {
            waiting += text.utf8
            waiting.append(UInt8(ascii: "\n"))
            if !keepsBack || waiting.count >= Self.limit { empty() }
        }
    }

    /// Writes a secret and a newline, past every buffer.
    func reveal(_ secret: Secret) {
        lock.withLock {
            empty()
            secret.withUnsafeBytes { send($0) }
            withUnsafeBytes(of: UInt8(ascii: "\n")) { send($0) }
        }
    }

    /// Writes what is kept back.
    ///
    /// - Throws: ``StandardOutputError`` if that, or anything before it, couldn't be written.
    func flush() throws(StandardOutputError) {
        lock.lock()
        defer { lock.unlock() }
        empty()
        if let failure { throw failure }
    }

    private func empty() {
        // What a host's own steps have printed came before.
        fflush(nil)
        waiting.withUnsafeBytes { send($0) }
        waiting.removeAll(keepingCapacity: true)
    }

    private func send(_ bytes: UnsafeRawBufferPointer) {
        guard failure == nil, let code = writeAll(bytes, to: STDOUT_FILENO) else { return }
        failure = StandardOutputError(errno: code)
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
        let reason = errno == EBADF ? "it is closed" : String(cString: strerror(errno)).lowercased()
        return "standard output can't be written: \(reason)"
    }

    var recoverySuggestion: String? {
        "Whatever the command was to do beside that is done."
    }
}

extension StandardOutputError: CodedError {
    var code: ErrorCode { ErrorCode("outputNotWritten", .inputOutput) }
}
