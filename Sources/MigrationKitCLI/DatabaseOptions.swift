import ArgumentParser
import Foundation
import KeyStore

/// The options of every command that opens a database.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The database (or MIGRATIONKIT_DB_PATH in the environment).",
            valueName: "path"
        )
    )
    var dbPath: String?

    @Option(
        help: ArgumentHelp(
            "The key is in the desktop's secret store, under this service.",
            valueName: "service"
        )
    )
    var keychainService: String?

    @Option(
        help: ArgumentHelp(
            "The account under that service; needed where it has several.",
            valueName: "account"
        )
    )
    var keychainAccount: String?

    @Option(
        help: ArgumentHelp(
            "The key is in this file ('-': standard input).",
            discussion: "Nobody but its owner may have access to the file (chmod 600).",
            valueName: "path"
        )
    )
    var passwordFile: String?

    @Option(
        help: ArgumentHelp(
            "The key itself. Other users and the shell's history may see it: prefer the others.",
            valueName: "passphrase"
        )
    )
    var password: String?

    @Flag(help: "The key is 64 hexadecimal digits (96 with the salt), not a passphrase.")
    var rawKey = false

    @Flag(help: "The database is not encrypted.")
    var noEncryption = false

    /// Puts options and environment together.
    ///
    /// An option that names a source of the key wins over the environment. Two options, or two
    /// variables, are an error: which of two keys was meant is nothing to guess.
    func resolved(
        environment: [String: String],
        createsFile: Bool,
        canPrompt: Bool
    ) throws -> MigrationDatabaseOpenOptions {
        let options = [
            password.map { _ in "--password" },
            passwordFile.map { _ in "--password-file" },
            keychainService.map { _ in "--keychain-service" },
        ].compactMap { $0 }
        guard options.count <= 1 else { throw MigrationCLIError.severalKeySources(options) }
        if noEncryption, let option = options.first ?? (rawKey ? "--raw-key" : nil) {
            throw MigrationCLIError.keyForPlaintext(option: option)
        }

        let path = dbPath ?? environment["MIGRATIONKIT_DB_PATH"].flatMap { $0.isEmpty ? nil : $0 }
        var service = keychainService
        var other: KeySource? = passwordFile.map { $0 == "-" ? .standardInput : .file(path: $0) }
        if options.isEmpty, !noEncryption {
            service = environment["MIGRATIONKIT_KEYCHAIN_SERVICE"].flatMap { $0.isEmpty ? nil : $0 }
            if service == nil {
                other = KeyResolver.implicitSource(
                    environment: environment,
                    promptFor: canPrompt ? path : nil
                )
            }
        }
        let account =
            keychainAccount
            ?? (service == nil ? nil : environment["MIGRATIONKIT_KEYCHAIN_ACCOUNT"])
        if account != nil, service == nil {
            throw MigrationCLIError.accountWithoutService
        }

        return MigrationDatabaseOpenOptions(
            dbPath: path,
            password: password,
            keychainService: service,
            keychainAccount: account,
            otherKeySource: other,
            isRawKey: rawKey,
            isPlaintext: noEncryption,
            createsFile: createsFile
        )
    }
}
