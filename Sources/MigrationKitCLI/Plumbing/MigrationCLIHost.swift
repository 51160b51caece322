import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitSQL
import MigrationKitSQLCipher
import SecretService

/// The program that a command line is part of.
///
/// ```swift
/// let host = MigrationCLIHost(
///     runner: runner,
///     openWriter: MigrationCLIHost.openDatabase
/// )
/// MigrationCLI.main(host: host)
/// ```
public struct MigrationCLIHost: Sendable {
    /// Opens the database that the options name.
    public typealias OpenWriter =
        @Sendable (_ options: MigrationDatabaseOpenOptions) throws -> any DatabaseWriter

    /// The source of the steps.
    enum Migrations: Sendable {
        /// The program has them built in.
        case runner(GRDBMigrationRunner)

        /// The folder that `--migrations` names.
        case folder
    }

    /// What people type to reach the commands, for help texts, such as `notes db`; `nil` for the
    /// name of the process. The standalone tool has its own.
    public var commandName: String?

    let migrations: Migrations

    /// Whether the migrations are files in a folder.
    var hasFolder: Bool {
        if case .folder = migrations { true } else { false }
    }

    /// The program's own store, if it has one.
    let store: EncryptedStore?
    let openWriter: OpenWriter
    let generateSchemaSnapshot: (@Sendable (GRDBMigrationRunner) throws -> String)?

    /// Creates the host of a program with its own steps.
    ///
    /// - Parameters:
    ///   - runner: The steps.
    ///   - openWriter: Opens the database. For an encrypted one, use ``openDatabase(_:)``.
    ///   - schemaSnapshotProvider: Makes the output of `schema-dump`.
    public init(
        runner: GRDBMigrationRunner,
        openWriter: @escaping OpenWriter,
        schemaSnapshotProvider: (any SchemaSnapshotProvider<String> & Sendable)? = nil
    ) {
        var generateSchemaSnapshot: (@Sendable (GRDBMigrationRunner) throws -> String)?
        if let schemaSnapshotProvider {
            generateSchemaSnapshot = { _ in try schemaSnapshotProvider.generateCanonicalSnapshot() }
        }
        self.init(
            migrations: .runner(runner),
            openWriter: openWriter,
            generateSchemaSnapshot: generateSchemaSnapshot
        )
    }

    /// Creates the host of a program with its own steps.
    ///
    /// - Parameters:
    ///   - runner: The steps.
    ///   - openWriter: Opens the database. For an encrypted one, use ``openDatabase(_:)``.
    ///   - generateSchemaSnapshot: Makes the output of `schema-dump`.
    public init(
        runner: GRDBMigrationRunner,
        openWriter: @escaping OpenWriter,
        generateSchemaSnapshot: @escaping @Sendable () throws -> String
    ) {
        self.init(
            migrations: .runner(runner),
            openWriter: openWriter,
            generateSchemaSnapshot: { _ in try generateSchemaSnapshot() }
        )
    }

    init(
        migrations: Migrations,
        store: EncryptedStore? = nil,
        openWriter: @escaping OpenWriter,
        generateSchemaSnapshot: (@Sendable (GRDBMigrationRunner) throws -> String)?
    ) {
        self.migrations = migrations
        self.store = store
        self.openWriter = openWriter
        self.generateSchemaSnapshot = generateSchemaSnapshot
    }

    /// Opens the database that the options name. What a host opens itself is opened as it says, whatever
    /// for.
    func open(_ options: MigrationDatabaseOpenOptions) throws -> any DatabaseWriter {
        var options = options
        if opensItself { options.purpose = .change() }
        return try openWriter(options)
    }

    /// The host of a program whose steps come from a folder of SQL files, which `--migrations`
    /// names.
    public static let standalone = MigrationCLIHost(
        migrations: .folder,
        openWriter: openDatabase,
        generateSchemaSnapshot: nil
    )

    /// Opens the database that the options name, with the key from the source that they name.
    ///
    /// - Parameter options: Which database, and where its key comes from.
    /// - Returns: A queue: proven to be SQLCipher or, with `--no-encryption`, plain SQLite.
    /// - Throws: ``MigrationCLIError``, such as ``MigrationCLIError/severalKeySources(_:)``; a
    ///   `KeySourceError`, a `KeyStoreError`, or an `EncryptedDatabaseError`. The path is checked
    ///   before anybody is asked for a key.
    @Sendable public static func openDatabase(
        _ options: MigrationDatabaseOpenOptions
    ) throws -> any DatabaseWriter {
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        let keySource = try options.onlyKeySource()
        // With a key that is at hand, the opening says the same.
        if !options.isPlaintext, keySource?.isAtHand == false {
            try EncryptedDatabase.check(
                path,
                is: options.createsFile ? .encryptedOrNew : .encrypted,
                cipher: options.cipher
            )
        }
        var opening = options.opening()
        opening.acceptsDoubleQuotedStringLiterals = options.acceptsDoubleQuotedStrings
        return try options.open(path, opening)
    }
}

// MARK: - Migration Database Open Options

extension KeySource {
    /// Whether nobody is asked for the key, and no stream ends with it.
    fileprivate var isAtHand: Bool {
        switch self {
        case .password, .file, .environment, .credentialsFile: true
        case .standardInput, .fileDescriptor, .command, .keyStore, .prompt: false
        }
    }
}

extension KeyResolver {
    /// A new key for a database or an item. On a terminal it is asked for twice: typing isn't
    /// shown, and with a typing error nothing could be opened again.
    ///
    /// - Throws: ``CommandError/passphrasesDiffer``; as `key(from:form:)` does.
    func newKey(from source: KeySource, form: DatabaseKey.Form) throws -> DatabaseKey {
        let key = try key(from: source, form: form)
        if case .prompt = source {
            let again = try self.key(from: .prompt("Once more: "), form: form)
            guard key == again else { throw CommandError.passphrasesDiffer }
        }
        return key
    }
}
