import MigrationKitCommon
import Foundation

/// A value that no file is encrypted with.
public enum CipherSettingsError: Error, Equatable, Sendable {
    /// There is no such major version of SQLCipher.
    case compatibility(Int)

    /// No encrypted page has this size in bytes.
    case pageSize(Int)

    /// PBKDF2 can't iterate so often.
    case kdfIterations(Int)
}

extension CipherSettingsError: LocalizedError {
    /// What went wrong, in one line that stands alone.
    public var errorDescription: String? {
        switch self {
        case .compatibility(let version): "there are no settings of a SQLCipher \(version)"
        case .pageSize(let size): "no encrypted database has pages of \(size) bytes"
        case .kdfIterations(let count): "a key can't be derived with \(count) iterations"
        }
    }

    /// What can be done about it.
    public var recoverySuggestion: String? {
        switch self {
        case .compatibility: "Name a major version from 1 to 4."
        case .pageSize: "Give a power of two from 1024 to 65536."
        case .kdfIterations: "Give a number from 1 to \(Int32.max)."
        }
    }
}

extension CipherSettingsError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode { ErrorCode("unknownCipherSettings", .usage) }
}
