import GRDB
import MigrationKitKeys
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher
import SecretService

extension MigrationCLIHost {
    /// Creates the host of a program that has its own steps and its own store. Every command works
    /// on that store, with no option.
    ///
    /// ```swift
    /// let store = EncryptedStore(
    ///     path: path, keyStore: SecretServiceKeyStore(), service: "org.example.Notes", account: "main")
    /// MigrationCLI.main(host: MigrationCLIHost(runner: runner, store: store))
    /// ```
    ///
    /// `migrate` makes key and file at the first launch, as the app does. The environment and the
    /// settings file name neither database nor key: the store is the program's own. Options still
    /// do, such as `--db-path` for a copy, which is opened with the store's key unless another option
    /// names one. The options of the keychain search the store's own key store. SQL functions,
    /// collations and `prepareDatabase` are the store's, everywhere.
    ///
    /// - Parameters:
    ///   - runner: The steps.
    ///   - store: The app's store.
    ///   - commandName: What people type to reach the commands, for help texts, such as `notes db`;
    ///     `nil` for the name of the process.
    public init(runner: GRDBMigrationRunner, store: EncryptedStore, commandName: String? = nil) {
        self.init(
            migrations: .runner(runner),
            store: store,
            openWriter: { try store.open($0) },
            generateSchemaSnapshot: { runner in
                try GRDBSchemaSnapshotProvider(
                    configuration: .ofMigrations(store),
                    migrate: { try runner.migrate(in: $0) }
                ).generateCanonicalSnapshot()
            }
        )
        self.commandName = commandName
    }

    /// Whether the program's own code opens the database, and so knows which it is.
    var opensItself: Bool { !hasFolder && store == nil }
}

extension CommandContext {
    /// A connection in memory with what the steps may use.
    ///
    /// - Throws: ``SettingsFileError``.
    var configurationOfSteps: Configuration {
        get throws {
            var configuration = host.store.map(Configuration.ofMigrations) ?? .ofMigrations
            configuration.acceptsDoubleQuotedStringLiterals = try acceptsDoubleQuotedStrings
            return configuration
        }
    }

    /// The names of the folder's files, if they are no tool's.
    ///
    /// - Throws: ``SettingsFileError``.
    var namePattern: MigrationNamePattern? {
        get throws {
            try settings()?.value(.namePattern, as: String.self).flatMap(MigrationNamePattern.init)
        }
    }

    /// The program's version, for the journal.
    ///
    /// - Throws: ``SettingsFileError``.
    var appVersion: String? {
        get throws { try settings()?.value(.appVersion, as: String.self) }
    }

    /// Whether a name in double quotes that names nothing is a string. A program with its own steps
    /// says that in its own `Configuration`.
    ///
    /// - Throws: ``SettingsFileError``.
    var acceptsDoubleQuotedStrings: Bool {
        get throws { try settings()?.value(.doubleQuotedStrings) ?? false }
    }
}

extension EncryptedStore {
    /// Opens the database that the options name. What they don't say is the store's.
    fileprivate func open(_ options: MigrationDatabaseOpenOptions) throws -> any DatabaseWriter {
        let path = options.dbPath ?? path
        let opening = options.opening(self.options)
        if !options.isPlaintext {
            try EncryptedDatabase.check(
                path,
                is: options.createsFile ? .encryptedOrNew : .encrypted,
                cipher: options.cipher
            )
            if options.usesHostsKey { return try at(path, options: opening).open() }
        }
        return try options.open(path, opening)
    }
}

extension Configuration {
    /// A connection with what the steps of a store may use.
    fileprivate static func ofMigrations(_ store: EncryptedStore) -> Configuration {
        var configuration = Configuration.ofMigrations
        let options = store.options
        configuration.prepareDatabase { db in
            options.functions.forEach(db.add(function:))
            options.collations.forEach(db.add(collation:))
            try options.prepareDatabase?(db)
        }
        return configuration
    }
}

// MARK: - Options

extension KeyedDatabaseOptions {
    /// Combines options and the host's own store: it has what they don't name.
    ///
    /// - Parameter named: The options that name a key source; one at most.
    func resolved(
        for store: EncryptedStore,
        named: [String],
        in context: CommandContext,
        for purpose: Purpose,
        isPlaintext: Bool
    ) throws -> MigrationDatabaseOpenOptions {
        let usesHostsKey = named.isEmpty && !isPlaintext
        let source = usesHostsKey ? (store.keyStore as? KeySourceStore)?.source : nil
        let isItem = usesHostsKey && source == nil || keychain.keychainService != nil
        var resolved = MigrationDatabaseOpenOptions(
            dbPath: try file.path(in: context),
            keychainService: isItem ? try keychain.service(in: context) : nil,
            keychainAccount: isItem ? try keychain.account(in: context) : keychain.keychainAccount,
            otherKeySource: source
                ?? secret.sources(passwordArgument: context.passwordArgument).first,
            isRawKey: secret.rawKey || usesHostsKey && store.expectsRawKey,
            isPlaintext: isPlaintext,
            createsFile: purpose.createsFile,
            keychainCollection: keychain.keychainCollection,
            keychainTimeout: try keychain.timeout(in: context),
            keychainQuestionTimeout: try keychain.questionTimeout(in: context),
            allowsPrompt: !keychain.noPrompt,
            cipher: try file.cipher(in: context)
        )
        resolved.purpose = purpose
        resolved.usesHostsKey = usesHostsKey
        if isItem { resolved.ownKeyStore = .init(try keychain.keyStore(in: context)) }
        _ = try resolved.onlyKeySource()
        return resolved
    }
}

extension KeychainOptions {
    /// The host's own key store for an item; `nil` if it is the desktop's.
    ///
    /// - Parameter ofService: Whether the item is that of the named service.
    func ownKeyStore(in context: CommandContext, ofService: Bool) -> (any KeyStore)? {
        guard let own = context.host.store?.keyStore, !(own is SecretServiceKeyStore) else {
            return nil
        }
        // A key source has one item only.
        let isOther = !ofService || keychainService != nil
        return own is KeySourceStore && isOther ? nil : own
    }
}

extension EncryptedStore {
    /// The form of a key that records none.
    fileprivate var expectsRawKey: Bool {
        ((keyStore as? KeySourceStore)?.form ?? keyForm) == .rawKey
    }
}

/// The key store that the host's own store has. Two of them are never compared.
struct OwnKeyStore: Equatable, Sendable {
    let keyStore: any KeyStore

    init(_ keyStore: any KeyStore) {
        self.keyStore = keyStore
    }

    static func == (left: Self, right: Self) -> Bool { true }
}
