import ArgumentParser
import KeyStore
import MigrationKitSQLCipher

/// A command that works on a database's file and its key. It needs no migrations.
protocol KeyedFileCommand: ContextCommand {
    var database: KeyedDatabaseOptions { get }
    var settings: SettingsOptions { get }
    var json: Bool { get }
}

extension KeyedFileCommand {
    /// Puts the options together, looks at the file before anybody is asked for its key, and lets go
    /// of the key's descriptor in the end.
    ///
    /// - Parameters:
    ///   - isPlaintext: Whether the database is said not to be encrypted.
    ///   - file: The file that the key is for, and what it must be; `nil` for the named database,
    ///     which must be encrypted unless it is said not to be.
    ///   - body: Gets the path and the options.
    func withNamedDatabase<Value>(
        in context: CommandContext,
        isPlaintext: Bool = false,
        file: (path: String?, is: EncryptedDatabase.Expectation)? = nil,
        _ body: (_ path: String, MigrationDatabaseOpenOptions) throws -> Value
    ) throws -> Value {
        context.settingsSource.use(settings.config)
        context.warn(about: database.secret)
        let options = try database.resolved(in: context, isPlaintext: isPlaintext)
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        // Nobody is asked for the key of a file that wants none. Elsewhere the run finds that out,
        // once it has removed what a killed one left.
        if !isPlaintext, case .prompt = options.keySource {
            try EncryptedDatabase.check(file?.path ?? path, is: file?.is ?? .encrypted)
        }
        context.keySource.note(options.keySource)
        defer { context.release(options.keySource) }
        return try body(path, options)
    }

    /// Gets a new key from its source.
    func read(
        _ newKey: KeyOptions<NewKey>,
        from source: KeySource,
        in context: CommandContext
    ) throws -> DatabaseKey {
        defer { context.release(source) }
        // The database's key may be named in the environment.
        try Self.checkInput(of: context.keySource.noted, source)
        // What the settings say of a collection is about the service that they name.
        let store = try database.keychain.keyStore(in: context, ofService: false)
        return try KeyResolver { store }.newKey(from: source, form: newKey.form)
    }

    /// Throws if one descriptor, such as that of standard input, should give both keys: reading the
    /// first one reads to the end.
    func checkInput(_ newKey: KeyOptions<NewKey>) throws {
        // Options that contradict each other are reported where they are used.
        try Self.checkInput(
            of: database.secret.sources.first,
            try? newKey.source()
        )
    }

    private static func checkInput(of source: KeySource?, _ other: KeySource?) throws {
        guard let number = source?.descriptor, number == other?.descriptor else { return }
        let name = number == 0 ? "Standard input" : "The descriptor \(number)"
        throw ValidationError("\(name) can give one of the two keys only.")
    }
}
