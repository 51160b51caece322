import Common
import Foundation
import KeyStore

/// A reason for which a key can't be rotated, or a rotation not be finished, that lies neither in
/// the file (``EncryptedDatabaseError``, ``DatabaseConversionError``) nor in the key store
/// (`KeyStoreError`). No key is lost by any of them.
public enum KeyRotationError: Error, Equatable, Sendable {
    /// The key's item names no account, and items can't be stored without one. Nothing was changed.
    case noAccount(service: String)

    /// The old key is to be kept, and the key store can't keep its passphrase for good. Nothing was
    /// changed.
    case oldKeyNotStorable(service: String, account: String, flaw: PassphraseFlaw)

    /// The key store took a key and doesn't give it back.
    case keyNotKept(service: String, account: String)

    /// The database has its new key, which is in the pending item; it could not be made the key of
    /// its item. The next opening goes on from there.
    case unfinished(path: String, service: String, account: String, reason: String)

    /// A rotation was not finished, and the file opens with neither of the two keys.
    case neitherOpens(path: String, service: String, account: String)
}

extension KeyRotationError: LocalizedError {
    /// What went wrong, in one line that stands alone.
    public var errorDescription: String? {
        switch self {
        case .noAccount(let service):
            "the item with service \"\(service)\" names no account"
        case .oldKeyNotStorable(let service, let account, let flaw):
            "the old key of service \"\(service)\" and username \"\(account)\" can't be kept: its passphrase has \(flaw.name)"
        case .keyNotKept(let service, let account):
            "the key with service \"\(service)\" and username \"\(account)\" was not kept"
        case .unfinished(let path, _, _, let reason):
            "\(path) has its new key, and the key's item has not: \(reason)"
        case .neitherOpens(let path, let service, let account):
            "\(path) opens neither with the key of service \"\(service)\" and username \"\(account)\" nor with the one that was to take its place"
        }
    }

    /// What can be done about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noAccount:
            "Store the key once more under an account, delete the item that has none, and rotate then."
        case .oldKeyNotStorable(_, _, let flaw):
            """
            \(flaw.consequence)
            Nothing was changed. Write the passphrase down elsewhere if a backup needs it, and discard the old key in the rotation.
            """
        case .keyNotKept:
            "The database still opens. Check that the key store can keep items: a full disk, or a collection that only lasts for the session."
        case .unfinished(_, let service, let account, _):
            """
            Nothing is lost: until then the new key is in the item with service \"\(PendingKey.service(of: service))\". \
            Unlock or start the key store, and open the database: that makes it the key of username \"\(account)\".
            """
        case .neitherOpens(_, let service, _):
            """
            Nothing was deleted. A file of another time or another database may be at this path, or its first page may be damaged.
            The keys are in the items with the services \"\(service)\", \"\(PendingKey.service(of: service))\", and former ones in \"\(FormerKey.service(of: service))\".
            """
        }
    }
}

extension KeyRotationError: CodedError {
    /// What programs are given of the error.
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
