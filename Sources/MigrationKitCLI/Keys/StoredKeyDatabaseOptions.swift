import ArgumentParser
import KeyStore
import MigrationKitSQLCipher

/// The options that name a database whose key is in the Secret Service, and nowhere else.
struct StoredKeyDatabaseOptions: ParsableArguments, CipherOptions {
    @Option(
        help: ArgumentHelp(
            "The database (or MIGRATIONKIT_DB_PATH in the environment).",
            valueName: "path"
        ),
        completion: .file()
    )
    var dbPath: String?

    // Not groups of their own: see StoreCommand.
    @Option(
        help: ArgumentHelp(
            "The file's SQLCipher version: 1, 2, 3 or 4; default: 4.",
            valueName: "version"
        )
    )
    var cipherCompatibility: Int?

    @Option(
        help: ArgumentHelp(
            "The encrypted file's page size, if not that version's.",
            valueName: "bytes"
        )
    )
    var cipherPageSize: Int?

    @Option(
        help: ArgumentHelp(
            "The key derivation's iterations, if not that version's.",
            valueName: "count"
        )
    )
    var kdfIterations: Int?

    @Option(help: ArgumentHelp("The key derivation's hash function.", valueName: "name"))
    var kdfAlgorithm: CipherSettings.KDFAlgorithm?

    @Option(help: ArgumentHelp("The hash function of the pages' HMAC.", valueName: "name"))
    var hmacAlgorithm: CipherSettings.HMACAlgorithm?

    @OptionGroup var keychain: KeychainOptions

    @Flag(
        help:
            "The item holds 64 hexadecimal digits (96 with the salt). For items of other programs."
    )
    var rawKey = false

    /// The database that is named, and its key.
    ///
    /// - Throws: ``MigrationCLIError/noDatabasePath``; ``KeyCommandError/noItemNamed(missing:)``;
    ///   `CipherSettingsError` for a value out of range.
    func storedKey(in context: CommandContext) throws -> StoredKey {
        guard let path = try context.text(.dbPath, option: dbPath) else {
            throw MigrationCLIError.noDatabasePath
        }
        let service = try keychain.requiredService(in: context)
        let account = try keychain.account(in: context)
        let source = KeySource.keyStore(service: service, account: account)
        context.keySource.note(source)
        let form: DatabaseKey.Form = rawKey ? .rawKey : .passphrase
        return try StoredKey(
            path: path,
            keyStore: keychain.keyStore(in: context),
            service: service,
            account: account,
            cipher: cipher(),
            timeout: 0,
            read: { try KeyResolver.key(of: $0, named: source, form: form) }
        )
    }
}
