import MigrationKitCommon
import Foundation
import KeyStore

/// Why a key can't be rotated or a rotation can't be finished. Problems of the file are
/// ``EncryptedDatabaseError`` or ``DatabaseConversionError``, and those of the key store are
/// `KeyStoreError`. None of these errors loses a key.
public enum KeyRotationError: Error, Equatable, Sendable {
    /// The key's item names no account, and items can't be stored without one. Nothing was changed.
    case noAccount(service: String)

    /// The old key should be kept, but the key store can't keep its passphrase permanently. Nothing
    /// was changed.
    case oldKeyNotStorable(service: String, account: String, flaw: PassphraseFlaw)

    /// The key store accepted a key and doesn't return it.
    case keyNotKept(service: String, account: String)

    /// The database has its new key, which is in the pending item, but could not be stored in the
    /// key's item. The next opening continues from there.
    case unfinished(path: String, service: String, account: String, reason: String)

    /// A rotation was interrupted, and neither of the two keys opens the file.
    case neitherOpens(path: String, service: String, account: String)
}

extension KeyRotationError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noAccount(let service):
            "the item with service \"\(service)\" has no account"
        case .oldKeyNotStorable(let service, let account, let flaw):
            "the old key of service \"\(service)\" and username \"\(account)\" can't be kept: its passphrase has \(flaw.name)"
        case .keyNotKept(let service, let account):
            "the key with service \"\(service)\" and username \"\(account)\" could not be read back"
        case .unfinished(let path, _, _, let reason):
            "\(path) has its new key, but the key's item could not be changed: \(reason)"
        case .neitherOpens(let path, let service, let account):
            "neither the key of service \"\(service)\" and username \"\(account)\" nor the pending key opens \(path)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noAccount:
            "Store the key again with an account, delete the item without one, then rotate."
        case .oldKeyNotStorable(_, _, let flaw):
            """
            \(flaw.consequence)
            Nothing was changed. Write the passphrase down elsewhere if a backup needs it, and discard the old key in the rotation.
            """
        case .keyNotKept:
            "The database still opens. Check that the key store can keep items: a full disk, or a collection that only lasts for the session."
        case .unfinished(_, let service, let account, _):
            """
            Nothing is lost. The new key is in the item with service \
            \"\(PendingKey.service(of: service))\". Unlock or start the key store, then open the \
            database: this makes it the key of username \"\(account)\".
            """
        case .neitherOpens(_, let service, _):
            """
            Nothing was deleted. An older file or another database may be at this path, or its \
            first page may be damaged.
            Look for keys in the items with the services \"\(service)\" and \
            \"\(PendingKey.service(of: service))\", and for former keys in \
            \"\(FormerKey.service(of: service))\".
            """
        }
    }
}

extension KeyRotationError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noAccount: ErrorCode("itemWithoutAccount", .unavailable)
        case .oldKeyNotStorable: ErrorCode("unstorablePassphrase", .noPermission)
        case .keyNotKept: ErrorCode("notStored", .unavailable)
        case .unfinished: ErrorCode("rotationUnfinished", .unavailable)
        case .neitherOpens: ErrorCode("neitherKeyOpens", .noPermission)
        }
    }
}
