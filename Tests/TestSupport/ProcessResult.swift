/// What a finished child process left.
public struct ProcessResult: Sendable {
    /// The exit code, or nil when a signal ended the process.
    public let status: Int32?
    /// The signal that ended the process, if one did.
    public let signal: Int32?
    /// The bytes of standard output.
    public let outputBytes: [UInt8]
    /// The bytes of standard error.
    public let errorBytes: [UInt8]

    /// Standard output as text.
    public var stdout: String { String(decoding: outputBytes, as: UTF8.self) }
    /// Standard error as text.
    public var stderr: String { String(decoding: errorBytes, as: UTF8.self) }
}

extension ProcessResult: CustomStringConvertible {
    /// How the process ended, and what it said.
    public var description: String {
        let end = status.map { "exit \($0)" } ?? "signal \(signal ?? 0)"
        return "\(end)\n\(stdout)\n\(stderr)"
    }
}
