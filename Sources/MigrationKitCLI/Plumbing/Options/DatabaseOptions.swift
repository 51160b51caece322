import ArgumentParser
import Foundation
import KeyStore
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
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
    ///   - asksForKey: Whether to ask for the key on a terminal if no source is named.
    ///   - isForOpenWriter: Whether only the host's `openWriter` receives the options.
    func resolved(
        in context: CommandContext,
        createsFile: Bool = false,
        isPlaintext: Bool = false,
        asksForKey: Bool = true,
        isForOpenWriter: Bool = false
    ) throws -> MigrationDatabaseOpenOptions {
        let isHosts = context.host.opensItself
        let options = secret.named + (keychain.keychainService == nil ? [] : ["--keychain-service"])
        // A host receives the password and the keychain separately, and one value for all other
        // sources.
        let rivals =
            isHosts && isForOpenWriter
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
            if service == nil, other == nil, asksForKey, context.canPrompt, !keychain.noPrompt {
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
        let resolved = MigrationDatabaseOpenOptions(
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
        if !(isHosts && isForOpenWriter) { try resolved.checkKeySource() }
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

// MARK: - Store Naming Options

/// What the stores of a fleet are called.
struct StoreNamingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder from which each database's path is its name, whatever the pattern is.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var nameFrom: String?

    func validate() throws {
        try checkNotEmpty(nameFrom, "--name-from")
    }
}

// MARK: - Lock Timeout Options

/// How long a command waits for others who use the database.
struct LockTimeoutOptions: ParsableArguments {
    @Option(
        name: .customLong("lock-timeout"),
        // So that a negative number is parsed as the value.
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to wait for other processes that use the database; default: 30.",
            valueName: "seconds"
        )
    )
    var givenLockTimeout: Double?

    static let defaultLockTimeout = 30.0

    func validate() throws {
        // Capped at 24 h to avoid overflow.
        guard givenLockTimeout.map({ $0 >= 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--lock-timeout' must be at least 0 and at most 86400 seconds."
            )
        }
    }

    /// How long to wait, in seconds, by the option or the settings file.
    func lockTimeout(in context: CommandContext) throws -> Double {
        try context.value(\.givenLockTimeout, of: self) ?? Self.defaultLockTimeout
    }
}

/// The options of every command that changes the migrations of a database.
struct RunOptions: ParsableArguments {
    @Flag(help: "Run everything in one transaction.")
    var allOrNothing = false

    @Flag(help: "Go on although rows violate foreign keys already; none may be added.")
    var allowViolations = false

    @OptionGroup var waiting: LockTimeoutOptions

    /// How long to wait, in seconds, by the option or the settings file.
    func lockTimeout(in context: CommandContext) throws -> Double {
        try waiting.lockTimeout(in: context)
    }

    /// The options for the runner.
    func options(in context: CommandContext) throws -> MigrationOptions {
        var options = try MigrationOptions(
            transaction: allOrNothing ? .allOrNothing : .perStep,
            lockTimeout: lockTimeout(in: context)
        )
        options.allowsViolations = allowViolations
        // Who names a limit at the command line means it.
        options.waitsForProgress = false
        return options
    }
}

// MARK: - Range Options

/// The range of pending migrations for a forward command.
struct RangeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The last migration to apply; the beginning of its name is enough.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var to: String?

    @Option(help: ArgumentHelp("How many to apply at most.", valueName: "number"))
    var steps: Int?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            """
            Apply pending migrations that come before an applied one. With 'no', refuse them, even \
            if the settings allow them; default: refuse.
            """
        )
    )
    var allowOutOfOrder: Bool?

    func validate() throws {
        guard to == nil || steps == nil else {
            throw ValidationError("--to and --steps both set where to end. Use only one.")
        }
    }

    /// The last migration to apply, if one is named.
    func target(in runner: GRDBMigrationRunner) throws -> String? {
        if let steps, steps < 0 {
            throw MigrationKitError.stepCountMustBeNonNegative(steps)
        }
        return try to.map {
            try runner.identifier($0, else: MigrationKitError.unknownMigrationTarget)
        }
    }
}

// MARK: - Migrations Options

/// The source of a command's steps: a folder, with options, or a host's steps, without options.
protocol MigrationsOptions: ParsableArguments {
    /// The program's name in help texts.
    static var programName: String { get }

    /// What the program is, in one line.
    static var abstract: String { get }

    /// Whether they are files in a folder, to which new ones can be added.
    static var areFiles: Bool { get }

    /// The settings file that is named.
    var config: String? { get }

    /// The given options, for a command line that uses the same migrations.
    var given: [(option: String, value: String)] { get }

    /// Takes a plain argument for the folder.
    ///
    /// - Returns: Whether there can be one, and none was named.
    mutating func use(folder: String) -> Bool

    /// Loads the host's steps, or reads the folder. Afterwards the settings file is known.
    ///
    /// - Parameter ofStranger: Whether the settings and the files may be those of a change that is
    ///   checked. Nothing outside of the repository is read then that the user hasn't named.
    func load(
        from host: MigrationCLIHost,
        context: CommandContext,
        ofStranger: Bool
    ) throws -> LoadedMigrations
}

extension MigrationsOptions {
    func load(from host: MigrationCLIHost, context: CommandContext) throws -> LoadedMigrations {
        try load(from: host, context: context, ofStranger: false)
    }
}

/// The steps, ready to run.
struct LoadedMigrations {
    let runner: GRDBMigrationRunner
    /// Their folder, if there is one.
    var folder: MigrationFolder?

    /// The runner of the steps that can run.
    func runnerWithoutDrafts() throws -> GRDBMigrationRunner {
        guard let folder, !folder.drafts.isEmpty else { return runner }
        let drafts = Set(folder.drafts)
        return try GRDBMigrationRunner(
            steps: folder.steps.filter { !drafts.contains($0.identifier) },
            enforceLexicographicOrder: false
        )
    }
}

/// The steps are those of the host.
struct HostMigrations: MigrationsOptions {
    /// The name that the host gives itself, while its command runs.
    @TaskLocal static var commandName: String?

    static var programName: String {
        if let commandName { return commandName }
        return URL(fileURLWithPath: CommandLine.arguments.first ?? "migrationkit").lastPathComponent
    }
    static let abstract = "Migrates this program's database."
    static let areFiles = false

    @Option(help: .settingsFile)
    var config: String?

    var given: [(option: String, value: String)] { config.map { [("--config", $0)] } ?? [] }

    mutating func use(folder: String) -> Bool { false }

    func load(
        from host: MigrationCLIHost,
        context: CommandContext,
        ofStranger: Bool
    ) throws -> LoadedMigrations {
        guard case .runner(let runner) = host.migrations else {
            return try FolderMigrations()
                .load(from: host, context: context, ofStranger: ofStranger)
        }
        context.settingsSource.use(config)
        return LoadedMigrations(runner: runner)
    }
}

/// The steps are SQL files in a folder.
struct FolderMigrations: MigrationsOptions {
    static let programName = "migrationkit-cli"
    static let defaultFolder = "migrations"
    static let abstract =
        "Migrates encrypted SQLite databases. A database is never left half migrated."
    static let areFiles = true

    @Option(
        help: ArgumentHelp(
            "The folder of SQL files (or MIGRATIONKIT_MIGRATIONS; default: migrations).",
            valueName: "folder"
        ),
        completion: .directory
    )
    var migrations: String?

    @Option(help: .settingsFile)
    var config: String?

    func load(
        from host: MigrationCLIHost,
        context: CommandContext,
        ofStranger: Bool
    ) throws -> LoadedMigrations {
        let path = try path(in: context)
        if ofStranger, migrations == nil { try context.checkPlace(ofFoundMigrations: path) }
        let folder =
            try ofStranger ? MigrationFolder(ofStranger: path) : MigrationFolder(path: path)
        // The folder has already sorted the steps by number.
        return LoadedMigrations(
            runner: try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false),
            folder: folder
        )
    }

    mutating func use(folder: String) -> Bool {
        guard migrations == nil else { return false }
        migrations = folder
        return true
    }

    var given: [(option: String, value: String)] {
        [("--migrations", migrations), ("--config", config)].compactMap { option, value in
            value.map { (option, $0) }
        }
    }

    /// The folder that is named by the option, the environment or the settings file.
    func path(in context: CommandContext) throws -> String {
        context.settingsSource.use(config)
        return try context.value(\.migrations, of: self) ?? context.defaultMigrations()
    }
}
