import Foundation

/// The standard error stream, by lines.
public enum StandardError {
    /// Writes a line.
    ///
    /// - Parameter text: The line, without its end.
    public static func write(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    /// Whether it is a terminal on which a line can be replaced.
    static var isTerminal: Bool {
        isatty(STDERR_FILENO) == 1 && getenv("TERM").map { strcmp($0, "dumb") != 0 } ?? true
    }
}
