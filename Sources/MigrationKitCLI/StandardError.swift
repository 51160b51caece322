import Foundation

/// The standard error stream, by lines.
public enum StandardError {
    /// Writes a line. Where nobody listens, nothing happens: the exit code tells as well.
    ///
    /// - Parameter text: The line, without its end.
    public static func write(_ text: String) {
        send("\(text)\n")
    }

    /// Writes a text as it is.
    static func send(_ text: String) {
        _ = Data(text.utf8).withUnsafeBytes { writeAll($0, to: STDERR_FILENO) }
    }

    /// Whether it is a terminal that shows progress, a line that is replaced.
    static var isTerminal: Bool { Terminal.isRich(STDERR_FILENO) }
}
