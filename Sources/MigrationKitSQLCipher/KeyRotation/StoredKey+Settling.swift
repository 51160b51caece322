import MigrationKitCommon
import Foundation
import KeyStore

// What a rotation that was not finished has left is finished or undone here, always under the lock
// under which keys are rotated. Nothing is deleted but what is known to be in another item, or to
// open no file.
extension StoredKey {
    // MARK: - Before an Opening

    /// Settles what is pending for the file, once it is nobody's. What fails in that leaves the
    /// database as easy to open as it was.
    ///
    /// - Returns: Whether there was anything.
    func settleIfFree() -> Bool {
        let path = file.resolvedPath
        // Where the item opens the file, nothing else is needed.
        let pending = ((try? pendingKeys()) ?? []).filter { $0.path == path }
        for pending in pending {
            try? waitForReplacement(by: pending)
            if !isReadOnly { try? settleIfFree(pending) }
        }
        return !pending.isEmpty
    }

    /// Waits until a rotation that is going on has replaced the file, which isn't opened for it: the
    /// other waits until nobody has it open.
    private func waitForReplacement(by pending: PendingKey) throws {
        let lock = Self.lock(file.resolvedPath)
        guard timeout > 0, lock.isHeld, let new = try key(of: pending),
            let old = try FileIdentity.of(file.absolutePath)
        else { return }
        let inspection = try FileInspection(file, cipher: cipher)
        guard try !inspection.opens(with: inspection.derive(new)) else { return }
        _ = try Polling.value(within: timeout) {
            let isGoingOn =
                try lock.isHeld && cancellation?.isCancelled != true
                && FileIdentity.of(file.absolutePath)?.isSameFile(as: old) == true
            return isGoingOn ? nil : ()
        }
    }

    /// Settles one, unless it is somebody's at the moment.
    func settleIfFree(_ pending: PendingKey) throws {
        guard let held = try Self.lock(file.resolvedPath).hold() else { return }
        defer { held.release() }
        try settleMoved(pending)
    }

    /// Settles one under the lock of the file. If it was made for another path, the lock of that is
    /// needed as well.
    func settleMoved(_ pending: PendingKey) throws {
        guard pending.path != file.resolvedPath else { return try settle(pending) }
        if case .absent = Found(pending.path) { return try settle(pending) }
        guard let held = try Self.lock(pending.path).hold() else { return }
        defer { held.release() }
        try settle(pending)
    }

    private static func lock(_ path: String) -> FileLock {
        FileLock(beside: path, suffix: FileLock.migrationSuffix)
    }

    // MARK: - Under the Lock

    /// Finishes or undoes the rotation that has left a pending key: whichever key opens the file
    /// says which.
    ///
    /// - Throws: ``KeyRotationError/neitherOpens(path:service:account:)``, if neither does;
    ///   everything is left alone then.
    func settle(_ pending: PendingKey) throws {
        guard let new = try key(of: pending) else { return }
        if let entry = try item(service: service, account: pending.account) {
            let key = try read(entry)
            if key == new { return try finish(pending, new: new, label: entry.item.label) }
            if try opens(key) { return try undo(pending, new: new, label: entry.item.label) }
        }
        guard try opens(new) else { throw neitherOpens(pending) }
        // The old key is let go of only when the new file's name has reached the disk.
        do { try file.newFiles.synchronize() } catch { throw error.explained }
        try promote(pending, new: new)
        file.newFiles.removeLeftovers()
    }

    /// Takes back a rotation that has not replaced the file.
    ///
    /// As long as its temporary file is there, the new key is no file's. Otherwise it may be that
    /// of a file that was moved away, with a backup in its place: then the key is kept.
    private func undo(_ pending: PendingKey, new: DatabaseKey, label: String) throws {
        if try file.leftovers().isEmpty { try keep(new, account: pending.account, label: label) }
        file.newFiles.removeLeftovers()
        try delete(pending)
    }

    /// Makes the pending key that of the item. Each of the two keys is in one item at least, at any
    /// time; and an item of the service and account is never beside another.
    ///
    /// Somebody else may be doing the same with the same keys, under another name of the file.
    ///
    /// - Parameters:
    ///   - old: The key that opened the file before; `nil` if only the item has it. Another key
    ///     that the item has by now is always kept.
    ///   - keepsOld: Whether the old key is kept, even if the item doesn't have it any more.
    /// - Returns: The items that the old key and any other are kept in, and the new one.
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
                    // It may be the key that the rotation discards: then it need not be kept.
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

    /// Deletes the pending item, once its key is in the key's item.
    ///
    /// Another program may delete or replace that one between any two calls of the key store. So it
    /// is looked at once more, and the key, which nothing else has then, is stored again.
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
        throw KeyRotationError.keyNotKept(service: service, account: pending.account)
    }

    /// Makes a key and stores it as the pending one, which isn't there yet.
    ///
    /// - Parameters:
    ///   - label: That of the item which the key is for.
    ///   - discardsOld: Whether the rotation discards the old key.
    /// - Returns: The key as it is read from the item, even if the key store dropped the mark of its
    ///   form.
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
                throw KeyRotationError.keyNotKept(service: service, account: pending.name)
            }
            return try read(entry)
        } catch {
            // No file has it, unless it is somebody else's.
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
            throw KeyRotationError.keyNotKept(service: service, account: account)
        }
        return entry.item
    }

    /// Throws if an old key can't be kept in an item, before anything depends on that.
    ///
    /// - Throws: ``KeyRotationError/oldKeyNotStorable(service:account:flaw:)``.
    func checkKeepable(_ key: DatabaseKey, account: String) throws {
        do {
            try keyStore.checkStorable(key)
        } catch KeyStoreError.unstorablePassphrase(let flaw) {
            throw KeyRotationError.oldKeyNotStorable(service: service, account: account, flaw: flaw)
        }
    }

    /// Keeps a key that may be needed for a file that isn't at hand, such as a backup.
    @discardableResult
    package func keep(_ key: DatabaseKey, account: String, label: String?) throws -> KeyItem {
        let keptService = FormerKey.service(of: service)
        let kept = try keyStore.items(service: keptService, account: nil)
        for item in kept {
            // A run that was killed may have been here.
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

    func neitherOpens(_ pending: PendingKey) -> KeyRotationError {
        .neitherOpens(path: file.path, service: service, account: pending.account)
    }
}
