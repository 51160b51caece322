import Foundation

/// A reason for which an ``EncryptedStore`` can't be opened that lies neither in the file alone
/// (``EncryptedDatabaseError``) nor in the key store alone (`KeyStoreError`).
public enum EncryptedStoreError: Error, Equatable, Sendable {
    /// There is a database, and the key store was open and holds no key for it. No new key was
    /// made, since it would not open the database.
    case keyMissing(path: String, service: String, account: String)

    /// The key store took a new key and doesn't give it back. No database was made with it.
    case keyNotKept(service: String, account: String)

    /// Another process, if it is known which, has been at its first launch for longer than the
    /// timeout.
    case launchInProgress(path: String, processIdentifier: Int32?)
}

extension EncryptedStoreError: LocalizedError {
    /// What went wrong, in one line that stands alone.
    public var errorDescription: String? {
        switch self {
        case .keyMissing(let path, let service, let account):
            "the key of \(path) is gone: there is no item with service \"\(service)\" and username \"\(account)\""
        case .keyNotKept(let service, let account):
            "the new key with service \"\(service)\" and username \"\(account)\" was not kept"
        case .launchInProgress(let path, let processIdentifier):
            "\(path) is just being created by "
                + (processIdentifier.map { "process \($0)" } ?? "another process")
        }
    }

    /// What can be done about it.
    public var recoverySuggestion: String? {
        switch self {
        case .keyMissing(let path, _, _):
            """
            No new key was made, since only the old one opens the database.
            Was the database moved here from another machine or user, or the keyring reset? Bring the item back from there or from a backup of the keyring.
            If the key is lost for good, so is the content. To begin anew, move \(path) and the files beside it (-wal, -shm, -journal) away.
            """
        case .keyNotKept:
            "No database was made. Check that the key store can keep items: a full disk, or a collection that only lasts for the session."
        case .launchInProgress(_, let processIdentifier):
            "It may be waiting for an answer to the question for the keyring's password. Answer it, or end "
                + (processIdentifier.map { "process \($0)" } ?? "that process")
                + ", and start again."
        }
    }
}
