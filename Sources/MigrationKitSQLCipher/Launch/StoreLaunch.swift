import Foundation
import MigrationKitPages
import MigrationKitCommon
import GRDB
import MigrationKitKeys

/// One launch of a store: gets the key, or makes one if no data can be lost by that, and opens.
///
/// The order makes it safe to be killed at any point. A key is stored and read back before the file
/// is created, so no file exists without its key. If there is a key but no file, or an empty one,
/// the next launch continues from there.
struct StoreLaunch {
    private let store: EncryptedStore
    private let file: DatabaseFile
    /// Ends the launch while it waits for others, and before it makes anything.
    private let cancellation = Cancellation.ofTask

    init(_ store: EncryptedStore) {
        self.store = store
        file = DatabaseFile(store.path)
    }

    /// Opens the store with `open`, which gets the path, the key and the options.
    func run<Writer: DatabaseWriter>(
        _ open: (String, DatabaseKey, EncryptedDatabase.Options) throws -> Writer
    ) throws -> Writer {
        guard file.isNamed else {
            throw EncryptedDatabaseError.noSuchFile(path: store.path)
        }
        while true {
            if let size = try file.look().recoveredSize, size > 0 {
                let leavesLock = store.options.isReadOnly || store.options.isForCopying
                if !leavesLock { lock.removeIfAbandoned() }
                return try openExisting(open)
            }
            guard !store.options.isReadOnly else {
                throw try file.size() == nil
                    ? EncryptedDatabaseError.noSuchFile(path: store.path)
                    : EncryptedDatabaseError.empty(path: store.path)
            }
            if let writer = try firstLaunch(open) { return writer }
        }
    }

    // MARK: - The file is there

    private func openExisting<Writer: DatabaseWriter>(
        _ open: (String, DatabaseKey, EncryptedDatabase.Options) throws -> Writer
    ) throws -> Writer {
        do {
            var stored = store.storedKey
            stored.cancellation = cancellation
            return try stored.open {
                try cancellation?.check()
                return try open(store.path, $0, options(createsFile: false))
            }
        } catch KeyStoreError.itemNotFound {
            // The app has only now begun to encrypt, so no key is lost.
            if let inspection = try? FileInspection(file.look(), cipher: store.options.cipher),
                inspection.isPlaintext
            {
                throw EncryptedDatabaseError.plaintext(path: store.path)
            }
            throw keyMissing
        }
    }

    // MARK: - Creating the file

    private var lock: FileLock {
        FileLock(beside: file.resolvedPath, suffix: FileLock.launchSuffix)
    }

    /// - Returns: `nil` if another process has created the database meanwhile.
    private func firstLaunch<Writer: DatabaseWriter>(
        _ open: (String, DatabaseKey, EncryptedDatabase.Options) throws -> Writer
    ) throws -> Writer? {
        do {
            return try lock.withLock(
                timeout: store.launchTimeout,
                whileWaiting: { _ in try cancellation?.check() }
            ) {
                try file.checkLink()
                guard try (file.look().recoveredSize ?? 0) == 0 else { return nil }
                let entry = try entryOfNewFile()
                let key = try entry.key(assuming: store.keyForm)
                let writer = try open(store.path, key, options(createsFile: true))
                KeyRecord.keep(entry.item, in: store.keyStore, beside: file)
                return writer
            }
        } catch FileLock.Failure.held(let processIdentifier) {
            throw EncryptedStoreError.launchInProgress(
                path: store.path,
                processIdentifier: processIdentifier
            )
        } catch FileLock.Failure.refused(let code) {
            guard code != ENOENT, code != ENOTDIR else { throw file.cannotCreate(code) }
            throw EncryptedDatabaseError.cannotCreate(
                path: lock.path,
                reason: FileLock.Failure.reason(for: code, at: lock.path)
            )
        }
    }

    private func entryOfNewFile() throws -> KeyEntry {
        let lookUps = store.keyStore.endingLookUps(by: cancellation)
        do {
            if let found = try entry(in: lookUps) { return found }
        } catch KeyStoreError.noCollection("default") {
            // Storing the key makes one, if the user wants it.
        }
        // A journal with content belongs to a database, even if that database's file is lost.
        guard try !file.look().hasJournalContent else { throw keyMissing }

        // From here on the launch isn't cancelled: a key that is stored must also be read back.
        try cancellation?.check()
        let key = try DatabaseKey.generate()
        do {
            try store.keyStore.store(
                key,
                service: store.service,
                account: store.account,
                label: store.label,
                replacing: false
            )
        } catch KeyStoreError.itemExists {
            // Another process has stored one since the check. It may have a database already.
            return try store.keyStore.entry(service: store.service, account: store.account)
        }
        guard let kept = try entry(in: store.keyStore), kept.text == key.stored() else {
            throw EncryptedStoreError.keyNotKept(
                service: store.service,
                account: store.account,
                hasDatabase: false
            )
        }
        // As the next launch will read it, even if the key store dropped the attribute with its
        // form.
        return kept
    }

    // MARK: -

    /// The store's item; `nil` only if the key store was unlocked and has none.
    private func entry(in keyStore: any KeyStore) throws -> KeyEntry? {
        try keyStore.entryIfPresent(service: store.service, account: store.account)
    }

    private func options(createsFile: Bool) -> EncryptedDatabase.Options {
        var options = store.options
        options.createsFile = createsFile
        return options
    }

    private var keyMissing: EncryptedStoreError {
        .keyMissing(
            path: store.path,
            service: store.service,
            account: store.account,
            record: KeyRecord(beside: file)
        )
    }
}
