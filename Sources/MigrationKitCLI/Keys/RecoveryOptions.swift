import ArgumentParser
import MigrationKitKeys
import MigrationKitSQLCipher

/// The option that names the passphrase of a recovery copy.
struct RecoveryPassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file with the recovery copy's passphrase, readable only by its owner; '-' is standard input; default: ask on the terminal.",
            valueName: "path"
        ),
        completion: .file()
    )
    var recoveryPasswordFile: String?

    /// The source of the passphrase.
    ///
    /// - Throws: ``CommandError/noRecoveryPassphrase`` if there is nobody to ask.
    func source(in context: CommandContext, noPrompt: Bool) throws -> KeySource {
        if let path = recoveryPasswordFile {
            return path == "-" ? .standardInput : .file(path: path)
        }
        guard context.canAsk(noPrompt: noPrompt) else {
            throw CommandError.noRecoveryPassphrase
        }
        return .prompt("Passphrase of the recovery copy: ")
    }

    /// Reads the passphrase. That of a new copy is asked for twice.
    static func read(_ source: KeySource, isNew: Bool) throws -> Secret {
        let resolver = KeyResolver { preconditionFailure("a passphrase needs no key store") }
        let passphrase = try resolver.secret(from: source)
        if isNew, case .prompt = source,
            try resolver.secret(from: .prompt("Once more: ")) != passphrase
        {
            throw CommandError.passphrasesDiffer
        }
        return passphrase
    }
}

extension DatabaseFileOptions {
    /// Throws unless a key opens the named database.
    ///
    /// - Returns: The database; `nil` if none is named, or the environment or the settings name one
    ///   that doesn't exist yet.
    /// - Throws: ``CommandError/copyOpensNothing(path:)``; `EncryptedDatabaseError`.
    func check(opensWith key: DatabaseKey, in context: CommandContext) throws -> String? {
        guard let path = try path(in: context), dbPath != nil || EncryptedDatabase.hasContent(path)
        else { return nil }
        guard try KeySearch(path, cipher: cipher(in: context)).settings(of: key) != nil else {
            throw CommandError.copyOpensNothing(path: path)
        }
        return path
    }
}
