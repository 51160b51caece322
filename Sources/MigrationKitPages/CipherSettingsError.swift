import Foundation
import MigrationKitCommon

/// A setting that no encrypted file can have.
public enum CipherSettingsError: Error, Equatable, Sendable {
    /// There is no such major version of SQLCipher.
    case compatibility(Int)

    /// No encrypted page has this size in bytes.
    case pageSize(Int)

    /// PBKDF2 can't make this many iterations.
    case kdfIterations(Int)

    /// No plaintext header has this size in bytes, or not without HMACs.
    case plaintextHeaderSize(Int)

    /// A salt doesn't have this size in bytes.
    case saltSize(Int)

    /// A salt is given for a file that has its own at its beginning.
    case saltWithoutPlaintextHeader

    /// A file with a plaintext header has its salt elsewhere, and it isn't given.
    case noSalt
}

extension CipherSettingsError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .compatibility(let version): "there is no SQLCipher \(version)"
        case .pageSize(let size): "no encrypted database has pages of \(size) bytes"
        case .kdfIterations(let count): "a key can't be derived with \(count) iterations"
        case .plaintextHeaderSize(let size):
            "no encrypted database has a plaintext header of \(size) bytes"
        case .saltSize(let size): "a salt has 16 bytes, not \(size)"
        case .saltWithoutPlaintextHeader: "a salt is given, but no plaintext header"
        case .noSalt: "the salt of a database with a plaintext header isn't given"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .compatibility: "Name a major version from 1 to 4."
        case .pageSize: "Give a power of two from 1024 to 65536."
        case .kdfIterations: "Give a number from 1 to \(Int32.max)."
        case .plaintextHeaderSize:
            "Give a multiple of 16 up to 96, or up to 48 if the pages have no HMAC; usually 32."
        case .saltSize: "Give 32 hexadecimal digits."
        case .saltWithoutPlaintextHeader:
            "Without a plaintext header, the file begins with its salt. Leave the salt out."
        case .noSalt:
            """
            The file doesn't contain it: its app keeps it beside the key. Give the salt, or a raw key \
            that contains it: 96 hexadecimal digits.
            """
        }
    }
}

extension CipherSettingsError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode { ErrorCode("unknownCipherSettings", .usage) }
}
