import ArgumentParser
import MigrationKit
import MigrationKitKeys
import MigrationKitSQLCipher

/// The options that name a database and describe its encryption.
struct DatabaseFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The database (or MIGRATIONKIT_DB_PATH in the environment).",
            valueName: "path"
        ),
        completion: .file()
    )
    var dbPath: String?

    @Option(
        help: ArgumentHelp(
            "The file's SQLCipher version: 1, 2, 3 or 4; default: 4.",
            valueName: "version"
        )
    )
    var cipherCompatibility: Int?

    @Option(
        help: ArgumentHelp(
            "The encrypted file's page size, if it differs from that version's.",
            valueName: "bytes"
        )
    )
    var cipherPageSize: Int?

    @Option(
        help: ArgumentHelp(
            "The key derivation's iterations, if they differ from that version's.",
            valueName: "count"
        )
    )
    var kdfIterations: Int?

    @Option(help: ArgumentHelp("The key derivation's hash function.", valueName: "name"))
    var kdfAlgorithm: CipherSettings.KDFAlgorithm?

    @Option(
        help: ArgumentHelp(
            "The hash function of the pages' HMAC.",
            valueName: "name"
        )
    )
    var hmacAlgorithm: CipherSettings.HMACAlgorithm?

    @Option(
        help: ArgumentHelp(
            "How many of the file's first bytes are plaintext; default: 0, with --cipher-salt 32.",
            valueName: "bytes"
        )
    )
    var cipherPlaintextHeaderSize: Int?

    @Option(
        help: ArgumentHelp(
            "The salt of a file with a plaintext header: 32 hexadecimal digits.",
            valueName: "digits"
        )
    )
    var cipherSalt: CipherSalt?

    @OptionGroup var extensions: ExtensionOptions

    /// The path from the option, the environment or the settings file, or that of the host's own
    /// store; `nil` if none is given.
    func path(in context: CommandContext) throws -> String? {
        try context.value(\.dbPath, of: self) ?? context.host.store?.path
    }

    /// Whether an option says how the file is encrypted.
    private var namesCipher: Bool {
        cipherCompatibility != nil || cipherPageSize != nil || kdfIterations != nil
            || kdfAlgorithm != nil || hmacAlgorithm != nil || cipherPlaintextHeaderSize != nil
            || cipherSalt != nil
    }

    /// How the file is encrypted: by the options, the environment and the settings file or, without
    /// an option, as the host's own store.
    ///
    /// - Throws: `CipherSettingsError` for a value out of range; ``SettingsFileError``.
    func cipher(in context: CommandContext) throws -> CipherSettings {
        if !namesCipher, let store = context.host.store { return store.options.cipher }
        let headerSize = try context.value(\.cipherPlaintextHeaderSize, of: self)
        return try CipherSettings(
            compatibility: context.value(\.cipherCompatibility, of: self)
                ?? CipherSettings.current.compatibility,
            pageSize: context.value(\.cipherPageSize, of: self),
            kdfIterations: context.value(\.kdfIterations, of: self),
            kdfAlgorithm: context.value(\.kdfAlgorithm, of: self),
            hmacAlgorithm: context.value(\.hmacAlgorithm, of: self),
            plaintextHeaderSize: headerSize,
            // An option that says that there is no header overrides the salt of the settings.
            salt: cipherPlaintextHeaderSize == 0
                ? cipherSalt?.bytes : context.value(\.cipherSalt, of: self)?.bytes
        )
    }
}
