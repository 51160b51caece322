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
    /// The database that is named, and how it is encrypted.
    ///
    /// - Parameter isPlaintext: Whether it is said not to be encrypted.
    func namedForm(
        in context: CommandContext,
        isPlaintext: Bool
    ) throws -> (path: String, form: DatabaseForm) {
        context.settingsSource.use(settings.config)
        context.warn(about: database.secret)
        let options = try database.resolved(in: context, isPlaintext: isPlaintext)
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        guard !isPlaintext else { return (path, .plaintext()) }
        context.keySource.note(options.keySource)
        defer { context.release(options.keySource) }
        guard let key = try options.key() else { throw MigrationCLIError.noKey }
        return (path, .encrypted(key, cipher: options.cipher))
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
