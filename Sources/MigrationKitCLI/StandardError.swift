import Foundation

/// The standard error stream, by lines.
public enum StandardError {
    /// Writes a line.
    ///
    /// - Parameter text: The line, without its end.
    public static func write(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    /// Whether it is a terminal that shows progress, a line that is replaced.
    static var isTerminal: Bool { Terminal.isRich(STDERR_FILENO) }
}
