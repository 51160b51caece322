import MigrationKitKeys
import MigrationKitCommon
import MigrationKitSQLCipher

/// The item of a database's key isn't in the key store, and the database is there.
struct MissingKeyError {
    let path: String
    let service: String
    let account: String?
    /// Who kept the key, in a sentence; `nil` if that isn't known.
    var record: String?

    /// Runs `body`, which opens a database with its item.
    ///
    /// - Throws: What the body throws; this instead of an item that isn't found, if the database
    ///   exists.
    static func explaining<Value>(
        _ path: String?,
        in keyStore: @autoclosure () -> any KeyStore,
        _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch KeyStoreError.itemNotFound(let service, let account) {
            guard let path, EncryptedDatabase.hasContent(path) else {
                throw KeyStoreError.itemNotFound(service: service, account: account)
            }
            throw MissingKeyError(
                path: path,
                service: service,
                account: account,
                record: KeyRecord(besideDatabase: path)?.sentence(in: keyStore())
            )
        }
    }

    /// The commands that may bring the key back, each on a line.
    var remedies: String {
        """
          \(Program.name) key find \(database)
          \(Program.name) key import FILE \(database) \(item)
        """
    }

    private var database: String { ["--db-path", path].shellCommand }

    private var item: String {
        ["--keychain-service", service, "--keychain-account", account ?? "main"].shellCommand
    }

    private var notFound: KeyStoreError { .itemNotFound(service: service, account: account) }
}

extension MissingKeyError: CodedError {
    var code: ErrorCode { notFound.code }

    var errorDescription: String? { notFound.errorDescription }

    var recoverySuggestion: String? {
        """
        \(path.printable) exists, so it has a key. \(record.map { "\($0). ".printable } ?? "")Check the service and the username for typing \
        errors. Search for the key, restore it from a recovery copy, or see what may be in the way:
        \(remedies)
          \(Program.name) key doctor \(database) \(item)
        """
    }
}

extension KeyRecord {
    /// What is known of the key, which program answers now, and which one should.
    func sentence(in keyStore: any KeyStore) -> String {
        let provider = (try? keyStore.provider())?.name
        return [sentence(now: provider), wayBack(from: provider)].compactMap(\.self)
            .joined(separator: ". ")
    }

    /// What brings the key back if another program answers than the one that kept it.
    ///
    /// - Parameter provider: The program that answers now; `nil` if none does.
    func wayBack(from provider: String?) -> String? {
        provider == self.provider ? nil : "Let \(self.provider ?? "that program") answer"
    }
}
