import ArgumentParser
import MigrationKit
import MigrationKitKeys
import MigrationKitSQLCipher

/// The options that name a database and its key source.
struct KeyedDatabaseOptions: ParsableArguments {
    @OptionGroup var file: DatabaseFileOptions
    @OptionGroup var keychain: KeychainOptions
    @OptionGroup var secret: KeyOptions<DatabasesKey>

    @Flag(
        help: "Search for the file's settings, those of other programs included. May take seconds."
    )
    var findSettings = false

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
    ///   - purpose: What the database is opened for.
    ///   - isPlaintext: Whether an option says that the database isn't encrypted.
    func resolved(
        in context: CommandContext,
        for purpose: Purpose,
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
                for: purpose,
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
                let isNew =
                    purpose.createsFile && path.map { !EncryptedDatabase.hasContent($0) } ?? false
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
            createsFile: purpose.createsFile,
            keychainCollection: try service == nil
                ? keychain.keychainCollection : keychain.collection(in: context),
            keychainTimeout: try keychain.timeout(in: context),
            keychainQuestionTimeout: try keychain.questionTimeout(in: context),
            allowsPrompt: !keychain.noPrompt,
            cipher: try file.cipher(in: context)
        )
        resolved.purpose = purpose
        resolved.acceptsDoubleQuotedStrings = try context.acceptsDoubleQuotedStrings
        guard !isHosts else { return resolved }
        _ = try resolved.onlyKeySource()
        return findSettings ? try resolved.findingSettings(in: context) : resolved
    }
}
