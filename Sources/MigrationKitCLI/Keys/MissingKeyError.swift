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

    private var notFound: KeyStoreError { .itemNotFound(service: service, account: account) }
}

extension MissingKeyError: ToolSuggesting {
    var code: ErrorCode { notFound.code }

    var errorDescription: String? { notFound.errorDescription }

    func suggestion(program: String) -> String? {
        let database = ["--db-path", path].shellCommand
        let item =
            (["--keychain-service", service, "--keychain-account", account ?? "main"]).shellCommand
        return """
            \(path.printable) exists, so it has a key. Check the service and the username for typing \
            errors. Search for the key, restore it from a recovery copy, or see what may be in the way:
              \(program) key find \(database)
              \(program) key import FILE \(database) \(item)
              \(program) key doctor \(database) \(item)
            """
    }
}
