import KeyStore
import MigrationKitCommon
import MigrationKitSQLCipher

/// The item of a database's key isn't in the key store, and the database is there.
struct MissingKeyError: Error {
    let path: String
    let service: String
    let account: String?

    /// Runs `body`, which opens a database with its item.
    ///
    /// - Throws: What the body throws; this instead of an item that isn't found, if the database
    ///   exists.
    static func explaining<Value>(_ path: String?, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch KeyStoreError.itemNotFound(let service, let account) {
            guard let path, EncryptedDatabase.hasContent(path) else {
                throw KeyStoreError.itemNotFound(service: service, account: account)
            }
            throw MissingKeyError(path: path, service: service, account: account)
        }
    }

    /// The commands that may bring the key back, each on a line.
    func remedies(program: String) -> String {
        """
          \(program) key find \(database)
          \(program) key import FILE \(database) \(item)
        """
    }

    private var database: String { ["--db-path", path].shellCommand }

    private var item: String {
        ["--keychain-service", service, "--keychain-account", account ?? "main"].shellCommand
    }

    private var notFound: KeyStoreError { .itemNotFound(service: service, account: account) }
}

extension MissingKeyError: ToolSuggesting {
    var code: ErrorCode { notFound.code }

    var errorDescription: String? { notFound.errorDescription }

    func suggestion(program: String) -> String? {
        """
        \(path.printable) exists, so it has a key. Check the service and the username for typing \
        errors. Search for the key, restore it from a recovery copy, or see what may be in the way:
        \(remedies(program: program))
          \(program) key doctor \(database) \(item)
        """
    }
}
