import Foundation

/// An error that carries what programs are given of it.
public protocol CodedError: LocalizedError {
    /// What programs compare, and how a command ends.
    var code: ErrorCode { get }
}

/// What programs are given of an error.
public struct ErrorCode: Hashable, Sendable {
    /// A word to compare, such as `wrongKey`. It stays the same from release to release.
    public let name: String

    /// How a command ends with the error.
    public let exitStatus: ExitStatus

    package init(_ name: String, _ exitStatus: ExitStatus) {
        self.name = name
        self.exitStatus = exitStatus
    }

    /// How a command ends. From 64 on these are the ones of `sysexits.h`.
    /// <https://man.openbsd.org/sysexits.3>
    public enum ExitStatus: Int32, Sendable {
        case done = 0
        case failed = 1
        case verificationFailed = 2
        /// Asked with `--check` or `--exit-code`: something differs, or is pending.
        case differs = 3
        case usage = 64
        case dataError = 65
        case noInput = 66
        case unavailable = 69
        case cannotCreate = 73
        case inputOutput = 74
        case busy = 75
        case noPermission = 77
    }
}
