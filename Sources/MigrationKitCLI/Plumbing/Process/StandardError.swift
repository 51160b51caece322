import MigrationKitCommon
import Foundation

/// The standard error stream, by lines.
public enum StandardError {
    /// Writes a line. If standard error is closed, nothing happens: the exit code reports the
    /// error, too.
    ///
    /// - Parameter text: The line, without its end.
    public static func write(_ text: String) {
        send("\(text)\n")
    }

    /// Writes a text as it is.
    static func send(_ text: String) {
        _ = writeAll(Data(text.utf8), to: STDERR_FILENO)
    }

    /// Whether it is a terminal that shows progress, a line that is replaced.
    static var isTerminal: Bool { Terminal.isRich(STDERR_FILENO) }

    /// Replaces the line of progress on a terminal; `nil` takes it away. One that would go on in the
    /// next line could not be taken away, and is cut.
    static func showProgress(_ line: String?) {
        let shown = line.map { $0.printable.prefix(Terminal.width(STDERR_FILENO) - 1) } ?? ""
        send("\r\u{1B}[2K\(shown)")
    }
}
