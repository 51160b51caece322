import Foundation
import MigrationKitKeys

/// Restores a backup from before a rotation, and makes its key the item's key again.
///
/// At every instant, one of the items opens the file, as in a ``KeyRotation``:
///
/// 1. the former key is stored as the pending one, while the copy has its hidden name;
/// 2. the copy takes the database's place;
/// 3. the key that the item has is stored as a former one, since later backups need it;
/// 4. the item is deleted, and the former key is stored in its place;
/// 5. the pending item is deleted.
///
/// If the process is killed, the next opening finishes or undoes it.
package struct KeyReinstatement: Sendable {
    private let stored: StoredKey
    private let former: DatabaseKey
    private var restore: DatabaseRestore

    /// - Parameters:
    ///   - stored: The database, and the item that gets the former key.
    ///   - former: The key that opens the backup. It is in an item of its own.
    ///   - restore: What is restored, with the former key.
    package init(_ stored: StoredKey, former: DatabaseKey, by restore: DatabaseRestore) {
        self.stored = stored
        self.former = former
        self.restore = restore
    }

    /// Restores, and returns when the file is on the disk and the key in its item.
    ///
    /// - Parameter keptOriginalPath: Where the replaced file is copied; `nil` to keep no copy.
    /// - Throws: What a restore and a rotation throw. After an error, file and item are as they
    ///   were, or the next opening makes them so.
    package func run(keptOriginalPath: String?) throws -> RestoreReport {
        let entry = try stored.keyStore.entry(service: stored.service, account: stored.account)
        guard let account = entry.item.account else {
            throw EncryptedStoreError.noAccount(service: stored.service)
        }
        let old = try stored.read(entry)
        try stored.checkKeepable(old, account: account)
        var pending: PendingKey?
        var unseal = {}
        do {
            return try restore.run(
                keptOriginalPath,
                preparing: { place in
                    let new = PendingKey(account: account, path: place.resolvedPath)
                    // Another key that is pending may be this file's only one.
                    let stored = stored.following(place)
                    if let other = try stored.key(of: new), other != former {
                        try stored.settle(new)
                    }
                    try stored.setPending(former, as: new, label: entry.item.label)
                    pending = new
                    unseal = try stored.seal(former, under: old)
                },
                finishing: {
                    guard let pending else { return }
                    try stored.following(DatabaseFile(pending.path))
                        .promote(pending, new: former, old: old)
                }
            )
        } catch {
            guard let pending else { throw error }
            // If it is unknown, the next opening finds out.
            let isPlaced = try? stored.opens(former)
            // The key is in the item of former keys, too.
            if isPlaced == false {
                try? stored.delete(pending)
                unseal()
            }
            guard isPlaced == true else { throw error }
            throw EncryptedStoreError.unfinished(
                path: stored.path,
                service: stored.service,
                account: account,
                reason: (error as? any LocalizedError)?.errorDescription ?? "\(error)"
            )
        }
    }
}

extension StoredKey {
    /// Stores a known key as a pending one.
    func setPending(_ key: DatabaseKey, as pending: PendingKey, label: String) throws {
        _ = try store(
            key,
            service: PendingKey.service(of: service),
            account: pending.name,
            label: PendingKey.label(for: label)
        )
    }
}
