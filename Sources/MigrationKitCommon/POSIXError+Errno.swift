import Foundation

extension POSIXError {
    /// The error of the system call that has just failed.
    package static var last: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    /// The system's text for the error.
    package var reason: String { String(cString: strerror(code.rawValue)).lowercased() }
}
