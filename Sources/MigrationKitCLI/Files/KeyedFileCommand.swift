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
    /// Combines the options, checks the file before anybody is asked for its key, and closes the
    /// key's descriptor at the end.
    ///
    /// - Parameters:
    ///   - isPlaintext: Whether an option says that the database isn't encrypted.
    ///   - file: The file that the key is for, and what it must be; `nil` for the named database,
    ///     which must be encrypted unless an option says that it isn't.
    ///   - body: Receives the path and the options.
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
        // Don't ask for the key of a file that needs none. With other sources, the run detects this
        // after it has removed leftovers.
        if !isPlaintext, case .prompt = options.keySource {
            try EncryptedDatabase.check(file?.path ?? path, is: file?.is ?? .encrypted)
        }
        context.keySource.note(options.keySource)
        defer { context.release(options.keySource) }
        return try body(path, options)
    }

    /// Reads a new key from its source.
    func read(
        _ newKey: KeyOptions<NewKey>,
        from source: KeySource,
        in context: CommandContext
    ) throws -> DatabaseKey {
        defer { context.release(source) }
        // The database's key may be named in the environment.
        try Self.checkInput(of: context.keySource.noted, source)
        // The settings file's collection applies only to its own service.
        let store = try database.keychain.keyStore(in: context, ofService: false)
        return try KeyResolver { store }.newKey(from: source, form: newKey.form)
    }

    /// Throws if both keys should come from one descriptor, such as standard input: reading the
    /// first key consumes everything.
    func checkInput(_ newKey: KeyOptions<NewKey>) throws {
        // Contradicting options are reported where they are used.
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
