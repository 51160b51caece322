import FoundationEssentials
import MigrationKitCommon

/// Why bytes can't be the key of a database.
public enum DatabaseKeyError: Error, Equatable, Sendable {
    /// There are no bytes.
    case empty
    /// A passphrase of the form `x'64 or 96 hexadecimal digits'`.
    case passphraseLooksLikeRawKey
    /// A raw key's text is not 64 or 96 hexadecimal digits; it has this many bytes.
    case notHexadecimal(count: Int)
    /// A raw key has neither 32 nor 48 bytes, but this many.
    case wrongByteCount(Int)
    /// The item records a form of its secret that this version doesn't know.
    case unknownForm(String)
    /// The kernel returned no random bytes, with this errno.
    case noRandomBytes(code: Int32)
}

extension DatabaseKeyError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .empty:
            "the key is empty"
        case .passphraseLooksLikeRawKey:
            "the passphrase has the form x'...', which SQLCipher would take for a raw key"
        case .notHexadecimal(let count):
            "a raw key is 64 or 96 hexadecimal digits"
                + (count == 64 || count == 96
                    ? "; this one has other characters" : "; this one has \(count) characters")
        case .wrongByteCount(let count):
            "a raw key has 32 or 48 bytes; this one has \(count)"
        case .unknownForm(let name):
            "the item's secret has the form \"\(name.prefix(32))\", which isn't known here"
        case .noRandomBytes(let code):
            "the kernel gave no random bytes: \(systemMessage(code))"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .empty:
            "An empty key would leave the database unencrypted. Check where the key comes from."
        case .passphraseLooksLikeRawKey:
            "If it is a raw key, give the digits alone as a raw key. If it is a passphrase, choose another."
        case .notHexadecimal:
            "Give the digits alone: 64 for the key, or 96 for the key followed by the salt."
        case .wrongByteCount:
            "Give 32 bytes of key, or 48: the key followed by the 16 bytes of salt."
        case .unknownForm:
            """
            A newer version stored it, or another program has changed its attribute migrationkit:form. Use \
            that version. If you know what the secret is, give it from a file.
            """
        case .noRandomBytes:
            nil
        }
    }
}

extension DatabaseKeyError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .empty: ErrorCode("emptyKey", .noPermission)
        case .passphraseLooksLikeRawKey, .notHexadecimal, .wrongByteCount, .unknownForm:
            ErrorCode("unusableKey", .noPermission)
        case .noRandomBytes: ErrorCode("noRandomBytes", .inputOutput)
        }
    }
}
