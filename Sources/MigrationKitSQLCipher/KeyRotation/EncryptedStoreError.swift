import Foundation
import MigrationKitCommon
import MigrationKitKeys

/// Why a database whose key is in a key store can't be opened, or its key can't be rotated, if the
/// reason is neither the file alone (``EncryptedDatabaseError``, ``DatabaseConversionError``) nor the
/// key store alone (`KeyStoreError`). None of these errors loses a key.
public enum EncryptedStoreError: Error, Equatable, Sendable {
    /// The database exists, but the key store, which was unlocked, has no key for it. No new key
    /// was made, since it would not open the database. The record says who kept the key; `nil` if that
    /// isn't known.
    case keyMissing(path: String, service: String, account: String, record: KeyRecord? = nil)

    /// The key store accepted a key and doesn't return it. Either the database has another key, which
    /// opens it, or none was made.
    case keyNotKept(service: String, account: String, hasDatabase: Bool)

    /// Another process has been at its first launch for longer than the timeout. Its process id is
    /// `nil` if it is unknown.
    case launchInProgress(path: String, processIdentifier: Int32?)

    // MARK: Rotations

    /// The key's item names no account, and items can't be stored without one. Nothing was changed.
    case noAccount(service: String)

    /// The old key should be kept, but the key store can't keep its passphrase permanently. Nothing
    /// was changed.
    case oldKeyNotStorable(service: String, account: String, flaw: PassphraseFlaw)

    /// The old key should be discarded, but the program that keeps the keys acknowledges them before it
    /// writes them. Until then, the old key may be the only way to the new one. Nothing was changed.
    case oldKeyStillNeeded(keptBy: String?)

    /// The database has its new key, which is in the pending item, but could not be stored in the
    /// key's item. The next opening continues from there.
    case unfinished(path: String, service: String, account: String, reason: String)

    /// A rotation was interrupted, and neither of the two keys opens the file.
    case neitherOpens(path: String, service: String, account: String)
}

extension EncryptedStoreError: CodedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .keyMissing(let path, let service, let account, _):
            "the key of \(path) is missing: the key store has no item with \(Self.names(service, account))"
        case .keyNotKept(let service, let account, let hasDatabase):
            "the \(hasDatabase ? "" : "new ")key with \(Self.names(service, account)) could not be read back"
        case .launchInProgress(let path, let processIdentifier):
            "\(path) is being created or encrypted by "
                + (processIdentifier.map { "process \($0)" } ?? "another process")
        case .noAccount(let service):
            "the item with service \"\(service)\" has no account"
        case .oldKeyNotStorable(let service, let account, let flaw):
            "the old key of \(Self.names(service, account)) can't be kept: its passphrase has \(flaw.name)"
        case .oldKeyStillNeeded(let provider):
            "the old key can't be discarded yet: \(provider ?? "the Secret Service") may still lose the new one"
        case .unfinished(let path, _, _, let reason):
            "\(path) has its new key, but the key's item could not be changed: \(reason)"
        case .neitherOpens(let path, let service, let account):
            "neither the key of \(Self.names(service, account)) nor the pending key opens \(path)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .keyMissing(let path, _, _, let record):
            """
            No new key was made: only the old one opens the database.
            \(record.map { $0.sentence(now: nil) + ".\n" } ?? "")\
            The database may have been moved from another machine or user, or the keyring was \
            reset. Restore the item from there or from a backup of the keyring.
            If the key is lost, so is the content. To start over, move \(path) and the files \
            beside it (-wal, -shm, -journal) away.
            """
        case .keyNotKept(_, _, let hasDatabase):
            """
            \(hasDatabase ? "The database still opens." : "No database was created.") \
            Check that the key store can keep items: the disk may be full, or the collection may \
            last only for this session.
            """
        case .launchInProgress(_, let processIdentifier):
            "It may have gigabytes to encrypt, or wait for the keyring's password. Enter that, or end "
                + (processIdentifier.map { "process \($0)" } ?? "that process")
                + ", and start again."
        case .noAccount:
            "Store the key again with an account, delete the item without one, then rotate."
        case .oldKeyNotStorable(_, _, let flaw):
            """
            \(flaw.consequence)
            Nothing was changed. Write the passphrase down elsewhere if a backup needs it, and discard the old key in the rotation, or delete its item.
            """
        case .oldKeyStillNeeded:
            """
            It answers before it writes. Nothing was changed. Rotate the key and keep the old one. After \
            the program was started again and the database opened, delete the item of the old key.
            """
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

    private static func names(_ service: String, _ account: String) -> String {
        "service \"\(service)\" and username \"\(account)\""
    }

    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .keyMissing: ErrorCode("keyNotFound", .unavailable)
        case .keyNotKept: ErrorCode("notStored", .unavailable)
        case .launchInProgress: ErrorCode("locked", .busy)
        case .noAccount: ErrorCode("itemWithoutAccount", .unavailable)
        case .oldKeyNotStorable: ErrorCode("unstorablePassphrase", .noPermission)
        case .oldKeyStillNeeded: ErrorCode("oldKeyStillNeeded", .unavailable)
        case .unfinished: ErrorCode("rotationUnfinished", .unavailable)
        case .neitherOpens: ErrorCode("neitherKeyOpens", .noPermission)
        }
    }
}
