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
    /// Puts the options together, and lets go of the key's descriptor in the end.
    ///
    /// - Parameters:
    ///   - isPlaintext: Whether the database is said not to be encrypted.
    ///   - body: Gets the path and the options.
    func withNamedDatabase<Value>(
        in context: CommandContext,
        isPlaintext: Bool = false,
        _ body: (_ path: String, MigrationDatabaseOpenOptions) throws -> Value
    ) throws -> Value {
        context.settingsSource.use(settings.config)
        context.warn(about: database.secret)
        let options = try database.resolved(in: context, isPlaintext: isPlaintext)
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        context.keySource.note(options.keySource)
        defer { context.release(options.keySource) }
        return try body(path, options)
    }

    /// Has a new passphrase typed once more: nobody sees what is typed, and one with a slip in it
    /// is lost.
    func askAgain(_ key: DatabaseKey, in context: CommandContext) throws {
        let store = try database.keychain.keyStore(in: context)
        let again = try KeyResolver { store }.key(from: .prompt("Once more: "), form: key.form)
        guard key == again else { throw KeyCommandError.passphrasesDiffer }
    }

    /// Gets a new key from its source.
    func read(
        _ newKey: NewKeyOptions,
        from source: KeySource,
        in context: CommandContext
    ) throws -> DatabaseKey {
        defer { context.release(source) }
        // What the settings say of a collection is about the service that they name.
        let store = try database.keychain.keyStore(in: context, ofService: false)
        let key = try KeyResolver { store }.key(from: source, form: newKey.form)
        if case .prompt = source { try askAgain(key, in: context) }
        return key
    }

    /// Throws if standard input is to give both keys.
    func checkInput(_ newKey: NewKeyOptions) throws {
        if database.secret.passwordFile == "-", newKey.newPasswordFile == "-" {
            throw ValidationError("Standard input can give one of the two keys only.")
        }
    }
}
