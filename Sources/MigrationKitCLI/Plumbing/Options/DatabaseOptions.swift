import ArgumentParser
import MigrationKitKeys
import MigrationKit
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

    @Option(
        name: .customLong("extension"),
        help: ArgumentHelp(
            "Load an extension of SQLite, which has functions or tokenizers of the schema.",
            valueName: "path"
        ),
        completion: .file(extensions: ["so"])
    )
    var extensions: [String] = []

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

/// The options that name a database and its key source.
struct KeyedDatabaseOptions: ParsableArguments {
    @OptionGroup var file: DatabaseFileOptions
    @OptionGroup var keychain: KeychainOptions
    @OptionGroup var secret: KeyOptions<DatabasesKey>

    var dbPath: String? { file.dbPath }

    /// Combines options, environment and settings file.
    ///
    /// An option that names a key source overrides the environment, which overrides the settings
    /// file. Two options are an error: guessing which key was meant would be wrong. In the
    /// environment, the service manager's credential comes first, then the keychain, then the
    /// password variables. The settings file's account and collection apply only to its own
    /// service.
    ///
    /// A host's own `openWriter` receives everything, even several sources, and decides what to do.
    /// ``MigrationCLIHost/openDatabase(_:)`` refuses several.
    ///
    /// - Parameters:
    ///   - createsFile: Whether a missing file is made.
    ///   - isPlaintext: Whether an option says that the database isn't encrypted.
    func resolved(
        in context: CommandContext,
        createsFile: Bool = false,
        isPlaintext: Bool = false
    ) throws -> MigrationDatabaseOpenOptions {
        context.warn(about: secret)
        let isHosts = context.host.opensItself
        let options = secret.named + (keychain.keychainService == nil ? [] : ["--keychain-service"])
        // A host receives the password and the keychain separately, and one value for all other
        // sources.
        let rivals =
            isHosts
            ? options.filter { $0 != "--password" && $0 != "--keychain-service" } : options
        guard rivals.count <= 1 else { throw MigrationCLIError.severalKeySources(rivals) }
        if isPlaintext, let option = options.first ?? (secret.rawKey ? "--raw-key" : nil) {
            throw MigrationCLIError.keyForPlaintext(option: option)
        }
        if let store = context.host.store {
            return try resolved(
                for: store,
                named: options,
                in: context,
                createsFile: createsFile,
                isPlaintext: isPlaintext
            )
        }

        let environment = context.environment
        let settings = try context.settings()
        let path = try file.path(in: context)
        var service = keychain.keychainService
        let named = secret.sources(passwordArgument: context.passwordArgument)
        var other = named.first
        if options.isEmpty, !isPlaintext {
            other = KeyResolver.implicitSource(promptFor: nil, value: environment.secret)
            let isItemNamed =
                keychain.keychainAccount != nil || keychain.keychainCollection != nil
            if isItemNamed || !(other?.isCredential ?? false) {
                service = environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_SERVICE")
            }
            if service == nil, other == nil || isItemNamed {
                service = settings?.value(.keychainService)
                other = other ?? settings?.value(.passwordFile).map(KeySource.file)
            }
            if service == nil, other == nil, context.canPrompt, !keychain.noPrompt {
                let isNew = createsFile && path.map { !EncryptedDatabase.hasContent($0) } ?? false
                other = KeyResolver.implicitSource(
                    promptFor: path.map { (isNew ? "the new database " : "") + $0.printable },
                    value: environment.secret
                )
            }
        }
        // A host receives the password as text, as before. Our own code needs none.
        var password: String?
        if isHosts {
            for case .password(let taken) in named { password = taken.unwipableText }
            if password != nil { other = named.first { $0.option != "password" } }
        }
        var resolved = MigrationDatabaseOpenOptions(
            dbPath: path,
            password: password,
            keychainService: service,
            keychainAccount: try service == nil
                ? keychain.keychainAccount : keychain.account(in: context),
            // An implicit source applies only if no service is named.
            otherKeySource: options.isEmpty && service != nil ? nil : other,
            isRawKey: secret.rawKey,
            isPlaintext: isPlaintext,
            createsFile: createsFile,
            keychainCollection: try service == nil
                ? keychain.keychainCollection : keychain.collection(in: context),
            keychainTimeout: try keychain.timeout(in: context),
            allowsPrompt: !keychain.noPrompt,
            cipher: try file.cipher(in: context)
        )
        resolved.acceptsDoubleQuotedStrings = try context.acceptsDoubleQuotedStrings
        if !isHosts { _ = try resolved.onlyKeySource() }
        return resolved
    }
}

/// The option of commands that also work on a plaintext database.
struct EncryptionOptions: ParsableArguments {
    @Flag(help: "The database is not encrypted.")
    var noEncryption = false
}

/// A salt as hexadecimal digits.
struct CipherSalt: RawRepresentable, ExpressibleByArgument {
    let rawValue: String

    init?(rawValue: String) {
        guard rawValue.utf8.count == 32, rawValue.allSatisfy({ $0.isASCII && $0.isHexDigit })
        else { return nil }
        self.rawValue = rawValue
    }

    var bytes: [UInt8] {
        let digits = rawValue.compactMap(\.hexDigitValue).map { UInt8($0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

// ArgumentParser would take the names from a key path, which costs every command some time.

extension CipherSettings.KDFAlgorithm: ExpressibleByArgument {
    /// The names on the command line.
    public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
}

extension CipherSettings.HMACAlgorithm: ExpressibleByArgument {
    /// The names on the command line.
    public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
}

extension KeySource {
    fileprivate var isCredential: Bool {
        if case .credentialsFile = self { true } else { false }
    }
}

/// Throws if the value of an option for a file is empty.
func checkNotEmpty(_ path: String?, _ option: String) throws {
    if path?.isEmpty == true { throw ValidationError("The path of \(option) is empty.") }
}
