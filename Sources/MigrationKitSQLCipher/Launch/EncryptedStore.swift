import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB

/// An app's encrypted database together with its key in a key store: one call at launch.
///
/// ```swift
/// import Foundation
/// import GRDB
/// import MigrationKitKeys
/// import MigrationKit
/// import MigrationKitGRDB
/// import MigrationKitSQLCipher
/// import SecretService
///
/// /// Opens the app's store and brings it up to date; at the first launch, makes key and file.
/// func launch(steps: [MigrationStep<Database>]) async throws -> DatabaseQueue {
///     // On Linux $XDG_DATA_HOME, by default ~/.local/share.
///     let folder = try FileManager.default.url(
///         for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true
///     ).appendingPathComponent("org.example.Notes")
///     try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
///     let store = EncryptedStore(
///         path: folder.appendingPathComponent("notes.db").path,
///         keyStore: SecretServiceKeyStore(),
///         service: "org.example.Notes",
///         account: "main",
///         label: "Notes"
///     )
///     do {
///         let database = try await store.asyncOpen()
///         try await GRDBMigrationRunner(steps: steps).asyncMigrate(in: database)
///         return database
///     } catch EncryptedStoreError.keyMissing {
///         // The file is there and its key is gone: restore the item, or begin anew. Ask the user.
///         throw LaunchFailure.keyIsGone
///     } catch KeyStoreError.locked, KeyStoreError.promptDismissed {
///         // The key is there, behind a password. Nothing is lost: ask the user to unlock it.
///         throw LaunchFailure.keyringIsLocked
///     } catch KeyStoreError.noBus, KeyStoreError.noService, KeyStoreError.noCollection {
///         // There is no place for keys, as on a server without a desktop.
///         throw LaunchFailure.noKeyring
///     }
/// }
///
/// enum LaunchFailure: Error { case keyIsGone, keyringIsLocked, noKeyring }
/// ```
///
/// ## What a launch does
///
/// | file | item | then |
/// | --- | --- | --- |
/// | there | there | the file is opened with the item's key |
/// | there | missing | ``EncryptedStoreError/keyMissing(path:service:account:record:)``; never a new key |
/// | missing or empty | there | the file is made with the item's key |
/// | missing or empty | missing | a raw key is made, stored and read back; then the file is made |
/// | plaintext | there or missing | ``EncryptedDatabaseError/plaintext(path:)``, unless the store encrypts plaintext |
/// | any | can't be read | the key store's own `KeyStoreError`; nothing is made |
///
/// A process may be killed at any point: the next launch continues from there, and a database never
/// exists without its key. Several processes may launch for the first time at the same moment. They
/// end up with one key and one file: a lock on the file `<path>-launch.lock`, which exists only
/// during a first launch, makes them wait for each other.
///
/// ## From plaintext to encrypted
///
/// With `encryptsPlaintext`, a launch encrypts the database that an earlier version of the app has left:
/// first the key is made, stored and read back, then a ``DatabaseConversion`` writes the file anew, and
/// replaces it by a rename. So killed at any point, a launch leaves the plaintext database or the
/// encrypted one, whole, and no new file in plaintext. If the earlier version makes a plaintext database
/// once more, the next launch encrypts that with the same key. The earlier version must not be running:
/// ``DatabaseConversionError/inUse(path:by:)``. If the key store's program answers before it writes, the
/// launch waits eight seconds before it encrypts.
///
/// ## Changing the key
///
/// ``keyRotation(keepsOldKey:options:)`` changes the key of the file and of the item. The next
/// launch finishes or undoes a rotation that was killed. If another process is rotating the key, a
/// launch waits for it as long as for other locks. This costs each launch one more search of the
/// key store.
///
/// Give each database its own account. Two databases that share an item share its key, and if it is
/// lost, both are lost.
///
/// ## Tests of an app
///
/// `InMemoryKeyStore` takes the place of the desktop's key store:
///
/// ```swift
/// let store = EncryptedStore(
///     path: temporaryPath, keyStore: InMemoryKeyStore(), service: "test", account: "main")
/// ```
public struct EncryptedStore: Sendable {
    /// The database's path. Its folder must exist.
    public let path: String
    /// The service of the key's item.
    public let service: String
    /// The account of the key's item.
    public let account: String

    package let keyStore: any KeyStore
    package let label: String?
    package let keyForm: DatabaseKey.Form
    package let options: EncryptedDatabase.Options
    let encryptsPlaintext: Bool
    let launchTimeout: TimeInterval

    /// Describes a store. Nothing is opened yet.
    ///
    /// - Parameters:
    ///   - path: The database. Its folder must exist.
    ///   - keyStore: Where the key is kept, such as `SecretServiceKeyStore`.
    ///   - service: What the key belongs to, such as the app's identifier.
    ///   - account: Which of the service's keys it is.
    ///   - label: The name that password programs show; `nil` for one made of service and account.
    ///     Only used when a key is made.
    ///   - keyForm: The form of a key whose item doesn't record one, because another program stored
    ///     it.
    ///   - options: How the database is opened. A file is created as described above, whatever
    ///     `createsFile` says. With `isReadOnly`, neither file nor key is ever made.
    ///   - encryptsPlaintext: Whether a plaintext database at the path is encrypted when it is opened.
    ///   - launchTimeout: How long to wait for another process's first launch, in seconds. That
    ///     process may be waiting for the keyring's password.
    public init(
        path: String,
        keyStore: any KeyStore,
        service: String,
        account: String,
        label: String? = nil,
        keyForm: DatabaseKey.Form = .passphrase,
        options: EncryptedDatabase.Options = .init(),
        encryptsPlaintext: Bool = false,
        launchTimeout: TimeInterval = 60
    ) {
        self.path = path
        self.keyStore = keyStore
        self.service = service
        self.account = account
        self.label = label
        self.keyForm = keyForm
        self.options = options
        self.encryptsPlaintext = encryptsPlaintext
        self.launchTimeout = launchTimeout
    }

    /// Describes a store whose key comes from elsewhere: a file, a systemd credential, a command, a
    /// vault. Nothing is opened yet.
    ///
    /// The key is there before the database. A first launch makes only the file, encrypted with that
    /// key. A source without a key is its own `KeySourceError`; no key is ever made.
    ///
    /// - Parameters:
    ///   - path: The database. Its folder must exist.
    ///   - key: The source of the key.
    ///   - options: How the database is opened. A file is created as described above, whatever
    ///     `createsFile` says. With `isReadOnly`, no file is ever made.
    ///   - encryptsPlaintext: Whether a plaintext database at the path is encrypted when it is opened.
    ///   - launchTimeout: How long to wait for another process's first launch, in seconds.
    public init(
        path: String,
        key: KeySourceStore,
        options: EncryptedDatabase.Options = .init(),
        encryptsPlaintext: Bool = false,
        launchTimeout: TimeInterval = 60
    ) {
        self.init(
            path: path,
            keyStore: key,
            service: key.service,
            account: key.account,
            options: options,
            encryptsPlaintext: encryptsPlaintext,
            launchTimeout: launchTimeout
        )
    }

    /// The same store with its file elsewhere, and opened in another way.
    package func at(_ path: String, options: EncryptedDatabase.Options) -> EncryptedStore {
        EncryptedStore(
            path: path,
            keyStore: keyStore,
            service: service,
            account: account,
            label: label,
            keyForm: keyForm,
            options: options,
            encryptsPlaintext: encryptsPlaintext,
            launchTimeout: launchTimeout
        )
    }

    /// Whether there is a database, so that a launch would not be the first. An empty file doesn't
    /// count.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the file can't be a database or can't be checked.
    public func exists() throws -> Bool {
        try (DatabaseFile(path).look().recoveredSize ?? 0) > 0
    }

    // MARK: - One connection

    /// Opens the database for one connection. At the first launch, makes the key and the file.
    ///
    /// Blocks while the key store waits for a daemon or for the user's answer; ``asyncOpen()``
    /// doesn't.
    ///
    /// - Returns: A queue whose connection has read the schema, so that the key is known to be right.
    /// - Throws: ``EncryptedStoreError``; `KeyStoreError` if the key store can't be asked, several
    ///   items match, or storing fails; `DatabaseKeyError` if the item's secret can't be a key;
    ///   ``EncryptedDatabaseError`` if the key doesn't open the file or the file can't be used;
    ///   ``DatabaseConversionError/notSynced(path:code:)`` if a rotation was killed, and the name of its
    ///   new file can't be brought to the disk; or what `options.prepareDatabase` throws.
    public func open() throws -> DatabaseQueue {
        try StoreLaunch(self).run { try EncryptedDatabase.open($0, key: $1, options: $2) }
    }

    /// The asynchronous form of ``open()``. The work runs on its own thread.
    ///
    /// If the task is cancelled, a wait for another process ends, the desktop's question is closed,
    /// and nothing more is made. A launch that has begun to store a new key completes that first,
    /// so that a key is either stored and read back, or not there.
    ///
    /// - Returns: A queue whose connection has read the schema, so that the key is known to be right.
    /// - Throws: What ``open()`` throws; a `CancellationError`.
    public func asyncOpen() async throws -> DatabaseQueue {
        try await asyncRun { try open() }
    }

    // MARK: - A pool

    /// Opens the database for one writing connection and several reading ones. At the first launch,
    /// makes the key and the file.
    ///
    /// Sets the file's journal mode to WAL unless `options.isReadOnly` is set. Blocks as ``open()``
    /// does.
    ///
    /// - Returns: A pool whose writing connection has read the schema.
    /// - Throws: As ``open()``.
    public func openPool() throws -> DatabasePool {
        try StoreLaunch(self).run { try EncryptedDatabase.openPool($0, key: $1, options: $2) }
    }

    /// The asynchronous form of ``openPool()``. Cancelling works as with ``asyncOpen()``.
    ///
    /// - Returns: A pool whose writing connection has read the schema.
    /// - Throws: What ``openPool()`` throws; a `CancellationError`.
    public func asyncOpenPool() async throws -> DatabasePool {
        try await asyncRun { try openPool() }
    }
}

extension EncryptedStore {
    /// The rotation of the store's key. Close every connection to the database before you run it.
    ///
    /// ```swift
    /// let rotation = store.keyRotation()
    /// try await asyncRun { try rotation.run() }
    /// ```
    ///
    /// - Parameters:
    ///   - keepsOldKey: Whether the old key is kept in its own item, for earlier backups.
    ///   - options: How long to wait, and who observes it. SQL functions, collations and
    ///     `prepareDatabase` are the store's own.
    public func keyRotation(
        keepsOldKey: Bool = true,
        options: RewriteOptions = RewriteOptions()
    ) -> KeyRotation {
        KeyRotation(
            path,
            keyStore: keyStore,
            service: service,
            account: account,
            keepsOldKey: keepsOldKey,
            keyForm: keyForm,
            cipher: self.options.cipher,
            options: rewriting(options)
        )
    }

    /// Options with what the store's schema needs.
    func rewriting(_ options: RewriteOptions) -> RewriteOptions {
        var options = options
        options.functions = self.options.functions
        options.collations = self.options.collations
        options.prepareDatabase = self.options.prepareDatabase
        return options
    }

    /// The store's key, even while it is being rotated.
    package var storedKey: StoredKey {
        let keyForm = keyForm
        return StoredKey(
            path: path,
            keyStore: keyStore,
            service: service,
            account: account,
            cipher: options.cipher,
            isReadOnly: options.leavesKey,
            timeout: options.busyTimeout,
            read: { try $0.key(assuming: keyForm) }
        )
    }
}
