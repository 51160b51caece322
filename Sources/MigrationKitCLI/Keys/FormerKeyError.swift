import MigrationKitCommon
import Foundation
import MigrationKitKeys
import MigrationKitSQLCipher

/// The key's item doesn't open a file, but a former key does, which a rotation has kept.
struct FormerKeyError {
    /// The file.
    let path: String

    /// The former key that opens it.
    let key: FormerKey

    /// The command that makes the item open the database again.
    let remedy: Remedy

    /// A command of this tool.
    struct Remedy {
        /// What it does, in a sentence.
        let effect: String
        /// Its words, without the program's name.
        let words: [String]

        /// Gives a database the key that its item has.
        static func rekey(_ path: String, from key: FormerKey) -> Remedy {
            Remedy(
                effect: "To give the file the current key:",
                words: ["rekey", "--db-path", path] + key.itemOptions + key.newItemOptions
            )
        }
    }
}

extension FormerKeyError: CodedError {
    var code: ErrorCode { ErrorCode("formerKey", .noPermission) }

    var errorDescription: String? {
        """
        the key of service "\(key.service)" and username "\(key.account)" does not open \(path), \
        but its former key does
        """
    }

    var recoverySuggestion: String? {
        """
        'key rotate' kept the former key in a separate item:
          \(key.itemOptions.shellCommand)
        \(remedy.effect)
          \(([Program.name] + remedy.words).shellCommand)
        """
    }
}

extension FormerKey {
    /// The options that name the item with the former key.
    var itemOptions: [String] {
        ["--keychain-service", FormerKey.service(of: service), "--keychain-account", name]
    }

    /// The options that name the item with the current key, for a database that should get it.
    var newItemOptions: [String] {
        ["--new-keychain-service", service, "--new-keychain-account", account]
    }
}

extension [String] {
    /// The words as a command that can be pasted into a shell.
    var shellCommand: String { map(\.shellWord).joined(separator: " ") }
}

extension MigrationDatabaseOpenOptions {
    /// Runs `body`, which opens a file with the key. If the key is wrong, finds the former key that
    /// opens the file.
    ///
    /// - Parameters:
    ///   - path: The file, if it isn't the database.
    ///   - remedy: The command that makes the item open the database again; `nil` to give the
    ///     database the current key.
    /// - Throws: What the body throws; ``FormerKeyError`` instead of a wrong key from the key
    ///   store, if a former key opens the file; ``MissingKeyError`` instead of an item that isn't
    ///   found.
    func explainingFormerKey<Value>(
        of path: String? = nil,
        remedy: ((FormerKey) -> FormerKeyError.Remedy)? = nil,
        _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try MissingKeyError.explaining(path ?? dbPath, in: keyStore, body)
        } catch let error as EncryptedDatabaseError where error.isWrongKey {
            // If the search fails, the original error is the one to report.
            guard let path = path ?? dbPath, let stored = try? storedKey(),
                let key = (try? stored.formerKey(opening: path)) ?? nil
            else { throw error }
            throw FormerKeyError(
                path: path,
                key: key,
                remedy: remedy?(key) ?? .rekey(path, from: key)
            )
        }
    }

    /// The former key that the options name, if the item's current key doesn't open the database.
    func formerKeyInUse() -> FormerKey? {
        guard !isPlaintext, password == nil, let keychainService,
            FormerKey.isService(keychainService),
            let name = keychainAccount
                ?? (try? keyStore.entry(service: keychainService, account: nil))?.item.account,
            let key = FormerKey(service: keychainService, name: name)
        else { return nil }
        var today = MigrationDatabaseOpenOptions(
            dbPath: dbPath,
            keychainService: key.service,
            keychainAccount: key.account,
            isRawKey: isRawKey,
            keychainCollection: keychainCollection,
            keychainTimeout: keychainTimeout,
            allowsPrompt: allowsPrompt,
            cipher: cipher
        )
        today.ownKeyStore = ownKeyStore
        return (try? today.storedKey()?.isOutdated()) == true ? key : nil
    }
}
