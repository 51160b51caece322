import MigrationKitCommon
import Foundation

/// A setting that no encrypted file can have.
public enum CipherSettingsError: Error, Equatable, Sendable {
    /// There is no such major version of SQLCipher.
    case compatibility(Int)

    /// No encrypted page has this size in bytes.
    case pageSize(Int)

    /// PBKDF2 can't make this many iterations.
    case kdfIterations(Int)
}

extension CipherSettingsError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .compatibility(let version): "there is no SQLCipher \(version)"
        case .pageSize(let size): "no encrypted database has pages of \(size) bytes"
        case .kdfIterations(let count): "a key can't be derived with \(count) iterations"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .compatibility: "Name a major version from 1 to 4."
        case .pageSize: "Give a power of two from 1024 to 65536."
        case .kdfIterations: "Give a number from 1 to \(Int32.max)."
        }
    }
}

extension CipherSettingsError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode { ErrorCode("unknownCipherSettings", .usage) }
}
