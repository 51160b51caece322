import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher

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

    let migrations: Migrations
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

    private init(
        migrations: Migrations,
        openWriter: @escaping OpenWriter,
        generateSchemaSnapshot: (@Sendable (GRDBMigrationRunner) throws -> String)?
    ) {
        self.migrations = migrations
        self.openWriter = openWriter
        self.generateSchemaSnapshot = generateSchemaSnapshot
    }

    /// The host of a program whose steps come from a folder of SQL files, which `--migrations`
    /// names.
    public static let standalone = MigrationCLIHost(
        migrations: .folder,
        openWriter: openDatabase,
        generateSchemaSnapshot: { runner in
            var configuration = Configuration()
            configuration.prepareDatabase { $0.add(function: .uuid) }
            return try GRDBSchemaSnapshotProvider(
                configuration: configuration,
                migrate: { try runner.migrate(in: $0) }
            ).generateCanonicalSnapshot()
        }
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
        try options.checkKeySource()
        if !options.isPlaintext, options.keySource != nil {
            try EncryptedDatabase.check(
                path,
                is: options.createsFile ? .encryptedOrNew : .encrypted
            )
        }
        var opening = EncryptedDatabase.Options(
            createsFile: options.createsFile,
            cipher: options.cipher,
            busyTimeout: options.busyTimeout
        )
        opening.readsIfUnwritable = options.opensForReading
        return try options.open { [opening] key in
            guard let key else {
                return try EncryptedDatabase.openPlaintext(path, options: opening)
            }
            return try EncryptedDatabase.open(path, key: key, options: opening)
        }
    }
}
