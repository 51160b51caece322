import MigrationKitCommon
import Foundation

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
