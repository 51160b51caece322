import Foundation

/// What the process's standard streams are connected to.
enum Terminal {
    /// Whether somebody can answer a prompt and watch progress.
    static var isInteractive: Bool {
        isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
            && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }
}

/// The standard error stream, by lines.
enum StandardError {
    static func write(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}
