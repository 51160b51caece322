import Foundation
import MigrationKitPages
import MigrationKitCommon
import GRDB
import MigrationKitKeys

/// One launch of a store: gets the key, or makes one if no data can be lost by that, and opens.
///
/// The order makes it safe to be killed at any point. A key is stored and read back before the file
/// is created or encrypted, so no file exists without its key. If there is a key but no file, an empty
/// one or plaintext, the next launch continues from there.
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
                let leavesLock = store.options.leavesKey
                if !leavesLock {
                    lock.removeIfAbandoned { KeyRecord.removeLeftovers(beside: file) }
                }
                do {
                    return try openExisting(open)
                } catch EncryptedDatabaseError.plaintext(store.path)
                    where store.encryptsPlaintext && !leavesLock
                {
                    try encryptPlaintext()
                    continue
                }
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
            // No key is lost if the file was never encrypted, or can't be read.
            try EncryptedDatabase.check(store.path, is: .encrypted, cipher: store.options.cipher)
            try FileInspection(file.look(), cipher: store.options.cipher).checkLooksEncrypted()
            throw keyMissing
        }
    }

    // MARK: - Making the file

    private var lock: FileLock {
        FileLock(beside: file.resolvedPath, suffix: FileLock.launchSuffix)
    }

    private func underLock<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try lock.withLock(
                timeout: store.launchTimeout,
                whileWaiting: { _ in try cancellation?.check() }
            ) {
                try file.checkLink()
                return try body()
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

    /// - Returns: `nil` if another process has created the database meanwhile.
    private func firstLaunch<Writer: DatabaseWriter>(
        _ open: (String, DatabaseKey, EncryptedDatabase.Options) throws -> Writer
    ) throws -> Writer? {
        try underLock {
            guard try (file.look().recoveredSize ?? 0) == 0 else { return nil }
            let entry = try storedEntry {
                // A journal with content belongs to a database, even if that database's file is lost.
                guard try !file.look().hasJournalContent else { throw keyMissing }
            }
            let key = try entry.key(assuming: store.keyForm)
            let writer = try open(store.path, key, options(createsFile: true))
            KeyRecord.keep(entry.item, in: store.keyStore, beside: file)
            return writer
        }
    }

    /// Encrypts the file, unless another process has done it meanwhile.
    private func encryptPlaintext() throws {
        try underLock {
            guard try isPlaintext else { return }
            let entry = try storedEntry()
            try waitUntilWritten(entry)
            let timeout = max(1, store.options.busyTimeout)
            var options = store.rewriting(RewriteOptions(timeout: timeout))
            options.cancellation = cancellation
            let conversion = DatabaseConversion.encrypt(
                store.path,
                key: try entry.key(assuming: store.keyForm),
                cipher: store.options.cipher,
                options: options
            )
            let end = ContinuousClock.now + .seconds(timeout)
            while true {
                do {
                    try conversion.run()
                    return KeyRecord.keep(entry.item, in: store.keyStore, beside: file)
                } catch DatabaseConversionError.changedMeanwhile where .now < end {
                    // The old version opens it for each of its changes.
                }
            }
        }
    }

    private var isPlaintext: Bool {
        get throws {
            let look = try file.look()
            return try look.hasContent
                && FileInspection(look, cipher: store.options.cipher).isPlaintext
        }
    }

    /// Waits for a program that answers before it writes. While the file is plaintext, nothing is lost
    /// with a key; and nobody tells when such a program has written.
    private func waitUntilWritten(_ entry: KeyEntry) throws {
        guard try store.keyStore.unwrittenProvider() != nil else { return }
        let age = entry.item.modified.map { -$0.timeIntervalSinceNow } ?? 0
        guard (0..<Self.secondsOfWriting).contains(age) else { return }
        _ = try Polling.value(
            within: Self.secondsOfWriting - age,
            whileWaiting: { try cancellation?.check() },
            { Void?.none }
        )
    }

    /// How long such a program may take, with much to spare: KeePassXC writes within two seconds.
    private static let secondsOfWriting: TimeInterval = 8

    /// The store's item, or a new one.
    ///
    /// - Parameter check: Throws if nothing must be made.
    private func storedEntry(makingIf check: () throws -> Void = {}) throws -> KeyEntry {
        let lookUps = store.keyStore.endingLookUps(by: cancellation)
        do {
            if let found = try entry(in: lookUps) { return found }
        } catch KeyStoreError.noCollection("default") {
            // Storing the key makes one, if the user wants it.
        }
        try check()

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
