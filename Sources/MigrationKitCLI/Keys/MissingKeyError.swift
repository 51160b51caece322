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
    /// The options of the item that opened the database; empty if they are these, or aren't known.
    var recorded: [String] = []

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
            let record = KeyRecord(besideDatabase: path)
            throw MissingKeyError(
                path: path,
                service: service,
                account: account,
                record: record?.sentence(in: keyStore()),
                recorded: record?.options(besides: service, account) ?? []
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
        \(path.printable) exists, so it has a key. \(record.map { "\($0). ".printable } ?? "")\
        \(recorded.isEmpty ? "" : "It has opened with \(recorded.shellCommand). ".printable)Check the service and the username for typing \
        errors. Search for the key, restore it from a recovery copy, or see what may be in the way:
        \(remedies)
          \(Program.name) key doctor \(database) \(item)
        """
    }
}

extension KeyRecord {
    /// The options that name the item; empty if these are its service and account.
    fileprivate func options(besides service: String, _ account: String?) -> [String] {
        guard self.service != service || account != nil && self.account != account else {
            return []
        }
        return ["--keychain-service", self.service]
            + (self.account.map { ["--keychain-account", $0] } ?? [])
    }

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
