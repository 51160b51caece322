import Foundation
import KeyStore

/// The terminal that the process was started from.
enum Terminal {
    /// Whether standard output is one.
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether a descriptor is a terminal that shows more than lines of text, and whoever sits there
    /// wants it: `NO_COLOR` isn't set, and `TERM` isn't `dumb`.
    static func isRich(_ descriptor: Int32) -> Bool {
        guard isatty(descriptor) == 1 else { return false }
        let isDumb = getenv("TERM").map { strcmp($0, "dumb") == 0 } ?? false
        let isUnwanted = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        return !isDumb && !isUnwanted
    }

    /// How many columns a terminal has; 80 where it doesn't tell.
    static func width(_ descriptor: Int32) -> Int {
        var size = winsize()
        let isTold = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return isTold ? Int(size.ws_col) : 80
    }

    /// Whether there is one to ask on.
    static var canAsk: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// Asks a question that is answered by yes or no. Ctrl-C ends the process, as anywhere.
    ///
    /// - Returns: Whether the answer was yes; `nil` where there is no terminal to ask on.
    static func confirm(_ question: String) -> Bool? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        Data("\(question) [y/N] ".utf8).withUnsafeBytes { writeAll($0, to: terminal) }
        // A terminal gives a line at a time; one that doesn't fit is no answer.
        var line = [UInt8](repeating: 0, count: 256)
        var count = read(terminal, &line, line.count)
        while count < 0, errno == EINTR { count = read(terminal, &line, line.count) }
        let answer = String(decoding: line.prefix(max(0, count)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return ["y", "yes"].contains(answer.lowercased())
    }

    /// Writes a secret and a newline to standard output, past every buffer.
    static func reveal(_ secret: Secret) {
        fflush(nil)
        secret.withUnsafeBytes { writeAll($0, to: STDOUT_FILENO) }
        withUnsafeBytes(of: UInt8(ascii: "\n")) { writeAll($0, to: STDOUT_FILENO) }
    }

    private static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}
