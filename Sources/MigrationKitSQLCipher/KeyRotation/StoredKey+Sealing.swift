import MigrationKitKeys
import MigrationKitCommon

// The way to a new key that the key store may still lose: it acknowledges items before it writes
// them. The new key lies beside the database, sealed under the key that the store has on its disk.
extension StoredKey {
    /// The path of the file with the sealed keys.
    package var sealedKeysPath: String {
        (file.resolvedPath == file.absolutePath ? path : file.resolvedPath) + SealedKeys.suffix
    }

    /// Seals a key beside the database before the file gets it, unless the key store has it on its
    /// disk.
    ///
    /// - Returns: What takes it back, if the file doesn't get the key.
    /// - Throws: `KeyStoreError`; an error of the file that can't be written.
    func seal(_ new: DatabaseKey, under old: DatabaseKey) throws -> () -> Void {
        guard let provider = try keyStore.unwrittenProvider() else { return {} }
        var sealed = try SealedKeys(beside: file) ?? SealedKeys(beside: file, run: provider.run)
        sealed.run = provider.run
        try sealed.add(new, under: old)
        do {
            try sealed.write()
        } catch let error as NewFileError {
            throw error.explained
        }
        return { [sealed] in
            var sealed = sealed
            sealed.removeLast()
            try? sealed.write()
        }
    }

    /// The sealed key that opens the file. It becomes the item's key, unless another process holds
    /// the lock.
    ///
    /// - Parameter entry: The key's item; `nil` if there is none.
    func sealedKey(_ entry: KeyEntry?) throws -> DatabaseKey? {
        guard let key = try findSealedKey(entry) else { return nil }
        if !isReadOnly, let held = try? Self.lock(file.resolvedPath).hold() {
            defer { held.release() }
            try? settleSealedKey(key, entry)
        }
        return key
    }

    /// Makes the sealed key that opens the file the item's key. The caller holds the lock.
    ///
    /// - Returns: Whether there is one.
    func settleSealedKey(_ entry: KeyEntry?) throws -> Bool {
        guard let key = try findSealedKey(entry) else { return false }
        try settleSealedKey(key, entry)
        return true
    }

    private func findSealedKey(_ entry: KeyEntry?) throws -> DatabaseKey? {
        guard let sealed = try? SealedKeys(beside: file) else { return nil }
        let former = try formerKeys().compactMap { try? key(of: $0) }
        let known = (entry.flatMap { try? read($0) }.map { [$0] } ?? []) + former
        // Nothing is derived from a raw key. Of a passphrase, that takes a second for each line.
        let passphrases = known.filter { $0.form == .passphrase }.prefix(2)
        let keys = sealed.keys(from: known.filter { $0.form == .rawKey } + passphrases)
        return try keys.last { try opens($0) }
    }

    private func settleSealedKey(_ key: DatabaseKey, _ entry: KeyEntry?) throws {
        guard let account = entry?.item.account ?? account else { return }
        let pending = PendingKey(account: account, path: file.resolvedPath)
        _ = try store(
            key,
            service: PendingKey.service(of: service),
            account: pending.name,
            label: PendingKey.label(for: entry?.item.label ?? "")
        )
        // This run of the program may lose the key as well.
        if var sealed = try SealedKeys(beside: file),
            let provider = try keyStore.unwrittenProvider()
        {
            sealed.run = provider.run
            try sealed.write()
        }
        try promote(pending, new: key)
        removeSealedKeys()
    }

    /// Removes the sealed keys if they aren't needed any more and no process holds the lock.
    func removeSealedKeysIfFree() {
        guard !isReadOnly, SealedKeys.exist(beside: file),
            let held = try? Self.lock(file.resolvedPath).hold()
        else {
            return
        }
        defer { held.release() }
        removeSealedKeys()
    }

    /// Removes the sealed keys once the item's key opens the file and was read from the key store's
    /// disk: because the program writes at once, or because another run of it has stored the key.
    private func removeSealedKeys() {
        guard let sealed = try? SealedKeys(beside: file), let entry = try? item(),
            (try? opens(read(entry))) == true
        else { return }
        guard let provider = try? keyStore.provider(),
            provider.hasWritten || provider.run != sealed.run
        else { return }
        sealed.remove()
    }
}
