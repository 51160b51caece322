import ArgumentParser
import KeyStore
import MigrationKitSQLCipher

/// The options that name a database, and say how it is encrypted.
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

    @Option(
        help: ArgumentHelp(
            "The hash function of the pages' HMAC.",
            valueName: "name"
        )
    )
    var hmacAlgorithm: CipherSettings.HMACAlgorithm?

    /// How the file is encrypted.
    ///
    /// - Throws: `CipherSettingsError` for a value out of range.
    func cipher() throws -> CipherSettings {
        try CipherSettings(
            compatibility: cipherCompatibility ?? CipherSettings.current.compatibility,
            pageSize: cipherPageSize,
            kdfIterations: kdfIterations,
            kdfAlgorithm: kdfAlgorithm,
            hmacAlgorithm: hmacAlgorithm
        )
    }
}

/// The options that name a database and the source of its key.
struct KeyedDatabaseOptions: ParsableArguments {
    @OptionGroup var file: DatabaseFileOptions
    @OptionGroup var keychain: KeychainOptions
    @OptionGroup var secret: KeyOptions<DatabasesKey>

    var dbPath: String? { file.dbPath }

    /// Puts options and environment together.
    ///
    /// An option that names a source of the key wins over the environment, and that over the
    /// settings file. Two options are an error: which of two keys was meant is nothing to guess. In
    /// the environment the service manager's credential comes first, then the keychain, then the
    /// password variables. The file's account and collection are of use with its own service only.
    ///
    /// A host's own `openWriter` gets what was given, several sources as well: what it makes of them
    /// is its own business. ``MigrationCLIHost/openDatabase(_:)`` refuses several.
    ///
    /// - Parameters:
    ///   - asksForKey: Whether the key is asked for on a terminal where nothing names one.
    ///   - isForOpenWriter: Whether nothing but the host's `openWriter` gets the options.
    func resolved(
        in context: CommandContext,
        createsFile: Bool = false,
        isPlaintext: Bool = false,
        asksForKey: Bool = true,
        isForOpenWriter: Bool = false
    ) throws -> MigrationDatabaseOpenOptions {
        let isHosts =
            if case .runner = context.host.migrations { true } else { false }
        let options = secret.named + (keychain.keychainService == nil ? [] : ["--keychain-service"])
        // What a host gets has a place each for the password and for the keychain, and one for all
        // the others.
        let rivals =
            isHosts && isForOpenWriter
            ? options.filter { $0 != "--password" && $0 != "--keychain-service" } : options
        guard rivals.count <= 1 else { throw MigrationCLIError.severalKeySources(rivals) }
        if isPlaintext, let option = options.first ?? (secret.rawKey ? "--raw-key" : nil) {
            throw MigrationCLIError.keyForPlaintext(option: option)
        }

        let environment = context.environment
        let settings = try context.settings()
        let path = try context.value(\.dbPath, of: file)
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
            if service == nil, other == nil, asksForKey, context.canPrompt, !keychain.noPrompt {
                let isNew = createsFile && path.map { !EncryptedDatabase.hasContent($0) } ?? false
                other = KeyResolver.implicitSource(
                    promptFor: path.map { (isNew ? "the new database " : "") + $0.printable },
                    value: environment.secret
                )
            }
        }
        // A host of its own gets the password as it always has; ours needs no text of it.
        var password: String?
        if isHosts {
            for case .password(let taken) in named { password = taken.unwipableText }
            if password != nil { other = named.first { $0.option != "password" } }
        }
        let resolved = MigrationDatabaseOpenOptions(
            dbPath: path,
            password: password,
            keychainService: service,
            keychainAccount: try service == nil
                ? keychain.keychainAccount : keychain.account(in: context),
            // An implicit source is there for want of a service only.
            otherKeySource: options.isEmpty && service != nil ? nil : other,
            isRawKey: secret.rawKey,
            isPlaintext: isPlaintext,
            createsFile: createsFile,
            keychainCollection: try service == nil
                ? keychain.keychainCollection : keychain.collection(in: context),
            keychainTimeout: try keychain.timeout(in: context),
            allowsPrompt: !keychain.noPrompt,
            cipher: try file.cipher()
        )
        if !(isHosts && isForOpenWriter) { try resolved.checkKeySource() }
        return resolved
    }
}

/// The option of the commands that also work on a database without a key.
struct EncryptionOptions: ParsableArguments {
    @Flag(help: "The database is not encrypted.")
    var noEncryption = false
}

extension CipherSettings.KDFAlgorithm: ExpressibleByArgument {}
extension CipherSettings.HMACAlgorithm: ExpressibleByArgument {}

extension KeySource {
    fileprivate var isCredential: Bool {
        if case .credentialsFile = self { true } else { false }
    }
}

/// Throws if an option that names a file names none.
func checkNotEmpty(_ path: String?, _ option: String) throws {
    if path?.isEmpty == true { throw ValidationError("The path of \(option) is empty.") }
}
