import Foundation
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQL

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
