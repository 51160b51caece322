import ArgumentParser
import KeyStore

/// The options that name the source of a key that a database is to get.
struct NewKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file with the new key; '-' is standard input.",
            valueName: "path"
        ),
        completion: .file()
    )
    var newPasswordFile: String?

    @Option(
        help: ArgumentHelp("The open descriptor that gives the new key.", valueName: "number")
    )
    var newPasswordFd: Int32?

    @Option(
        help: ArgumentHelp("The command that prints the new key.", valueName: "command")
    )
    var newPasswordCommand: String?

    @Option(
        help: ArgumentHelp(
            "The new key's service in the desktop's secret store.",
            valueName: "service"
        )
    )
    var newKeychainService: String?

    @Option(
        help: ArgumentHelp("The account under that service.", valueName: "account")
    )
    var newKeychainAccount: String?

    @Flag(help: "The new key is 64 hexadecimal digits (96 with the salt), not a passphrase.")
    var newRawKey = false

    func validate() throws {
        if let newPasswordFd, newPasswordFd < 0 {
            throw ValidationError("The value for '--new-password-fd' must not be negative.")
        }
        if newKeychainAccount != nil, newKeychainService == nil {
            throw ValidationError("--new-keychain-account needs --new-keychain-service.")
        }
    }

    /// The source that an option names; on a terminal, a question.
    ///
    /// - Throws: ``MigrationCLIError/severalKeySources(_:)``; ``MigrationCLIError/noNewKey``.
    func source(
        for path: String,
        beside database: KeyedDatabaseOptions,
        in context: CommandContext
    ) throws -> KeySource {
        if let source = try namedSource() { return source }
        guard context.canPrompt, !database.keychain.noPrompt, Terminal.canAsk else {
            throw MigrationCLIError.noNewKey
        }
        return .prompt("New passphrase for \(path.printable): ")
    }

    /// The source that an option names; `nil` where none does.
    ///
    /// - Throws: ``MigrationCLIError/severalKeySources(_:)``.
    func namedSource() throws -> KeySource? {
        let named: [(option: String, source: KeySource)] = [
            newPasswordFile.map {
                ("--new-password-file", $0 == "-" ? .standardInput : .file(path: $0))
            },
            newPasswordFd.map { ("--new-password-fd", .fileDescriptor($0)) },
            newPasswordCommand.map { ("--new-password-command", .command($0)) },
            newKeychainService.map {
                ("--new-keychain-service", .keyStore(service: $0, account: newKeychainAccount))
            },
        ].compactMap { $0 }
        guard named.count <= 1 else {
            throw MigrationCLIError.severalKeySources(named.map(\.option))
        }
        return named.first?.source
    }

    /// Whether an option names a source.
    var isNamed: Bool {
        newPasswordFile != nil || newPasswordFd != nil || newPasswordCommand != nil
            || newKeychainService != nil
    }

    /// Checks the options of a command that needs no new key.
    func checkOptional(isPlaintext: Bool) throws {
        if newRawKey, !isNamed {
            throw ValidationError("--new-raw-key needs a source of the new key.")
        }
        if isNamed, isPlaintext {
            throw ValidationError(
                "With --no-encryption the copy is not encrypted. Leave out the new key."
            )
        }
    }

    var form: DatabaseKey.Form { newRawKey ? .rawKey : .passphrase }
}
