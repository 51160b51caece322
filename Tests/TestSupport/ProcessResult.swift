import Foundation
import Testing

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

    /// What a process left that ended so.
    public init(status: Int32?, signal: Int32?, outputBytes: [UInt8], errorBytes: [UInt8]) {
        self.status = status
        self.signal = signal
        self.outputBytes = outputBytes
        self.errorBytes = errorBytes
    }

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

extension ProcessResult {
    /// The JSON document on standard output.
    public func json() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(outputBytes)) as? [String: Any])
    }

    /// The error of a JSON document on standard error.
    public func jsonError() throws -> [String: Any] {
        let document = try JSONSerialization.jsonObject(with: Data(errorBytes))
        return try #require((document as? [String: Any])?["error"] as? [String: Any])
    }
}
