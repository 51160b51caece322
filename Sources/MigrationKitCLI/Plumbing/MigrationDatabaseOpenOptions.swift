import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitSQL
import MigrationKitSQLCipher
import SecretService

/// The database that a command works on, and how it is opened.
///
/// A host's `openWriter` receives everything that was given, even a password and a keychain service
/// together. To open an encrypted database, pass the options to
/// ``MigrationCLIHost/openDatabase(_:)``, or get the key with ``key()`` and open the file yourself.
/// These two refuse more than one key source.
public struct MigrationDatabaseOpenOptions: Equatable, Sendable {
    /// The path from `--db-path`, `MIGRATIONKIT_DB_PATH` or the settings file; `nil` if none is
    /// given.
    public internal(set) var dbPath: String?

    /// The text of `--password`. Every other source keeps the secret out of a `String`: see
    /// ``keySource``.
    public let password: String?

    /// The service of `--keychain-service` or `MIGRATIONKIT_KEYCHAIN_SERVICE`.
    public let keychainService: String?

    /// The account of `--keychain-account` or `MIGRATIONKIT_KEYCHAIN_ACCOUNT`.
    public let keychainAccount: String?

    /// The key source, if it is neither `--password` nor the keychain.
    public internal(set) var otherKeySource: KeySource?

    /// Where the key came from, if its source was read already; `nil` otherwise.
    var keyOrigin: KeySource?

    /// Whether the secret is 64 or 96 hexadecimal digits (`--raw-key`) instead of a passphrase.
    public let isRawKey: Bool

    /// Whether the database is plaintext (`--no-encryption`).
    public let isPlaintext: Bool

    /// Whether a missing file is created. Only `migrate` and `schema-load` ask for it.
    public let createsFile: Bool

    /// The collection of the Secret Service to look in (`--keychain-collection`); `nil` for all.
    public let keychainCollection: String?

    /// How long the Secret Service may take (`--keychain-timeout`).
    public let keychainTimeout: Duration
    /// How long the user who unlocks it may take (`--keychain-timeout`); nil for any time.
    public let keychainQuestionTimeout: Duration?

    /// Whether the user may be asked to unlock the Secret Service; false with `--no-prompt`.
    public let allowsPrompt: Bool

    /// How the file is encrypted (`--cipher-compatibility` and the like).
    public internal(set) var cipher: CipherSettings

    /// How long to wait if another process has locked the database, in seconds.
    public var busyTimeout: TimeInterval

    /// Whether a database that can't be written, because of its mode or its medium, may be opened
    /// read-only. The standalone tool sets it for commands that change nothing; a host that opens
    /// its database itself may do the same.
    public var opensForReading: Bool {
        get { purpose.onlyReads }
        set { purpose = newValue ? .read : .change() }
    }

    /// What it is opened for.
    var purpose: Purpose

    /// Whether a name in double quotes that names nothing is a string, as in SQLite's own shell.
    var acceptsDoubleQuotedStrings = false

    /// Whether the key is that of the host's own store.
    var usesHostsKey = false

    /// The key store of the host's own store, in the place of the desktop's.
    var ownKeyStore: OwnKeyStore?

    /// Creates options.
    ///
    /// - Parameters:
    ///   - dbPath: The path of the database.
    ///   - password: The passphrase, or the digits of a raw key.
    ///   - keychainService: The service under which the key store has the key.
    ///   - keychainAccount: The account under which the key store has the key.
    ///   - otherKeySource: Any other source of the key.
    ///   - isRawKey: Whether the secret is the digits of a raw key.
    ///   - isPlaintext: Whether the database is plaintext.
    ///   - createsFile: Whether a missing file is created.
    ///   - keychainCollection: The collection of the Secret Service to look in.
    ///   - keychainTimeout: How long the Secret Service may take.
    ///   - keychainQuestionTimeout: How long the user who unlocks it may take; nil for any time.
    ///   - allowsPrompt: Whether the user may be asked to unlock the Secret Service.
    ///   - cipher: How the file is encrypted.
    ///   - busyTimeout: How long to wait if another process has locked the database, in seconds.
    ///   - opensForReading: Whether a database that can't be written may be opened for reading only.
    public init(
        dbPath: String? = nil,
        password: String? = nil,
        keychainService: String? = nil,
        keychainAccount: String? = nil,
        otherKeySource: KeySource? = nil,
        isRawKey: Bool = false,
        isPlaintext: Bool = false,
        createsFile: Bool = false,
        keychainCollection: String? = nil,
        keychainTimeout: Duration = .seconds(30),
        keychainQuestionTimeout: Duration? = nil,
        allowsPrompt: Bool = true,
        cipher: CipherSettings = .current,
        busyTimeout: TimeInterval = 5,
        opensForReading: Bool = false
    ) {
        self.dbPath = dbPath
        self.password = password
        self.keychainService = keychainService
        self.keychainAccount = keychainAccount
        self.otherKeySource = otherKeySource
        self.isRawKey = isRawKey
        self.isPlaintext = isPlaintext
        self.createsFile = createsFile
        self.keychainCollection = keychainCollection
        self.keychainTimeout = keychainTimeout
        self.keychainQuestionTimeout = keychainQuestionTimeout
        self.allowsPrompt = allowsPrompt
        self.cipher = cipher
        self.busyTimeout = busyTimeout
        purpose = opensForReading ? .read : .change()
    }

    /// The key source; `nil` if none is given. If there are several, the password takes precedence,
    /// then the keychain.
    public var keySource: KeySource? {
        if let password {
            .password(Secret(utf8: password))
        } else if let keychainService {
            .keyStore(service: keychainService, account: keychainAccount)
        } else {
            otherKeySource
        }
    }

    /// The key source as it was given, for messages.
    var namedKeySource: KeySource? { keyOrigin ?? keySource }

    /// Gets the key from its source.
    ///
    /// If a key rotation was killed (`key rotate`), it is first finished or undone. While one is
    /// running, this is the key that opens the database now.
    ///
    /// - Returns: The key; `nil` for a plaintext database.
    /// - Throws: As ``key(resolver:)``.
    public func key() throws -> DatabaseKey? {
        if let stored = try storedKey() { return try stored.key() }
        return try key(resolver: KeyResolver { keyStore })
    }

    /// Opens the database with its key.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for a running key rotation, in seconds; `nil` to wait as long
    ///     as for other locks.
    ///   - attempt: Opens the database with a key, or without one. During a rotation it may be
    ///     called several times.
    func open<Value>(
        timeout: TimeInterval? = nil,
        _ attempt: (DatabaseKey?) throws -> Value
    ) throws -> Value {
        guard let stored = try storedKey(timeout: timeout) else {
            return try attempt(key())
        }
        return try explainingFormerKey { try stored.open(attempt) }
    }

    /// How the file is opened.
    ///
    /// - Parameter options: What these options don't say.
    func opening(_ options: EncryptedDatabase.Options = .init()) -> EncryptedDatabase.Options {
        var opening = options
        opening.createsFile = createsFile
        opening.cipher = cipher
        opening.busyTimeout = busyTimeout
        opening.purpose = purpose.ofOpening
        if purpose.forbidsWriting { opening.isReadOnly = true }
        return opening
    }

    /// Opens the database with its key, or without one.
    func open(_ path: String, _ opening: EncryptedDatabase.Options) throws -> any DatabaseWriter {
        try open { key in
            guard let key else {
                return try EncryptedDatabase.openPlaintext(path, options: opening)
            }
            return try EncryptedDatabase.open(path, key: key, options: opening)
        }
    }

    /// The key in the Secret Service, if the options name one there.
    ///
    /// - Parameter timeout: How long to wait for a running key rotation, in seconds; `nil` to wait as
    ///   long as for other locks.
    /// - Throws: As ``onlyKeySource()``.
    func storedKey(timeout: TimeInterval? = nil) throws -> StoredKey? {
        guard let source = try onlyKeySource(), !isPlaintext, let dbPath,
            case .keyStore(let service, let account) = source
        else { return nil }
        return StoredKey(
            path: dbPath,
            keyStore: keyStore,
            service: service,
            account: account,
            cipher: cipher,
            isReadOnly: purpose.leavesKey,
            timeout: timeout ?? busyTimeout,
            read: { [form] in try KeyResolver.key(of: $0, named: source, form: form) }
        )
    }

    var keyStore: any KeyStore {
        ownKeyStore?.keyStore
            ?? DesktopKeyStore.current(
                collection: keychainCollection,
                timeout: keychainTimeout,
                questionTimeout: keychainQuestionTimeout,
                allowsPrompt: allowsPrompt
            )
    }

    /// Checks a file before its key is read: nobody should be asked for a password, or to unlock a
    /// keyring, for a file that isn't there, or to type the key of a file that needs none. With other
    /// sources than a question, the run detects the latter after it has removed leftovers.
    func checkBeforeKey(_ path: String, is expectation: EncryptedDatabase.Expectation) throws {
        if case .prompt = keySource {
            try EncryptedDatabase.check(path, is: expectation, cipher: cipher)
        } else {
            try EncryptedDatabase.check(path, is: .file)
        }
    }

    /// Gets the key from its source. On a terminal, the passphrase of a new database is asked for
    /// twice.
    ///
    /// - Parameter resolver: Reads the source.
    /// - Returns: The key; `nil` for a plaintext database.
    /// - Throws: ``MigrationCLIError/noKey`` if no source is named;
    ///   ``MigrationCLIError/severalKeySources(_:)`` if several are; a `KeySourceError` or a
    ///   `KeyStoreError` if the source gives no key; a ``CommandError`` if two inputs differ.
    public func key(resolver: KeyResolver) throws -> DatabaseKey? {
        let keySource = try onlyKeySource()
        guard !isPlaintext else { return nil }
        guard let keySource else { throw MigrationCLIError.noKey }
        // Nobody is asked twice by another source.
        guard case .prompt = keySource, isNew else {
            return try resolver.key(from: keySource, form: form)
        }
        return try resolver.newKey(from: keySource, form: form)
    }

    /// The database's new key: like ``key()``, but on a terminal it is asked for twice.
    func newKey() throws -> DatabaseKey? {
        guard let keySource, case .prompt = keySource else { return try key() }
        return try KeyResolver { keyStore }.newKey(from: keySource, form: form)
    }

    /// What the key's bytes are.
    private var form: DatabaseKey.Form { isRawKey ? .rawKey : .passphrase }

    /// Whether opening the database creates it.
    var isNew: Bool {
        createsFile && dbPath.map { !EncryptedDatabase.hasContent($0) } ?? false
    }

    /// The key source; `nil` if none is given.
    ///
    /// - Throws: ``MigrationCLIError/severalKeySources(_:)``;
    ///   ``MigrationCLIError/accountWithoutService``;
    ///   ``MigrationCLIError/collectionWithoutService``.
    func onlyKeySource() throws -> KeySource? {
        let sources = [
            password.map { _ in "--password" },
            otherKeySource.map { source in source.option.map { "--\($0)" } ?? "\(source)" },
            keychainService.map { _ in "--keychain-service" },
        ].compactMap { $0 }
        guard sources.count <= 1 else { throw MigrationCLIError.severalKeySources(sources) }
        guard keychainService != nil || keychainAccount == nil else {
            throw MigrationCLIError.accountWithoutService
        }
        guard keychainService != nil || keychainCollection == nil else {
            throw MigrationCLIError.collectionWithoutService
        }
        return keySource
    }
}
