import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

/// Makes a new key for a database, and changes the database and the key's item in a key store.
///
/// ```swift
/// let report = try KeyRotation(
///     "/home/me/notes.db", keyStore: SecretServiceKeyStore(),
///     service: "org.example.Notes", account: "main"
/// ).run()
/// ```
///
/// A ``DatabaseConversion`` rewrites the database: it is copied, compared, verified, and replaced
/// by a rename. No other program may have it open.
///
/// At every instant, one of the items opens the file. If the process is killed, the next opening by
/// ``EncryptedStore`` or by the tool, or the next rotation, finishes the rotation or undoes it. The
/// order of the steps makes this safe:
///
/// 1. a new key is made, stored as a separate item, the pending one, and read back;
/// 2. the database is copied with that key, and the copy takes its place;
/// 3. the old key is stored as a separate item, since earlier backups need it;
/// 4. the old item is deleted, and the new key is stored in its place and read back;
/// 5. the pending item is deleted.
///
/// The item keeps its service, account and label. The pending item has the service
/// `migrationkit-pending: SERVICE`. Its account is that of the item and the file's path. Former
/// keys have the service `migrationkit-previous: SERVICE`. Their account is that of the item and
/// the time.
///
/// Some programs behind a key store answer before they write. Before the database gets a key that
/// they may still lose, the key is sealed under the old one, in the file `NAME-sealed-keys` beside the
/// database. If the program loses the new key, the next opening finds it with the old one. The
/// file is removed by the first opening after the program was started again.
public struct KeyRotation: Sendable {
    /// The path of the database, as it was given.
    public let path: String

    package let stored: StoredKey
    package let keepsOldKey: Bool
    package var options: RewriteOptions

    /// Describes a rotation. Nothing happens until it is run.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed, and stay.
    ///   - keyStore: Where the key is kept, such as `SecretServiceKeyStore`.
    ///   - service: The service of the key's item.
    ///   - account: The account of the key's item; `nil` for the only one that the service has.
    ///   - keepsOldKey: Whether the old key is kept in its own item. Without it, earlier backups
    ///     can't be opened any more. A rotation that was killed and is finished later always keeps
    ///     it.
    ///   - keyForm: The form of a key whose item doesn't record one, because another program stored
    ///     it.
    ///   - cipher: How the file is encrypted, beside the key. With a plaintext header, it names the
    ///     salt, which stays.
    ///   - options: How long to wait, and who observes it.
    public init(
        _ path: String,
        keyStore: any KeyStore,
        service: String,
        account: String?,
        keepsOldKey: Bool = true,
        keyForm: DatabaseKey.Form = .passphrase,
        cipher: CipherSettings = .current,
        options: RewriteOptions = RewriteOptions()
    ) {
        self.init(
            StoredKey(
                path: path,
                keyStore: keyStore,
                service: service,
                account: account,
                cipher: cipher,
                timeout: 0,
                read: { try $0.key(assuming: keyForm) }
            ),
            keepsOldKey: keepsOldKey,
            options: options
        )
    }

    package init(
        _ stored: StoredKey,
        keepsOldKey: Bool,
        options: RewriteOptions
    ) {
        path = stored.path
        self.stored = stored
        self.keepsOldKey = keepsOldKey
        self.options = options
    }

    /// Rotates the key, and returns when the file is on the disk and the key in its item.
    ///
    /// Blocks while the key store waits for a daemon or for a person at a prompt.
    ///
    /// - Parameter keptOriginalPath: Where the original, with the old key, is copied, byte for byte,
    ///   before it is replaced. The path must be free. `nil` to keep no copy.
    /// - Returns: What was done.
    /// - Throws: ``EncryptedStoreError``; `KeyStoreError`; `DatabaseKeyError` if the item's secret
    ///   can't be a key; ``EncryptedDatabaseError``; ``DatabaseConversionError``; a
    ///   `CancellationError`. After an error, database and items are as they were, or the next
    ///   opening makes them so. The exception is
    ///   ``EncryptedStoreError/unfinished(path:service:account:reason:)``. It is also thrown if the
    ///   new file is in place but its folder can't be synchronized; both keys are kept then.
    @discardableResult
    public func run(keptOriginalPath: String? = nil) throws -> KeyRotationReport {
        let rewrite = try DatabaseConversion.replacement(of: path, keptOriginalPath, options)
        return try rewrite.underLocks { try rotate(by: rewrite) }
    }

    private func rotate(by rewrite: Rewrite) throws -> KeyRotationReport {
        let stored = stored.following(rewrite.file)
        let entry = try stored.settledItem()
        guard let account = entry.item.account else {
            throw EncryptedStoreError.noAccount(service: stored.service)
        }
        let old = try stored.read(entry)
        // The new key doesn't contain one.
        if stored.cipher.hasPlaintextHeader, stored.cipher.salt == nil {
            throw CipherSettingsError.noSalt
        }
        if keepsOldKey {
            try stored.checkKeepable(old, account: account)
        } else if let provider = try stored.keyStore.unwrittenProvider() {
            throw EncryptedStoreError.oldKeyStillNeeded(keptBy: provider.name)
        }
        let pending = PendingKey(account: account, path: rewrite.file.path)
        var made: DatabaseKey?
        var unseal = {}
        do {
            // First the file: while it has its hidden name, the pending key is no database's.
            let file = try rewrite.begin()
            defer { file.remove() }
            let new = try stored.makeKey(
                pending,
                label: entry.item.label,
                discardsOld: !keepsOldKey
            )
            made = new
            unseal = try stored.seal(new, under: old)
            let report = try DatabaseConversion.rekey(
                path,
                from: old,
                to: new,
                cipher: stored.cipher,
                options: options
            ).write(file, by: rewrite)
            let (kept, other, item) = try stored.promote(
                pending,
                new: new,
                old: old,
                keepsOld: keepsOldKey
            )
            return KeyRotationReport(
                conversion: report,
                item: item,
                formerItem: entry.item,
                keptItem: kept,
                otherKeptItem: other,
                unwrittenProvider: try? stored.keyStore.unwrittenProvider()
            )
        } catch {
            let error = rewrite.explained(error)
            guard let made else { throw error }
            // If it is unknown, the next opening finds out.
            if (try? stored.opens(old)) == true {
                try? stored.delete(pending)
                unseal()
            } else if (try? stored.opens(made)) == true {
                throw EncryptedStoreError.unfinished(
                    path: rewrite.file.path,
                    service: stored.service,
                    account: account,
                    reason: (error as? any LocalizedError)?.errorDescription ?? "\(error)"
                )
            }
            throw error
        }
    }
}
