import FoundationEssentials
import MigrationKitCommon

/// Why one of many stores has no key.
public enum StoreKeysError: Error, Equatable, Sendable {
    /// No key can belong to a store of this name: it is empty, or leads out of the folder of keys.
    case unusableName(String)
    /// A master key is not 64 hexadecimal digits; it has this many bytes.
    case unusableMasterKey(count: Int)
    /// libcrypto can't derive a key.
    case noDerivation
    /// The helper ended without an answer.
    case helperEnded(program: String)
    /// The helper didn't answer within this many seconds.
    case helperTimedOut(program: String, seconds: Double)
    /// The helper's answer can't be understood.
    case unusableAnswer(program: String, reason: String)
    /// The helper answered that it has no key; the message is its own.
    case refused(program: String, message: String)
}

extension StoreKeysError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .unusableName(let name):
            "no key can be looked up by the store name \"\(name)\""
        case .unusableMasterKey(let count):
            "a master key is 64 hexadecimal digits"
                + (count == 64
                    ? "; this one has other characters" : "; this one has \(count) characters")
        case .noDerivation:
            "libcrypto can't derive a key with HKDF and SHA-256"
        case .helperEnded(let program):
            "the key helper \"\(program)\" ended without an answer"
        case .helperTimedOut(let program, let seconds):
            "the key helper \"\(program)\" did not answer within \(Self.plain(seconds)) seconds"
        case .unusableAnswer(let program, let reason):
            "the answer of the key helper \"\(program)\" can't be used: \(reason)"
        case .refused(let program, let message):
            "the key helper \"\(program)\" has no key: \(message)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .unusableName:
            "Give the store another name, such as with \"account\" in a list of JSON lines."
        case .unusableMasterKey:
            "Make one with: openssl rand -hex 32"
        case .noDerivation:
            "Check whether OpenSSL is restricted, for example to FIPS algorithms, and allow HKDF "
                + "with SHA-256."
        case .helperEnded, .unusableAnswer:
            """
            Its messages are above. It reads a line {"store":"NAME"} and answers with one line: \
            {"key":"...","form":"raw"}, {"key":"...","form":"passphrase"} or {"error":"..."}.
            """
        case .helperTimedOut:
            "It was stopped, and is restarted for the next store. Find out why it hangs, or "
                + "allow more time."
        case .refused:
            nil
        }
    }

    private static func plain(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    }
}

extension StoreKeysError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .unusableName: ErrorCode("unusableStoreName", .dataError)
        case .unusableMasterKey: ErrorCode("unusableKey", .noPermission)
        case .noDerivation: ErrorCode("noDerivation", .unavailable)
        case .helperEnded, .unusableAnswer: ErrorCode("keyHelperFailed", .noPermission)
        case .helperTimedOut: ErrorCode("keyHelperTimedOut", .unavailable)
        case .refused: ErrorCode("keyRefused", .noPermission)
        }
    }
}
