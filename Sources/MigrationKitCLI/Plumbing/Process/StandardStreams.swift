import Foundation
import MigrationKitKeys
import MigrationKitCommon
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

// MARK: - Terminal

/// The terminal that the process was started from.
enum Terminal {
    /// Whether standard output is a terminal.
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether a descriptor is a terminal that supports colours and progress, and the user allows
    /// them: `NO_COLOR` isn't set, and `TERM` isn't `dumb`.
    static func isRich(_ descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1 else { return false }
        return environmentVariable("TERM") != "dumb"
            && environmentVariable("NO_COLOR")?.isEmpty ?? true
    }

    /// How many columns a terminal has; 80 if it doesn't report it.
    static func width(_ descriptor: Int32) -> Int {
        var size = winsize()
        let isTold = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return isTold ? Int(size.ws_col) : 80
    }

    /// How many columns standard output has. `COLUMNS` wins, as in other tools.
    static var columns: Int { namedColumns ?? width(STDOUT_FILENO) }

    private static var namedColumns: Int? {
        environmentVariable("COLUMNS").flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil }
    }

    /// How many columns standard error has; `nil` if it is no terminal.
    static var errorColumns: Int? {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        return namedColumns ?? width(STDERR_FILENO)
    }

    /// Whether there is a terminal to ask on.
    static var canAsk: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// Whether someone is watching the process: standard input or standard error is a terminal. A
    /// script's or a test's child may have a terminal to ask on, and nobody at it.
    static var isWatched: Bool {
        (isatty(STDIN_FILENO) == 1 || isatty(STDERR_FILENO) == 1) && canAsk
    }

    /// Asks a yes-or-no question. Ctrl-C ends the process, as always.
    ///
    /// - Returns: Whether the answer was yes; `nil` if there is no terminal to ask on.
    static func confirm(_ question: String) -> Bool? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        _ = writeAll(Data("\(question) [y/N] ".utf8), to: terminal)
        // A terminal returns one line at a time. A line that doesn't fit isn't an answer.
        var line = [UInt8](repeating: 0, count: 256)
        var count = read(terminal, &line, line.count)
        while count < 0, errno == EINTR { count = read(terminal, &line, line.count) }
        let answer = String(decoding: line.prefix(max(0, count)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return ["y", "yes"].contains(answer.lowercased())
    }

    /// Opens something as standard output and standard error if they are closed. Otherwise the next
    /// opened file would get their numbers, and results would be written to it. Writing still
    /// fails, as on a closed descriptor.
    static func keepClosedOutputsClosed() {
        for number in [STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard nothing >= 0, nothing != number else { continue }
            dup2(nothing, number)
            close(nothing)
        }
    }
}

// MARK: - Output File

/// A file that a command writes.
struct OutputFile {
    /// Its path, as it was given.
    let path: String

    /// Writes a text, replacing the existing content.
    ///
    /// A regular file is replaced as a whole or not at all, and keeps its mode. A symbolic link to one
    /// is refused, since a stranger's change could lead it to any file. If the path leads to a pipe, a
    /// device or an open descriptor (`/dev/stdout`), the text is written there.
    ///
    /// - Throws: ``MigrationCLIError/cannotWrite(path:reason:)``; ``CommandError``.
    func write(_ text: String) throws {
        let place = try place()
        if case .file(let target, let status) = place,
            (status?.st_mode ?? S_IFREG) & S_IFMT == S_IFREG
        {
            guard target == path else {
                throw MigrationCLIError.cannotWrite(
                    path: path,
                    reason: "it is a link; give the path of the file itself"
                )
            }
            try Repository.refuseLink(path)
        }
        switch place {
        case .descriptor(let number):
            try send(text, to: number)
        case .file(let path, let status) where (status?.st_mode ?? S_IFREG) & S_IFMT == S_IFREG:
            try replace(path, mode: status.map { $0.st_mode & 0o7777 }, with: text)
        case .file(let path, _):
            let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else { throw failure(errno) }
            defer { close(descriptor) }
            try send(text, to: descriptor)
        }
    }

    // MARK: -

    private enum Place {
        /// A descriptor that the process has open.
        case descriptor(Int32)
        /// Not a link; the status is `nil` if nothing exists there.
        case file(String, stat?)
    }

    /// Follows links itself: realpath(3) fails for a dangling link and for a descriptor's.
    private func place() throws -> Place {
        var current = path
        // As many links as the kernel follows.
        for _ in 0...40 {
            let folder = (current as NSString).deletingLastPathComponent
            let name = (current as NSString).lastPathComponent
            if let number = descriptor(name, in: folder.isEmpty ? "." : folder) {
                return .descriptor(number)
            }
            var status = stat()
            guard lstat(current, &status) == 0 else {
                guard errno == ENOENT else { throw failure(errno) }
                return .file(current, nil)
            }
            guard status.st_mode & S_IFMT == S_IFLNK else { return .file(current, status) }
            guard let next = linkTarget(current) else { throw failure(errno) }
            current = next.hasPrefix("/") || folder.isEmpty ? next : "\(folder)/\(next)"
        }
        throw failure(ELOOP)
    }

    /// The descriptor that a name in `/proc/self/fd` or `/dev/fd` means. Its file has a position
    /// and perhaps no name, so it isn't opened again.
    private func descriptor(_ name: String, in folder: String) -> Int32? {
        guard let number = Int32(name) else { return nil }
        return realPath(folder) == "/proc/\(getpid())/fd" ? number : nil
    }

    private func replace(_ path: String, mode: mode_t?, with text: String) throws {
        do {
            try NewFile.write(text.utf8, to: path, mode: mode, replaces: true)
        } catch let error as NewFileError {
            throw failure(error.code)
        }
    }

    private func send(_ text: String, to descriptor: Int32) throws {
        if let code = writeAll(Data(text.utf8), to: descriptor) { throw failure(code) }
    }

    private func failure(_ code: Int32) -> MigrationCLIError {
        .cannotWrite(path: path, reason: systemReason(code))
    }
}
