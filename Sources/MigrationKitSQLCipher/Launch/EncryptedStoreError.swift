import Foundation

/// Why an ``EncryptedStore`` can't be opened, if the reason is neither the file alone
/// (``EncryptedDatabaseError``) nor the key store alone (`KeyStoreError`).
public enum EncryptedStoreError: Error, Equatable, Sendable {
    /// The database exists, but the key store, which was unlocked, has no key for it. No new key
    /// was made, since it would not open the database.
    case keyMissing(path: String, service: String, account: String)

    /// The key store accepted a new key and doesn't return it. No database was made with it.
    case keyNotKept(service: String, account: String)

    /// Another process has been at its first launch for longer than the timeout. Its process id is
    /// `nil` if it is unknown.
    case launchInProgress(path: String, processIdentifier: Int32?)
}

extension EncryptedStoreError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .keyMissing(let path, let service, let account):
            "the key of \(path) is missing: the key store has no item with service \"\(service)\" and username \"\(account)\""
        case .keyNotKept(let service, let account):
            "the new key with service \"\(service)\" and username \"\(account)\" could not be read back"
        case .launchInProgress(let path, let processIdentifier):
            "\(path) is being created by "
                + (processIdentifier.map { "process \($0)" } ?? "another process")
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .keyMissing(let path, _, _):
            """
            No new key was made: only the old one opens the database.
            The database may have been moved from another machine or user, or the keyring was \
            reset. Restore the item from there or from a backup of the keyring.
            If the key is lost, so is the content. To start over, move \(path) and the files \
            beside it (-wal, -shm, -journal) away.
            """
        case .keyNotKept:
            "No database was created. Check that the key store can keep items: a full disk, or a collection that only lasts for the session."
        case .launchInProgress(_, let processIdentifier):
            "It may be waiting for the keyring's password. Enter it, or end "
                + (processIdentifier.map { "process \($0)" } ?? "that process")
                + ", and start again."
        }
    }
}
