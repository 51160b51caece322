import ArgumentParser
import MigrationKitKeys
import SecretService

/// The options that name the source of a key: of the database's, or of a new one.
struct KeyOptions<Role: KeyRole>: ParsableArguments {
    @Option(
        name: .customLong(Role.prefix + "password-file"),
        help: ArgumentHelp(
            "The file with the \(Role.key)\(Role.detail(", readable only by its owner (chmod 600)")); '-' is standard input.",
            valueName: "path"
        ),
        completion: .file()
    )
    var passwordFile: String?

    @Option(
        name: .customLong(Role.prefix + "password-fd"),
        help: ArgumentHelp(
            "The open descriptor that gives the \(Role.key).",
            valueName: "number"
        )
    )
    var passwordFd: Int32?

    @Option(
        name: .customLong(Role.prefix + "password-command"),
        help: ArgumentHelp(
            "The command that prints the \(Role.key).\(Role.detail(" It is not run by a shell."))",
            valueName: "command"
        )
    )
    var passwordCommand: String?

    @OptionGroup var own: Role

    @Flag(
        name: .customLong(Role.prefix + "raw-key"),
        help: ArgumentHelp(
            "The \(Role.key) is 64 hexadecimal digits (96 with the salt), not a passphrase."
        )
    )
    var rawKey = false

    /// The sources that options name.
    var sources: [KeySource] {
        [
            own.source,
            passwordFile.map { $0 == "-" ? .standardInput : .file(path: $0) },
            passwordFd.map(KeySource.fileDescriptor),
            passwordCommand.map(KeySource.command),
        ].compactMap { $0 }
    }

    func validate() throws {
        if let passwordFd, passwordFd < 0 {
            throw ValidationError(
                "The value for '--\(Role.prefix)password-fd' must not be negative."
            )
        }
    }
}

extension KeySource {
    /// The option that names such a source, without the prefix of a key's role; `nil` if none does.
    var option: String? {
        switch self {
        case .password: "password"
        case .file, .standardInput: "password-file"
        case .fileDescriptor: "password-fd"
        case .command: "password-command"
        case .keyStore: "keychain-service"
        case .environment, .credentialsFile, .prompt: nil
        }
    }
}

extension KeyOptions {
    /// The options that name a source.
    var named: [String] { sources.compactMap(\.option).map { "--\(Role.prefix)\($0)" } }

    /// Whether an option names a source.
    var isNamed: Bool { !sources.isEmpty }

    /// The source that an option names; `nil` if none does.
    ///
    /// - Throws: ``MigrationCLIError/severalKeySources(_:)``.
    func source() throws -> KeySource? {
        guard sources.count <= 1 else { throw MigrationCLIError.severalKeySources(named) }
        return sources.first
    }

    /// What the key's bytes are.
    var form: DatabaseKey.Form { rawKey ? .rawKey : .passphrase }
}

// MARK: - Roles

/// What a command needs a key for, with the options that this key alone has.
protocol KeyRole: ParsableArguments {
    /// What the names of the key's options begin with.
    static var prefix: String { get }

    /// What help texts call the key.
    static var key: String { get }

    /// What the help says of the database's key alone.
    static func detail(_ text: String) -> String

    /// The source that its own options name; `nil` if they name none.
    var source: KeySource? { get }
}

/// The key that opens the database.
struct DatabasesKey: KeyRole {
    static let prefix = ""
    static let key = "key"
    static func detail(_ text: String) -> String { text }

    @Option(
        help: ArgumentHelp(
            "The key itself. Other users may see it, and the shell's history keeps it: prefer another option.",
            valueName: "passphrase"
        )
    )
    var password: String?

    var source: KeySource? { password.map { .password(Secret(utf8: $0)) } }
}

/// A key beside the database's, which may be in the desktop's secret store, too.
struct OtherKey<Name: OtherKeyName>: KeyRole {
    static var prefix: String { "\(Name.word)-" }
    static var key: String { "\(Name.word) key" }
    static func detail(_ text: String) -> String { "" }

    @Option(
        name: .customLong(Self.prefix + "keychain-service"),
        help: ArgumentHelp(
            "The \(Self.key)'s service in the desktop's secret store.",
            valueName: "service"
        ),
        completion: .keychainServices
    )
    var keychainService: String?

    @Option(
        name: .customLong(Self.prefix + "keychain-account"),
        help: ArgumentHelp("The account under that service.", valueName: "account")
    )
    var keychainAccount: String?

    var source: KeySource? {
        keychainService.map { .keyStore(service: $0, account: keychainAccount) }
    }

    func validate() throws {
        if keychainAccount != nil, keychainService == nil {
            throw ValidationError(
                "--\(Self.prefix)keychain-account needs --\(Self.prefix)keychain-service."
            )
        }
    }
}

/// What a key beside the database's is called.
protocol OtherKeyName {
    static var word: String { get }
}

enum New: OtherKeyName {
    static let word = "new"
}

enum Second: OtherKeyName {
    static let word = "second"
}

/// The key that a new file gets.
typealias NewKey = OtherKey<New>

/// Another key that some pages of a damaged file may have.
typealias SecondKey = OtherKey<Second>

// MARK: - The Database's Key

extension KeyOptions<DatabasesKey> {
    /// The text of `--password`.
    var password: String? { own.password }

    /// The sources that options name.
    ///
    /// - Parameter passwordArgument: The value of `--password`, if it was taken out of the process's
    ///   arguments before they became text.
    func sources(passwordArgument: Secret?) -> [KeySource] {
        sources.map { source in
            guard let passwordArgument, case .password = source else { return source }
            return .password(passwordArgument)
        }
    }
}

// MARK: - The New Key

extension KeyOptions<NewKey> {
    /// The source that an option names or, on a terminal, a question.
    ///
    /// - Throws: ``MigrationCLIError/severalKeySources(_:)``; ``MigrationCLIError/noNewKey``.
    func source(
        for path: String,
        beside database: KeyedDatabaseOptions,
        in context: CommandContext
    ) throws -> KeySource {
        if let source = try source() { return source }
        guard context.canAsk(noPrompt: database.keychain.noPrompt) else {
            throw MigrationCLIError.noNewKey
        }
        return .prompt("New passphrase for \(path.printable): ")
    }

    /// Checks the options of a command that needs no new key.
    func checkOptional(isPlaintext: Bool) throws {
        if rawKey, !isNamed {
            throw ValidationError("--new-raw-key needs a source of the new key.")
        }
        if isNamed, isPlaintext {
            throw ValidationError(
                "With --no-encryption the copy is not encrypted. Leave out the new key."
            )
        }
    }
}

// MARK: - Keychain Options

/// The options that name an item of the Secret Service, and say how to ask for it.
struct KeychainOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The key's service in the desktop's secret store (or MIGRATIONKIT_KEYCHAIN_SERVICE).",
            valueName: "service"
        ),
        completion: .keychainServices
    )
    var keychainService: String?

    @Option(
        help: ArgumentHelp(
            "The account under that service (or MIGRATIONKIT_KEYCHAIN_ACCOUNT).",
            valueName: "account"
        ),
        completion: .keychainAccounts
    )
    var keychainAccount: String?

    @Option(
        help: ArgumentHelp(
            "The collection to search and store in; default: search all, store in the default one.",
            valueName: "name"
        )
    )
    var keychainCollection: String?

    @Option(
        help: ArgumentHelp(
            "How long to wait for the secret store, and for the user to unlock it; default: 30, and any time for the user.",
            valueName: "seconds"
        )
    )
    var keychainTimeout: Double?

    @Flag(help: "Never ask for a passphrase or for unlocking the secret store.")
    var noPrompt = false

    func validate() throws {
        // Capped at 24 h to avoid overflow.
        guard keychainTimeout.map({ $0 > 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--keychain-timeout' must be above 0 and at most 86400 seconds."
            )
        }
    }

    static let defaultTimeout = 30.0

    /// The time limit of each call.
    func timeout(in context: CommandContext) throws -> Duration {
        try questionTimeout(in: context) ?? .seconds(Self.defaultTimeout)
    }

    /// The time limit of each question to the user; `nil` for any time.
    func questionTimeout(in context: CommandContext) throws -> Duration? {
        try context.value(\.keychainTimeout, of: self).map { .seconds($0) }
    }

    /// The key store.
    ///
    /// - Parameter ofService: Whether this is for the item of the named service. The settings
    ///   file's collection applies only to that.
    func keyStore(
        in context: CommandContext,
        ofService: Bool = true
    ) throws -> any KeyStore {
        if let own = ownKeyStore(in: context, ofService: ofService) { return own }
        return DesktopKeyStore.current(
            collection: ofService ? try collection(in: context) : keychainCollection,
            timeout: try timeout(in: context),
            questionTimeout: try questionTimeout(in: context),
            allowsPrompt: !noPrompt
        )
    }

    /// The service that is named by the option, the environment, or the settings file.
    func service(in context: CommandContext) throws -> String? {
        try context.value(\.keychainService, of: self) ?? context.host.store?.service
    }

    /// The account from the option, the environment, or the settings file if the service is the
    /// file's own.
    func account(in context: CommandContext) throws -> String? {
        if let store = context.host.store {
            return keychainAccount ?? (keychainService == nil ? store.account : nil)
        }
        return try keychainAccount ?? context.environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_ACCOUNT")
            ?? fileBesideService(in: context)?.value(.keychainAccount)
    }

    /// The collection from the option, or the settings file if the service is the file's own.
    func collection(in context: CommandContext) throws -> String? {
        if let store = context.host.store {
            return keychainCollection ?? (store.keyStore as? SecretServiceKeyStore)?.collection
        }
        return try keychainCollection ?? fileBesideService(in: context)?.value(.keychainCollection)
    }

    /// The settings file, if the service is its own: its other settings apply to no other service.
    private func fileBesideService(in context: CommandContext) throws -> SettingsFile? {
        guard keychainService == nil,
            context.environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_SERVICE") == nil
        else { return nil }
        return try context.settings()
    }

    /// The service and account of a command's item. The service must be named.
    ///
    /// - Throws: ``CommandError/noItemNamed(missing:)``.
    func requiredService(in context: CommandContext) throws -> String {
        guard let service = try service(in: context) else {
            throw CommandError.noItemNamed(missing: ["--keychain-service"])
        }
        return service
    }

    /// The service and account of an item to store. Both must be named.
    ///
    /// - Throws: ``CommandError/noItemNamed(missing:)``.
    func requiredItem(
        in context: CommandContext
    ) throws -> (service: String, account: String) {
        let (service, account) = try (service(in: context), account(in: context))
        guard let service, let account else {
            throw CommandError.noItemNamed(
                missing: [
                    service == nil ? "--keychain-service" : nil,
                    account == nil ? "--keychain-account" : nil,
                ].compactMap { $0 }
            )
        }
        return (service, account)
    }
}
