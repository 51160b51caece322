import ArgumentParser
import MigrationKitCommon
import MigrationKitSQL
import MigrationKitSQLCipher

/// The settings that a settings file can have.
enum SettingsKey: String, CaseIterable, Sendable {
    case dbPath = "db-path"
    case migrations
    case checks
    case tests
    case namePattern = "name-pattern"
    case keychainService = "keychain-service"
    case keychainAccount = "keychain-account"
    case keychainCollection = "keychain-collection"
    case keychainTimeout = "keychain-timeout"
    case passwordFile = "password-file"
    case cipherCompatibility = "cipher-compatibility"
    case cipherPageSize = "cipher-page-size"
    case kdfIterations = "kdf-iterations"
    case kdfAlgorithm = "kdf-algorithm"
    case hmacAlgorithm = "hmac-algorithm"
    case cipherPlaintextHeaderSize = "cipher-plaintext-header-size"
    case cipherSalt = "cipher-salt"
    case lockTimeout = "lock-timeout"
    case requireIndex = "require-index"
    case ignoreTable = "ignore-table"
    case allowOutOfOrder = "allow-out-of-order"
    case doubleQuotedStrings = "double-quoted-strings"
    case appVersion = "app-version"
    case nameFrom = "name-from"
    case lint

    /// The option with the same meaning.
    var option: String { "--\(rawValue)" }

    /// The environment variable with the same meaning, if there is one.
    var variable: String? { setting.variable?.name }

    /// Its meaning and its default.
    var meaning: String {
        guard let standard = setting.standard else { return setting.meaning }
        return switch standard {
        case .text(let text): "\(setting.meaning); default: '\(text)'"
        case .seconds(let seconds): "\(setting.meaning); default: \(seconds.plainText)"
        case .number(let number): "\(setting.meaning); default: \(number)"
        case .flag(let flag): "\(setting.meaning); default: \(flag)"
        case .indexes, .names, .levels: setting.meaning
        }
    }

    /// Whether it names the database or its key, or describes its encryption.
    var isOfDatabase: Bool {
        switch self {
        case .dbPath, .keychainService, .keychainAccount, .keychainCollection, .passwordFile,
            .cipherCompatibility, .cipherPageSize, .kdfIterations, .kdfAlgorithm, .hmacAlgorithm,
            .cipherPlaintextHeaderSize, .cipherSalt:
            true
        default: false
        }
    }

    /// Whether it is about a folder of SQL files, which a program with its own steps doesn't have.
    var isOfFolder: Bool {
        switch self {
        case .migrations, .checks, .tests, .namePattern, .doubleQuotedStrings, .appVersion: true
        default: false
        }
    }

    /// All environment variables that the tool knows.
    static let variables =
        allCases.compactMap(\.variable) + ["MIGRATIONKIT_CONFIG", "MIGRATIONKIT_PASSWORD"]
        + [LimitedProcess.secondsVariable, LimitedProcess.memoryVariable]
}

/// All that the tool knows of a setting. The options, the settings file, the environment,
/// `--show-settings` and the manual page go by this.
struct Setting {
    enum Kind {
        case path, text, indexes, names, flag, levels, salt, namePattern
        case number(ClosedRange<Int>)
        case choice([String])
        /// Capped at 24 h to avoid overflow.
        case seconds(allowsZero: Bool)
    }

    let kind: Kind
    /// One sentence without its full stop.
    let meaning: String
    var variable: (name: String, meaning: String)?
    /// The default.
    var standard: SettingsFile.Value?
    /// The option that sets the same, in its group.
    var option: AnyKeyPath?
    /// Whether a value is used: of several key sources, only one is.
    var isUsed: (_ text: String, MigrationDatabaseOpenOptions) -> Bool = { _, _ in true }
}

extension SettingsKey {
    var setting: Setting {
        switch self {
        case .dbPath:
            Setting(
                kind: .path,
                meaning: "The database",
                variable: ("MIGRATIONKIT_DB_PATH", "The database, if --db-path is not given."),
                option: \DatabaseFileOptions.dbPath
            )
        case .migrations:
            Setting(
                kind: .path,
                meaning: "The folder of SQL files",
                variable: (
                    "MIGRATIONKIT_MIGRATIONS",
                    "The folder of SQL files, if --migrations is not given."
                ),
                standard: .text(MigrationsOptions.defaultFolder),
                option: \MigrationsOptions.migrations
            )
        case .checks:
            Setting(
                kind: .path,
                meaning: "The folder of SQL checks; default: 'checks' beside the migrations",
                variable: (
                    "MIGRATIONKIT_CHECKS", "The folder of SQL checks, if --checks is not given."
                ),
                option: \MigrationsOptions.checks
            )
        case .tests:
            Setting(
                kind: .path,
                meaning: "The folder of SQL tests; default: 'tests' beside the migrations",
                variable: (
                    "MIGRATIONKIT_TESTS", "The folder of SQL tests, if --tests is not given."
                ),
                option: \TestsOptions.tests
            )
        case .namePattern:
            Setting(
                kind: .namePattern,
                meaning: "The names of the SQL files, if they are no tool's"
            )
        case .keychainService:
            Setting(
                kind: .text,
                meaning: "The service of the key in the secret store",
                variable: (
                    "MIGRATIONKIT_KEYCHAIN_SERVICE",
                    "The service of the key in the secret store, if no option gives a key."
                ),
                option: \KeychainOptions.keychainService,
                isUsed: { $1.keychainService == $0 }
            )
        case .keychainAccount:
            Setting(
                kind: .text,
                meaning: "The account under that service",
                variable: (
                    "MIGRATIONKIT_KEYCHAIN_ACCOUNT",
                    "The account of the key, if --keychain-account is not given."
                ),
                option: \KeychainOptions.keychainAccount,
                isUsed: { $1.keychainAccount == $0 }
            )
        case .keychainCollection:
            Setting(
                kind: .text,
                meaning: "The collection to search and store in; default: all",
                option: \KeychainOptions.keychainCollection,
                isUsed: { $1.keychainCollection == $0 }
            )
        case .keychainTimeout:
            Setting(
                kind: .seconds(allowsZero: false),
                meaning: "How long to wait for the secret store, and for the user to unlock it",
                standard: .seconds(KeychainOptions.defaultTimeout),
                option: \KeychainOptions.keychainTimeout
            )
        case .passwordFile:
            Setting(
                kind: .path,
                meaning: "The file with the key; not together with 'keychain-service'",
                variable: (
                    "MIGRATIONKIT_PASSWORD_FILE",
                    "The file with the key, readable only by its owner."
                ),
                option: \KeyOptions<DatabasesKey>.passwordFile,
                isUsed: { $1.keySource == ($0 == "-" ? .standardInput : .file(path: $0)) }
            )
        case .cipherCompatibility:
            Setting(
                kind: .number(1...4),
                meaning: "The file's SQLCipher version",
                variable: (
                    "MIGRATIONKIT_CIPHER_COMPATIBILITY",
                    "The file's SQLCipher version, if --cipher-compatibility is not given."
                ),
                standard: .number(CipherSettings.current.compatibility),
                option: \DatabaseFileOptions.cipherCompatibility
            )
        case .cipherPageSize:
            Setting(
                kind: .number(1024...65536),
                meaning: "The encrypted file's page size; default: that version's",
                variable: (
                    "MIGRATIONKIT_CIPHER_PAGE_SIZE",
                    "The file's page size, if --cipher-page-size is not given."
                ),
                option: \DatabaseFileOptions.cipherPageSize
            )
        case .kdfIterations:
            Setting(
                kind: .number(1...Int(Int32.max)),
                meaning: "The key derivation's iterations; default: that version's",
                variable: (
                    "MIGRATIONKIT_KDF_ITERATIONS",
                    "The key derivation's iterations, if --kdf-iterations is not given."
                ),
                option: \DatabaseFileOptions.kdfIterations
            )
        case .kdfAlgorithm:
            Setting(
                kind: .choice(CipherSettings.KDFAlgorithm.allValueStrings),
                meaning: "The key derivation's hash function; default: that version's",
                variable: (
                    "MIGRATIONKIT_KDF_ALGORITHM",
                    "The key derivation's hash function, if --kdf-algorithm is not given."
                ),
                option: \DatabaseFileOptions.kdfAlgorithm
            )
        case .hmacAlgorithm:
            Setting(
                kind: .choice(CipherSettings.HMACAlgorithm.allValueStrings),
                meaning: "The hash function of the pages' HMAC; default: that version's",
                variable: (
                    "MIGRATIONKIT_HMAC_ALGORITHM",
                    "The hash function of the pages' HMAC, if --hmac-algorithm is not given."
                ),
                option: \DatabaseFileOptions.hmacAlgorithm
            )
        case .cipherPlaintextHeaderSize:
            Setting(
                kind: .number(0...96),
                meaning: "The plaintext header's size; default: 0, with 'cipher-salt' 32",
                variable: (
                    "MIGRATIONKIT_CIPHER_PLAINTEXT_HEADER_SIZE",
                    "The size of the file's plaintext header, if no option gives it."
                ),
                option: \DatabaseFileOptions.cipherPlaintextHeaderSize
            )
        case .cipherSalt:
            Setting(
                kind: .salt,
                meaning: "The salt of a file with a plaintext header",
                variable: (
                    "MIGRATIONKIT_CIPHER_SALT",
                    "The salt of a file with a plaintext header, if --cipher-salt is not given."
                ),
                option: \DatabaseFileOptions.cipherSalt
            )
        case .lockTimeout:
            Setting(
                kind: .seconds(allowsZero: true),
                meaning: "How long to wait for other processes that use the database",
                standard: .seconds(LockTimeoutOptions.defaultLockTimeout),
                option: \LockTimeoutOptions.givenLockTimeout
            )
        case .requireIndex:
            Setting(kind: .indexes, meaning: "Indexes that a fully migrated database must have")
        case .ignoreTable:
            Setting(
                kind: .names,
                meaning: "Tables and views that no migration makes, left out of the check 'schema'"
            )
        case .allowOutOfOrder:
            Setting(
                kind: .flag,
                meaning: "Whether pending migrations that come before applied ones are applied",
                standard: .flag(false),
                option: \RangeOptions.allowOutOfOrder
            )
        case .doubleQuotedStrings:
            Setting(
                kind: .flag,
                meaning: "Whether a name in double quotes that names nothing is a string",
                standard: .flag(false)
            )
        case .appVersion:
            Setting(
                kind: .text,
                meaning: "The program's version, which the database's journal keeps"
            )
        case .nameFrom:
            Setting(
                kind: .path,
                meaning: "The folder from which a database's path is its name, for 'fleet'",
                option: \StoreNamingOptions.nameFrom
            )
        case .lint:
            Setting(kind: .levels, meaning: "The levels of lint's rules, by the rules' names")
        }
    }
}

extension Setting.Kind {
    /// The required value, worded to follow "must be".
    var expected: String {
        switch self {
        case .path: "a path, as a non-empty string"
        case .text: "a non-empty string"
        case .seconds(allowsZero: false): "a number of seconds above 0 and at most 86400"
        case .seconds(allowsZero: true): "a number of seconds, at least 0 and at most 86400"
        case .indexes: "an array of strings of the form \"table.index\""
        case .names: "an array of non-empty strings"
        case .flag: "true or false"
        case .levels: "a table of the levels \"off\", \"note\", \"warning\" and \"error\""
        case .number(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .choice(let choices):
            choices.dropLast().map { "\"\($0)\"" }.joined(separator: ", ")
                + " or \"\(choices.last ?? "")\""
        case .salt: "a string of 32 hexadecimal digits"
        case .namePattern: MigrationNamePattern.expected
        }
    }

    /// The value of an environment variable; `nil` if its text doesn't fit the setting.
    func value(ofVariable text: String) -> SettingsFile.Value? {
        if case .number = self { return Int(text).flatMap { value($0) } }
        return value(text)
    }

    /// - Returns: `nil` if the number doesn't fit the setting.
    func value(_ number: Int) -> SettingsFile.Value? {
        guard case .number(let range) = self, range.contains(number) else { return nil }
        return .number(number)
    }

    /// - Returns: `nil` if the text doesn't fit the setting.
    func value(_ text: String) -> SettingsFile.Value? {
        switch self {
        case .choice(let choices) where !choices.contains(text): nil
        case .salt where CipherSalt(rawValue: text) == nil: nil
        case .namePattern where MigrationNamePattern(text) == nil: nil
        default: .text(text)
        }
    }
}

// MARK: - Settings Source

/// The settings file of a command, read once and only when needed.
final class SettingsSource: Sendable {
    private struct State {
        var option: String?
        var loaded: SettingsFile??
        var acceptsOthers = false
    }

    private let state = Locked(State())

    /// Records the value of `--config`. Called before any setting is read.
    func use(_ config: String?) {
        state.withLock { $0.option = config }
    }

    /// The value of `--config`.
    var config: String? {
        state.withLock { $0.option }
    }

    /// Accepts a file that others may write, as long as no database is opened.
    func acceptOthers() {
        state.withLock { $0.acceptsOthers = true }
    }

    /// Throws if the file, which has been read, may have been written by others. Called before a
    /// database is opened.
    func refuseOthers() throws {
        try state.withLock { state in
            state.acceptsOthers = false
            if let doubt = state.loaded??.doubt { throw doubt }
        }
    }

    /// The file; `nil` if there is none.
    func file(
        _ read: (_ config: String?, _ acceptsOthers: Bool) throws -> SettingsFile?
    ) throws -> SettingsFile? {
        try state.withLock { state in
            if let loaded = state.loaded { return loaded }
            let file = try read(state.option, state.acceptsOthers)
            state.loaded = .some(file)
            return file
        }
    }
}

extension CommandContext {
    /// The settings file, read at the first call; `nil` if there is none.
    ///
    /// - Throws: ``SettingsFileError``.
    func settings() throws -> SettingsFile? {
        try settingsSource.file { config, acceptsOthers in
            let (home, keys) = (environment.nonEmpty("HOME"), settingsKeys)
            if let path = config ?? environment.nonEmpty("MIGRATIONKIT_CONFIG") {
                return try .named(path, home: home, keys: keys)
            }
            return try SettingsSearch(home: home, keys: keys, acceptsOthers: acceptsOthers)
                .file()
        }
    }

    /// The available settings. A program with its own steps has no folder of migrations, and one
    /// with its own store has its own database and key.
    var settingsKeys: [SettingsKey] {
        switch host.migrations {
        case .folder: SettingsKey.allCases
        case .runner:
            SettingsKey.allCases.filter {
                !$0.isOfFolder && (host.store == nil || !$0.isOfDatabase)
            }
        }
    }

    /// What an option says, or else what the environment or the settings file says of the setting
    /// that goes by it. (The default of an option is its group's.)
    ///
    /// - Parameters:
    ///   - option: The option, as the table of settings has it.
    ///   - options: Its group.
    /// - Throws: ``SettingsFileError``.
    func value<Options, Value>(
        _ option: KeyPath<Options, Value?>,
        of options: Options
    ) throws -> Value? {
        if let given = options[keyPath: option] { return given }
        return try content(ofSettingWith: option) as? Value
    }

    /// The same for an option whose values have names.
    func value<Options, Value: RawRepresentable<String>>(
        _ option: KeyPath<Options, Value?>,
        of options: Options
    ) throws -> Value? {
        if let given = options[keyPath: option] { return given }
        return (try content(ofSettingWith: option) as? String).flatMap(Value.init(rawValue:))
    }

    private func content(ofSettingWith option: AnyKeyPath) throws -> Any? {
        guard let key = settingsKeys.first(where: { $0.setting.option == option }) else {
            return nil
        }
        return try setting(key)?.value.content
    }

    /// What the environment or the settings file says of a setting, and where.
    ///
    /// - Throws: ``SettingsFileError``.
    func setting(
        _ key: SettingsKey
    ) throws -> (value: SettingsFile.Value, origin: SettingsOrigin)? {
        if let variable = key.variable, let text = environment.nonEmpty(variable) {
            let kind = key.setting.kind
            guard let value = kind.value(ofVariable: text) else {
                throw SettingsFileError.wrongValue(
                    key: key.rawValue,
                    place: variable,
                    expected: kind.expected
                )
            }
            return (value, .environment(variable))
        }
        guard let settings = try settings(), let entry = settings.entries[key] else { return nil }
        return (entry.value, .file(settings.path, line: entry.line))
    }
}

/// Where the value of a setting comes from.
enum SettingsOrigin: Equatable {
    case option(String)
    case environment(String)
    case file(String, line: Int)
    case workingFolder
    /// The absolute path of a folder above the working folder.
    case folderAbove(String)
    case byDefault
    case unset
}

/// The option that names the settings file, for commands without migrations.
struct SettingsOptions: ParsableArguments {
    @Option(help: .settingsFile)
    var config: String?
}

extension ArgumentHelp {
    /// The help of `--config`.
    static var settingsFile: ArgumentHelp {
        ArgumentHelp(
            "The settings file (or MIGRATIONKIT_CONFIG; default: the migrationkit.toml of this folder or of one above it).",
            valueName: "path"
        )
    }
}
