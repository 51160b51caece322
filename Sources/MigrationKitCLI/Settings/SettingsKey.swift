/// What a settings file can set.
enum SettingsKey: String, CaseIterable, Sendable {
    case dbPath = "db-path"
    case migrations
    case keychainService = "keychain-service"
    case keychainAccount = "keychain-account"
    case keychainCollection = "keychain-collection"
    case keychainTimeout = "keychain-timeout"
    case passwordFile = "password-file"
    case lockTimeout = "lock-timeout"
    case requireIndex = "require-index"
    case allowOutOfOrder = "allow-out-of-order"

    /// The option that sets the same.
    var option: String { "--\(rawValue)" }

    /// The environment variable that sets the same, if there is one.
    var variable: String? {
        switch self {
        case .dbPath: "MIGRATIONKIT_DB_PATH"
        case .migrations: "MIGRATIONKIT_MIGRATIONS"
        case .keychainService: "MIGRATIONKIT_KEYCHAIN_SERVICE"
        case .keychainAccount: "MIGRATIONKIT_KEYCHAIN_ACCOUNT"
        case .passwordFile: "MIGRATIONKIT_PASSWORD_FILE"
        case .keychainCollection, .keychainTimeout, .lockTimeout, .requireIndex, .allowOutOfOrder:
            nil
        }
    }

    /// What it sets.
    var meaning: String {
        switch self {
        case .dbPath: "The database"
        case .migrations: "The folder of SQL files; without it 'migrations'"
        case .keychainService: "The service of the key in the secret store"
        case .keychainAccount: "The account under that service"
        case .keychainCollection: "The collection to look and store in; without it all of them"
        case .keychainTimeout:
            "How long to wait for the secret store and for who unlocks it; without it 30"
        case .passwordFile: "The file with the key; not beside 'keychain-service'"
        case .lockTimeout:
            "How long to wait for other processes that use the database; without it 30"
        case .requireIndex: "Indexes that a fully migrated database must have"
        case .allowOutOfOrder:
            "Whether pending migrations that come before applied ones are applied; without it false"
        }
    }

    /// What a file must give, as it reads after "must be".
    var expected: String {
        switch self {
        case .dbPath, .migrations, .passwordFile: "a path: a text that is not empty"
        case .keychainService, .keychainAccount, .keychainCollection: "a text that is not empty"
        case .keychainTimeout: "a number of seconds above 0 and at most 86400"
        case .lockTimeout: "a number of seconds, at least 0 and at most 86400"
        case .requireIndex: "an array of texts of the form \"table.index\""
        case .allowOutOfOrder: "true or false"
        }
    }
}

extension SettingsKey {
    /// Every variable of the environment that means something to the tool.
    static let variables =
        allCases.compactMap(\.variable) + ["MIGRATIONKIT_CONFIG", "MIGRATIONKIT_PASSWORD"]
}
