import ArgumentParser
import KeyStore
import MigrationKitSQLCipher

struct RekeyCommand<Migrations: MigrationsOptions>: ConversionCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rekey",
            _superCommandName: Migrations.programName,
            abstract: "Give an encrypted database another key.",
            usage: """
                \(Migrations.programName) rekey [<database>]
                  [--new-password-file <path>] [<options>]
                """,
            discussion: """
                The new key comes from an option of 'New key'. Without one, it is asked for twice. \
                A raw key can replace a passphrase, and the other way round. At every instant, one \
                of the two keys opens the whole file. Backups keep the old key. For a key in the \
                desktop's secret store, use 'key rotate'. A plaintext header and its salt stay, \
                unless an option gives others.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @OptionGroup var conversion: ConversionOptions
    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>

    @OptionGroup(title: "New key") var newHeader: NewHeaderOptions
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func validate() throws {
        try checkInput(newKey)
    }

    func run(in context: CommandContext) throws {
        let (path, key, cipher) = try namedDatabase(in: context)
        let source = try newKey.source(for: path, beside: database, in: context)
        let new = try read(newKey, from: source, in: context)
        let newCipher = try newHeader.header(newCipher(cipher), from: key, to: new)
        let note = newHeader.note(newCipher, from: key, to: new)
        try convert(path, in: context, deed: "Gave another key to", note: note) {
            .rekey(
                path,
                from: key,
                to: new,
                cipher: cipher,
                newCipher: newCipher,
                options: $0
            )
        }
    }
}

/// The options that give a rewritten database another header.
struct NewHeaderOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many of the new file's first bytes are plaintext; 0 for none.",
            valueName: "bytes"
        )
    )
    var newCipherPlaintextHeaderSize: Int?

    @Option(
        help: ArgumentHelp(
            "The salt of a new file with a plaintext header: 32 hexadecimal digits.",
            valueName: "digits"
        )
    )
    var newCipherSalt: CipherSalt?

    /// The settings with the new header. What isn't given stays.
    ///
    /// - Throws: `CipherSettingsError` for a size out of range, or if the salt is missing.
    func header(
        _ cipher: CipherSettings,
        from key: DatabaseKey,
        to newKey: DatabaseKey
    ) throws -> CipherSettings {
        let size =
            newCipherPlaintextHeaderSize
            ?? (newCipherSalt != nil && !cipher.hasPlaintextHeader
                ? CipherSettings.usualPlaintextHeaderSize : cipher.plaintextHeaderSize)
        var salt = newCipherSalt?.bytes
        if salt == nil, size > 0 {
            // The key may have contained the file's salt.
            let former = cipher.hasPlaintextHeader ? key.salt ?? cipher.salt : nil
            salt = newKey.salt == nil ? former : nil
        }
        let new = try CipherSettings(
            compatibility: cipher.compatibility,
            pageSize: cipher.pageSize,
            kdfIterations: cipher.kdfIterations,
            kdfAlgorithm: cipher.kdfAlgorithm,
            hmacAlgorithm: cipher.hmacAlgorithm,
            plaintextHeaderSize: size,
            salt: salt
        )
        if new.hasPlaintextHeader { _ = try new.newSalt(for: newKey) }
        return new
    }

    /// A note if the new file's salt was in the old key, and isn't in the new one.
    func note(
        _ cipher: CipherSettings,
        from key: DatabaseKey,
        to newKey: DatabaseKey
    ) -> ConversionNote? {
        guard cipher.hasPlaintextHeader, newCipherSalt == nil, key.salt != nil,
            newKey.salt == nil
        else { return nil }
        return ConversionNote(
            headline: "the new key doesn't contain the database's salt, as the old one did",
            explanation: """
                The salt is still the same. Keep it beside the key: every command needs it.
                """,
            command: cipher.options.shellCommand
        )
    }
}
