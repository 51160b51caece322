import Foundation
import GRDB
import KeyStore
import MigrationKitGRDB

/// An app's encrypted database together with its key in a key store: one call for the launch.
///
/// ```swift
/// import Foundation
/// import GRDB
/// import KeyStore
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
/// | there | missing | ``EncryptedStoreError/keyMissing(path:service:account:)``; never a new key |
/// | missing or empty | there | the file is made with the item's key |
/// | missing or empty | missing | a raw key is made, stored and read back; then the file is made |
/// | any | can't be told | the key store's own `KeyStoreError`; nothing is made |
///
/// A process may be killed at any point of that: the next launch goes on from what is there, and no
/// database ever stands without its key. Several processes may launch for the first time at the
/// same moment; they end with one key and one file. They wait for each other with a lock on the
/// file `<path>-launch.lock`, which is there during a first launch only.
///
/// ## Another key
///
/// ``keyRotation(keepsOldKey:options:)`` changes the key of both, the file and the item. One that was
/// killed is finished or undone by the next launch, and one that another process is at is waited for
/// as long as for other locks. That costs a launch one more look into the key store.
///
/// Give each database an account of its own. Two databases that share an item share its key, and
/// are both lost with it.
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
    let keyForm: DatabaseKey.Form
    package let options: EncryptedDatabase.Options
    let launchTimeout: TimeInterval

    /// Describes a store; nothing is opened or asked yet.
    ///
    /// - Parameters:
    ///   - path: The database. Its folder must exist.
    ///   - keyStore: Where the key is kept, such as `SecretServiceKeyStore`.
    ///   - service: What the key's item belongs to, such as the app's identifier.
    ///   - account: Which of the service's keys it is.
    ///   - label: What a person sees in a password program; `nil` for one made of service and
    ///     account. Only used when a key is made.
    ///   - keyForm: What an item is that doesn't say so itself, because another program stored it.
    ///   - options: How the database is opened. A file is created as described above, whatever
    ///     `createsFile` says; with `isReadOnly` neither file nor key is ever made.
    ///   - launchTimeout: How long to wait for another process's first launch, in seconds. A person
    ///     may be answering the question for the keyring's password there.
    public init(
        path: String,
        keyStore: any KeyStore,
        service: String,
        account: String,
        label: String? = nil,
        keyForm: DatabaseKey.Form = .passphrase,
        options: EncryptedDatabase.Options = .init(),
        launchTimeout: TimeInterval = 60
    ) {
        self.path = path
        self.keyStore = keyStore
        self.service = service
        self.account = account
        self.label = label
        self.keyForm = keyForm
        self.options = options
        self.launchTimeout = launchTimeout
    }

    /// Whether there is a database, so that a launch would not be the first. An empty file is none.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if what is there can't be a database or be looked at.
    public func exists() throws -> Bool {
        try (DatabaseFile(path).recoveredSize() ?? 0) > 0
    }

    // MARK: - One connection

    /// Opens the database for one connection, and makes key and file at the first launch.
    ///
    /// Blocks while the key store waits for a daemon or for a person at a prompt; ``asyncOpen()``
    /// doesn't.
    ///
    /// - Returns: A queue whose connection has read the schema, so that the key is known to be right.
    /// - Throws: ``EncryptedStoreError``; `KeyStoreError` if the key store can't be asked, several
    ///   items match, or storing fails; `DatabaseKeyError` if the item's secret can't be a key;
    ///   ``EncryptedDatabaseError`` if the key doesn't open the file or the file can't be used; or
    ///   what `options.prepareDatabase` throws.
    public func open() throws -> DatabaseQueue {
        try StoreLaunch(self).run { try EncryptedDatabase.open($0, key: $1, options: $2) }
    }

    /// The asynchronous form of ``open()``. The work runs on a thread of its own.
    ///
    /// If the task is cancelled, a wait for another process ends, a question on the desktop is
    /// taken back, and nothing more is made. A launch that has begun to store a new key goes on to
    /// its end, so that a key is stored and read back, or not there.
    ///
    /// - Returns: A queue whose connection has read the schema, so that the key is known to be right.
    /// - Throws: What ``open()`` throws; a `CancellationError`.
    public func asyncOpen() async throws -> DatabaseQueue {
        try await launching { launch in
            try launch.run { try EncryptedDatabase.open($0, key: $1, options: $2) }
        }
    }

    // MARK: - A pool

    /// Opens the database for one writing connection and several reading ones, and makes key and
    /// file at the first launch.
    ///
    /// Sets the file's journal mode to WAL unless `options.isReadOnly` is set. Blocks as ``open()``
    /// does.
    ///
    /// - Returns: A pool whose writing connection has read the schema.
    /// - Throws: As the form for one connection.
    public func openPool() throws -> DatabasePool {
        try StoreLaunch(self).run { try EncryptedDatabase.openPool($0, key: $1, options: $2) }
    }

    /// The asynchronous form of ``openPool()``, with a cancellation as that of ``asyncOpen()``.
    ///
    /// - Returns: A pool whose writing connection has read the schema.
    /// - Throws: What ``openPool()`` throws; a `CancellationError`.
    public func asyncOpenPool() async throws -> DatabasePool {
        try await launching { launch in
            try launch.run { try EncryptedDatabase.openPool($0, key: $1, options: $2) }
        }
    }

    private func launching<Value: Sendable>(
        _ work: @escaping @Sendable (StoreLaunch) throws -> Value
    ) async throws -> Value {
        let cancellation = Cancellation()
        return try await blocking(cancellingBy: cancellation.cancel) {
            try cancellation.check()
            return try work(StoreLaunch(self, cancellation: cancellation))
        }
    }
}
