import MigrationKitCommon
import Foundation

/// The terminal that the process was started from.
enum Terminal {
    /// Whether standard output is one.
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether a descriptor is a terminal that shows more than lines of text, and the user wants
    /// it: `NO_COLOR` isn't set, and `TERM` isn't `dumb`.
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
    static var columns: Int {
        let named = environmentVariable("COLUMNS").flatMap(Int.init)
        return named.flatMap { $0 > 0 ? $0 : nil } ?? width(STDOUT_FILENO)
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
        _ = writeAll(Data("\(question) [y/N] ".utf8), to: terminal)
        // A terminal gives a line at a time; one that doesn't fit is no answer.
        var line = [UInt8](repeating: 0, count: 256)
        var count = read(terminal, &line, line.count)
        while count < 0, errno == EINTR { count = read(terminal, &line, line.count) }
        let answer = String(decoding: line.prefix(max(0, count)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return ["y", "yes"].contains(answer.lowercased())
    }

    /// Occupies the numbers of standard output and standard error where they are closed: the next
    /// file to be opened would be taken for them, and results would be written into it. Writing
    /// still fails, as it does on a closed one.
    static func keepClosedOutputsClosed() {
        for number in [STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard nothing >= 0, nothing != number else { continue }
            dup2(nothing, number)
            close(nothing)
        }
    }
}
