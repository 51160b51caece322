/// The code of an error for programs, and its exit status.
public struct ErrorCode: Hashable, Sendable {
    /// A word to compare, such as `wrongKey`. It stays the same from release to release.
    public let name: String

    /// The exit status of a command that ends with the error.
    public let exitStatus: ExitStatus

    package init(_ name: String, _ exitStatus: ExitStatus) {
        self.name = name
        self.exitStatus = exitStatus
    }

    /// The exit status of a command. From 64 on, these are the codes of `sysexits.h`.
    /// <https://man.openbsd.org/sysexits.3>
    public enum ExitStatus: Int32, Sendable {
        case done = 0
        case failed = 1
        case verificationFailed = 2
        /// With `--check` or `--exit-code`: something differs, or is pending. `lint`: a finding.
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

extension ErrorCode {
    /// The code of a step that failed with this error: what has no code of its own, such as a refused
    /// statement or an error of the app, is the step's.
    package var ofStep: ErrorCode {
        ["failed", "databaseError"].contains(name) ? ErrorCode("stepFailed", .failed) : self
    }

    /// The code of an error of SQLite's that doesn't come from the SQL, but from another process, the
    /// disk or permissions.
    ///
    /// - Parameter resultCode: The result code, which may be an extended one.
    /// - Returns: `nil` for every other error.
    package init?(sqlite resultCode: Int32) {
        switch PrimaryResultCode(rawValue: resultCode & 0xff) {
        case .busy, .locked: self.init("locked", .busy)
        case .full: self.init("diskFull", .inputOutput)
        // The locks of a write-ahead log can't be had: https://www.sqlite.org/rescode.html#protocol
        case .readWrite, .cannotOpen, .protocol: self.init("inputOutput", .inputOutput)
        case .corrupt: self.init("damaged", .inputOutput)
        case .readOnly, .permission, .authorization: self.init("readOnly", .noPermission)
        case nil: return nil
        }
    }

    /// SQLite's numbers, since this target has no SQLite. <https://www.sqlite.org/rescode.html>
    private enum PrimaryResultCode: Int32 {
        case permission = 3
        case busy = 5
        case locked = 6
        case readOnly = 8
        case readWrite = 10
        case corrupt = 11
        case full = 13
        case cannotOpen = 14
        case `protocol` = 15
        case authorization = 23
    }
}
