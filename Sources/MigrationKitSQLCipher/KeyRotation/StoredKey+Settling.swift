import MigrationKitCommon
import Foundation
import MigrationKitKeys

// Finishes or undoes an interrupted rotation, always under the lock for rotations. A key is deleted
// only if it is also in another item, or is known to open no file.
extension StoredKey {
    // MARK: - Before an Opening

    /// Settles the pending keys of the file if no process holds the lock. A failure here doesn't
    /// make the database harder to open.
    ///
    /// - Returns: Whether there was a pending key.
    func settleIfFree() -> Bool {
        let path = file.resolvedPath
        // If the item opens the file, nothing else is needed, so errors are ignored.
        let pending = ((try? pendingKeys()) ?? []).filter { $0.path == path }
        for pending in pending {
            try? waitForReplacement(by: pending)
            if !isReadOnly { try? settleIfFree(pending) }
        }
        return !pending.isEmpty
    }

    /// Waits until a running rotation has replaced the file. The file isn't opened meanwhile, since
    /// the rotation waits until nobody has it open.
    private func waitForReplacement(by pending: PendingKey) throws {
        let lock = Self.lock(file.resolvedPath)
        guard timeout > 0, lock.isHeld, let new = try key(of: pending),
            let old = try FileIdentity.of(file.absolutePath)
        else { return }
        let inspection = try FileInspection(file.look(), cipher: cipher)
        guard try !inspection.opens(with: inspection.derive(new)) else { return }
        _ = try Polling.value(within: timeout) {
            let isGoingOn =
                try lock.isHeld && cancellation?.isCancelled != true
                && FileIdentity.of(file.absolutePath)?.isSameFile(as: old) == true
            return isGoingOn ? nil : ()
        }
    }

    /// Settles a pending key, unless another process holds the lock.
    func settleIfFree(_ pending: PendingKey) throws {
        guard let held = try Self.lock(file.resolvedPath).hold() else { return }
        defer { held.release() }
        try settleMoved(pending)
    }

    /// Settles a pending key under the file's lock. If the key was made for another path, that
    /// path's lock is needed, too.
    func settleMoved(_ pending: PendingKey) throws {
        guard pending.path != file.resolvedPath else { return try settle(pending) }
        if case .absent = Found(pending.path) { return try settle(pending) }
        guard let held = try Self.lock(pending.path).hold() else { return }
        defer { held.release() }
        try settle(pending)
    }

    static func lock(_ path: String) -> FileLock {
        DatabaseFile(path).migrationLock
    }

    // MARK: - Under the Lock

    /// Finishes or undoes the rotation that left a pending key, depending on which key opens the
    /// file.
    ///
    /// - Throws: ``EncryptedStoreError/neitherOpens(path:service:account:)`` if neither does. Nothing
    ///   is changed then.
    func settle(_ pending: PendingKey) throws {
        guard let new = try key(of: pending) else { return }
        if let entry = try item(service: service, account: pending.account) {
            let key = try read(entry)
            if key == new { return try finish(pending, new: new, label: entry.item.label) }
            if try opens(key) { return try undo(pending, new: new, label: entry.item.label) }
        }
        guard try opens(new) else { throw neitherOpens(pending) }
        // The old key may be removed only when the new file's name is on the disk.
        do { try file.newFiles.synchronize() } catch { throw error.explained }
        try promote(pending, new: new)
        file.newFiles.removeLeftovers()
    }

    /// Undoes a rotation that has not replaced the file.
    ///
    /// If its temporary file still exists, no file ever had the new key. Otherwise a file with that
    /// key may have been moved away and replaced by a backup, so the key is kept.
    private func undo(_ pending: PendingKey, new: DatabaseKey, label: String) throws {
        if try file.leftovers().isEmpty { try keep(new, account: pending.account, label: label) }
        file.newFiles.removeLeftovers()
        try delete(pending)
    }

    /// Makes the pending key the item's key. At every instant, each of the two keys is in at least
    /// one item, and no two items have this service and account.
    ///
    /// Another process may do the same with the same keys, under another name of the file.
    ///
    /// - Parameters:
    ///   - old: The key that opened the file before; `nil` if only the item has it. If the item has
    ///     received another key meanwhile, that one is always kept.
    ///   - keepsOld: Whether the old key is kept, even if the item no longer has it.
    /// - Returns: The items that keep the old key and any other key, and the new item.
    @discardableResult
    func promote(
        _ pending: PendingKey,
        new: DatabaseKey,
        old: DatabaseKey? = nil,
        keepsOld: Bool = true
    ) throws -> (kept: KeyItem?, other: KeyItem?, item: KeyItem) {
        let entry = try item(service: service, account: pending.account)
        let label =
            try entry?.item.label
            ?? item(service: PendingKey.service(of: service), account: pending.name)
            .flatMap { PendingKey.labelOfItem(from: $0.item.label) }
        let kept =
            keepsOld ? try old.map { try keep($0, account: pending.account, label: label) } : nil
        var other: KeyItem?
        if let entry, case let found = try read(entry), found != new {
            if found != old {
                do {
                    other = try keep(found, account: pending.account, label: label)
                } catch {
                    // This may be the key that the rotation discards. Then it need not be kept.
                    guard case KeyStoreError.unstorablePassphrase = error, old == nil,
                        try discardsOld(pending)
                    else { throw error }
                }
            }
            try keyStore.delete(service: service, account: pending.account)
        }
        let item = try store(new, service: service, account: pending.account, label: label)
        try finish(pending, new: new, label: label)
        return (kept, other, item)
    }

    private func discardsOld(_ pending: PendingKey) throws -> Bool {
        try item(service: PendingKey.service(of: service), account: pending.name)
            .map { PendingKey.discardsOld($0.item.label) } ?? false
    }

    /// Deletes the pending item once the key's item has its key.
    ///
    /// Another program may delete or replace the key's item between any two calls of the key store.
    /// So it is checked once more, and if its key is gone, the key is stored again.
    private func finish(_ pending: PendingKey, new: DatabaseKey, label: String?) throws {
        try delete(pending)
        guard let found = try item(service: service, account: pending.account) else {
            _ = try store(new, service: service, account: pending.account, label: label)
            return
        }
        guard (try? read(found)) != new else { return }
        _ = try store(
            new,
            service: PendingKey.service(of: service),
            account: pending.name,
            label: label.flatMap { PendingKey.label(for: $0) }
        )
        throw EncryptedStoreError.keyNotKept(
            service: service,
            account: pending.account,
            hasDatabase: true
        )
    }

    /// Makes a key and stores it as a pending one. None exists yet.
    ///
    /// - Parameters:
    ///   - label: The label of the item that will get the key.
    ///   - discardsOld: Whether the rotation discards the old key.
    /// - Returns: The key as read from the item, even if the key store dropped the attribute with
    ///   its form.
    func makeKey(
        _ pending: PendingKey,
        label: String,
        discardsOld: Bool
    ) throws -> DatabaseKey {
        let key = try DatabaseKey.generate()
        let service = PendingKey.service(of: service)
        do {
            try keyStore.store(
                key,
                service: service,
                account: pending.name,
                label: PendingKey.label(for: label, discardsOld: discardsOld),
                replacing: false
            )
            let entry = try item(service: service, account: pending.name)
            guard let entry, entry.text == key.stored() else {
                throw EncryptedStoreError.keyNotKept(
                    service: service,
                    account: pending.name,
                    hasDatabase: true
                )
            }
            return try read(entry)
        } catch {
            // No file has this key, unless another process stored it.
            if case .itemExists = error as? KeyStoreError { throw error }
            try? delete(pending)
            throw error
        }
    }

    /// Stores a key, unless it is there already, and reads it back.
    ///
    /// - Parameter label: Empty and `nil` are the same.
    package func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?
    ) throws -> KeyItem {
        do {
            try keyStore.store(
                key,
                service: service,
                account: account,
                label: label.flatMap { $0.isEmpty ? nil : $0 },
                replacing: false
            )
        } catch KeyStoreError.itemExists {}
        let entry = try item(service: service, account: account)
        guard let entry, entry.text == key.stored() else {
            throw EncryptedStoreError.keyNotKept(
                service: service,
                account: account,
                hasDatabase: true
            )
        }
        return entry.item
    }

    /// Checks that an old key can be kept in an item, before anything depends on it.
    ///
    /// - Throws: ``EncryptedStoreError/oldKeyNotStorable(service:account:flaw:)``.
    func checkKeepable(_ key: DatabaseKey, account: String) throws {
        do {
            try keyStore.checkStorable(key)
        } catch KeyStoreError.unstorablePassphrase(let flaw) {
            throw EncryptedStoreError.oldKeyNotStorable(
                service: service,
                account: account,
                flaw: flaw
            )
        }
    }

    /// Keeps the key of an item that gets another one.
    ///
    /// - Throws: ``EncryptedStoreError/oldKeyNotStorable(service:account:flaw:)``; `KeyStoreError`.
    package func keep(_ replaced: KeyEntry, account: String) throws {
        let key = try read(replaced)
        try checkKeepable(key, account: account)
        try keep(key, account: account, label: replaced.item.label)
    }

    /// Keeps a key that may be needed for a file elsewhere, such as a backup.
    @discardableResult
    package func keep(_ key: DatabaseKey, account: String, label: String?) throws -> KeyItem {
        let keptService = FormerKey.service(of: service)
        let kept = try keyStore.items(service: keptService, account: nil)
        for item in kept {
            // An earlier run that was killed may have stored it already.
            guard let name = item.account, name.hasPrefix(FormerKey.beginning(account)),
                try self.item(service: keptService, account: name)?.text == key.stored()
            else { continue }
            return item
        }
        let former = FormerKey(
            service: service,
            account: account,
            at: .now,
            besides: Set(kept.compactMap(\.account))
        )
        return try store(
            key,
            service: keptService,
            account: former.name,
            label: label.flatMap { $0.isEmpty ? nil : "Previous: \($0)" }
        )
    }

    func delete(_ pending: PendingKey) throws {
        do {
            try keyStore.delete(
                service: PendingKey.service(of: service),
                account: pending.name
            )
        } catch let error as KeyStoreError where error.isNotFound {}
    }

    func neitherOpens(_ pending: PendingKey) -> EncryptedStoreError {
        .neitherOpens(path: file.path, service: service, account: pending.account)
    }
}
