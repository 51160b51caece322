import Foundation
import MigrationKitKeys
import MigrationKitPages

/// The key of a database in a key store: in its item or, during a rotation, in the pending one.
///
/// Every opening with a stored key goes through this type. If nothing is pending, it costs only one
/// search of the key store.
package struct StoredKey: Sendable {
    /// The path of the database, as it was given.
    package var path: String { file.path }

    package private(set) var file: DatabaseFile
    package let keyStore: any KeyStore
    package let service: String
    package let account: String?
    package let cipher: CipherSettings
    package let isReadOnly: Bool
    package let timeout: TimeInterval
    package let read: @Sendable (KeyEntry) throws -> DatabaseKey
    /// Ends the first search, which may ask the user, and the wait for a rotation.
    package var cancellation: Cancellation?

    /// - Parameters:
    ///   - path: The database.
    ///   - keyStore: The key store that has its key.
    ///   - service: The service of the key's item.
    ///   - account: The item's account; `nil` if the service has only one item.
    ///   - cipher: How the file is encrypted, beside the key.
    ///   - isReadOnly: Whether an interrupted rotation is left as it is.
    ///   - timeout: How long to wait, in seconds, for a running rotation.
    ///   - read: Reads the key from an item.
    package init(
        path: String,
        keyStore: any KeyStore,
        service: String,
        account: String?,
        cipher: CipherSettings,
        isReadOnly: Bool = false,
        timeout: TimeInterval,
        read: @escaping @Sendable (KeyEntry) throws -> DatabaseKey
    ) {
        file = DatabaseFile(path)
        self.keyStore = keyStore
        self.service = service
        self.account = account
        self.cipher = cipher
        self.isReadOnly = isReadOnly
        self.timeout = timeout
        self.read = read
    }

    /// Opens the database with the key that opens it. An interrupted rotation is first finished or
    /// undone. For a running one, this waits until the file is replaced: opening it earlier would
    /// make both processes wait for each other.
    ///
    /// Another process may rotate the key meanwhile. Then the item that was read may hold the old
    /// key, or the item may be missing for an instant. So if the key is wrong or missing, the
    /// pending key is tried. If the item has changed by then, it is read once more.
    ///
    /// - Parameter attempt: Opens with a key; throws ``EncryptedDatabaseError/wrongKey(path:)`` if
    ///   the key is wrong. It may be called several times.
    /// - Throws: What the attempt throws; `KeyStoreError`;
    ///   ``EncryptedStoreError/neitherOpens(path:service:account:)``.
    package func open<Value>(_ attempt: (DatabaseKey) throws -> Value) throws -> Value {
        try open { key, _, entry in
            let value = try attempt(key)
            if !isReadOnly, let entry { KeyRecord.keep(entry.item, in: keyStore, beside: file) }
            return value
        }
    }

    /// The key that opens the database, for callers that open it themselves. It is tested only if a
    /// rotation is running or was interrupted.
    package func key() throws -> DatabaseKey {
        try open { key, isPending, _ in
            if isPending { try proveForOthers(key) }
            return key
        }
    }

    /// The key that opens the database, for callers that open it themselves. It is always tested.
    package func provenKey() throws -> DatabaseKey {
        try open { key, _, _ in
            try proveForOthers(key)
            return key
        }
    }

    /// - Parameter attempt: Receives the item, too, if its key is the one to open with.
    private func open<Value>(
        _ attempt: (_ key: DatabaseKey, _ isPending: Bool, _ entry: KeyEntry?) throws -> Value
    ) throws -> Value {
        var entry = try item(in: keyStore.endingLookUps(by: cancellation))
        guard try isThere else { return try attempt(key(of: entry), false, entry) }
        var isPending = settleIfFree()
        if isPending { entry = try item() }
        removeSealedKeysIfFree()
        var waitsAgain = true
        while true {
            let failure: any Error
            do {
                return try attempt(key(of: entry), isPending, entry)
            } catch let error as EncryptedDatabaseError where error.isWrongKey {
                failure = error
            } catch let error as EncryptedDatabaseError where error.isLocked && waitsAgain {
                // A rotation has begun since the search, and each process waited for the other.
                waitsAgain = false
                isPending = settleIfFree()
                guard isPending else { throw error }
                entry = try item()
                continue
            } catch let error as KeyStoreError where error.isNotFound && entry == nil {
                failure = error
            }
            if let key = try pendingKey() ?? sealedKey(entry) {
                do {
                    return try attempt(key, true, nil)
                } catch let error as EncryptedDatabaseError where error.isWrongKey {}
            }
            let now = try item()
            guard now?.secret != entry?.secret else {
                throw try pendingKeys().first { $0.path == file.resolvedPath }.map(neitherOpens)
                    ?? failure
            }
            entry = now
        }
    }

    /// Ignores other problems of the file: they are reported when the key is used.
    private func proveForOthers(_ key: DatabaseKey) throws {
        guard try isThere else { return }
        do {
            try prove(key)
        } catch let error as EncryptedDatabaseError where !error.isWrongKey {}
    }

    /// The same for the file with its links resolved.
    func following(_ file: DatabaseFile) -> StoredKey {
        var followed = self
        followed.file = file
        return followed
    }

    // MARK: - Keys

    /// Whether there is a file that can be opened.
    private var isThere: Bool {
        get throws { try file.size() ?? 0 > 0 }
    }

    /// The key's item; `nil` only if the key store was open and holds none.
    package func item() throws -> KeyEntry? {
        try item(in: keyStore)
    }

    private func item(in keyStore: any KeyStore) throws -> KeyEntry? {
        try keyStore.entryIfPresent(service: service, account: account)
    }

    package func item(service: String, account: String?) throws -> KeyEntry? {
        try keyStore.entryIfPresent(service: service, account: account)
    }

    private func key(of entry: KeyEntry?) throws -> DatabaseKey {
        guard let entry else {
            throw KeyStoreError.itemNotFound(service: service, account: account)
        }
        return try read(entry)
    }

    /// The item's pending keys, for any file.
    func pendingKeys() throws -> [PendingKey] {
        try keyStore.items(service: PendingKey.service(of: service), account: nil)
            .compactMap(PendingKey.init)
            .filter { account == nil || $0.account == account }
    }

    func key(of pending: PendingKey) throws -> DatabaseKey? {
        try item(service: PendingKey.service(of: service), account: pending.name).map(read)
    }

    /// The item whose key opens the file, after pending keys are settled. The caller holds the
    /// lock.
    ///
    /// - Throws: As ``open(_:)``; another ``EncryptedDatabaseError`` if the file can't be opened
    ///   for another reason.
    func settledItem() throws -> KeyEntry {
        for pending in try pendingKeys() where pending.path == file.resolvedPath {
            try settle(pending)
        }
        let failure: any Error
        let present = try item()
        do {
            guard let present else {
                throw KeyStoreError.itemNotFound(service: service, account: account)
            }
            try prove(read(present))
            return present
        } catch let error as EncryptedDatabaseError where error.isWrongKey {
            failure = error
        } catch let error as KeyStoreError where error.isNotFound {
            failure = error
        }
        for pending in try pendingKeys() {
            guard let key = try key(of: pending), try opens(key) else { continue }
            try settleMoved(pending)
            return try keyStore.entry(service: service, account: account)
        }
        guard try settleSealedKey(present) else { throw failure }
        return try keyStore.entry(service: service, account: account)
    }

    /// The pending key that opens the file if the item's key doesn't. It becomes the item's key,
    /// unless another process holds the lock.
    ///
    /// A key that was made for another path counts, too: the file may have been moved since.
    private func pendingKey() throws -> DatabaseKey? {
        for pending in try pendingKeys() {
            guard let key = try key(of: pending), try opens(key) else { continue }
            if !isReadOnly {
                try? settleIfFree(pending)
                try synchronizeName()
            }
            return key
        }
        return nil
    }

    /// Has the file's name reach the disk, which a rotation that was killed has given it. What is written
    /// to the file would be lost with the name.
    ///
    /// - Throws: ``DatabaseConversionError/notSynced(path:code:)``.
    private func synchronizeName() throws {
        do {
            try file.newFiles.synchronize()
        } catch {
            throw DatabaseConversionError.notSynced(path: file.path, code: error.code)
        }
    }

    // MARK: - Proofs

    /// Throws unless the key opens the file. Takes no lock, and changes nothing.
    func prove(_ key: DatabaseKey) throws {
        try file.prove(key, cipher: cipher)
    }

    /// Whether this is the file's key, even if the file can't be opened for another reason.
    package func opens(_ key: DatabaseKey) throws -> Bool {
        do {
            try prove(key)
            return true
        } catch let error as EncryptedDatabaseError {
            switch error {
            case .olderFormat, .otherSettings, .damaged, .newerFormat: return true
            case .multipleCiphers(_, _, let isKeyRight): return isKeyRight
            case _ where error.isWrongKey: return false
            case .notADatabase: return false
            default: throw error
            }
        }
    }
}

extension DatabaseFile {
    /// Throws unless the key opens the file. Takes no lock, and changes nothing.
    package func prove(_ key: DatabaseKey, cipher: CipherSettings = .current) throws {
        let inspection = try FileInspection(look(), cipher: cipher)
        let derivedKey = try inspection.derive(key)
        guard try inspection.opens(with: derivedKey) else {
            throw try inspection.explain(nil, key: key, derivedKey: derivedKey)
        }
    }
}

extension EncryptedDatabaseError {
    fileprivate var isLocked: Bool {
        if case .locked = self { true } else { false }
    }
}

extension KeyStoreError {
    package var isNotFound: Bool {
        if case .itemNotFound = self { true } else { false }
    }
}

extension KeyStore {
    /// The same key store. If it can, it ends its searches when `cancellation` asks for it.
    func endingLookUps(by cancellation: Cancellation?) -> any KeyStore {
        guard let cancellation, let interruptible = self as? any InterruptibleKeyStore else {
            return self
        }
        return interruptible.endingLookUps { cancellation.isCancelled }
    }
}
