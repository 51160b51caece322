import ArgumentParser
import MigrationKitKeys
import MigrationKitSQLCipher

/// The options that name a database whose key is in the Secret Service.
struct StoredKeyDatabaseOptions: DatabaseNaming {
    @OptionGroup var file: DatabaseFileOptions
    @OptionGroup var keychain: KeychainOptions

    @Flag(
        help:
            "The item holds 64 hexadecimal digits (96 with the salt). For items of other programs."
    )
    var rawKey = false

    /// The database that is named, and its key.
    ///
    /// - Throws: ``MigrationCLIError/noDatabasePath``; ``CommandError/noItemNamed(missing:)``;
    ///   `CipherSettingsError` for a value out of range.
    func storedKey(in context: CommandContext) throws -> StoredKey {
        guard let path = try file.path(in: context) else {
            throw MigrationCLIError.noDatabasePath
        }
        let service = try keychain.requiredService(in: context)
        let account = try keychain.account(in: context)
        let source = KeySource.keyStore(service: service, account: account)
        context.keySource.note(source)
        let store = context.host.store
        let form = rawKey ? .rawKey : store?.keyForm ?? .passphrase
        return try StoredKey(
            path: path,
            keyStore: keychain.keyStore(in: context),
            service: service,
            account: account,
            cipher: file.cipher(in: context),
            timeout: 0,
            read: { try KeyResolver.key(of: $0, named: source, form: form) }
        )
    }
}
