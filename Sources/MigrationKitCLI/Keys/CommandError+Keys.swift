import MigrationKitCommon

/// Why a `key` command fails.
extension CommandError {
    /// No place was named for a recovery copy's key, and the settings name a file of a key.
    static func keyIsInFile(path: String) -> CommandError {
        CommandError(
            ErrorCode("noItemNamed", .usage),
            "the settings name the key file \(path), and no option says where to put the key",
            """
            Add --output \(path.shellPath). A file that is there already isn't replaced: move it away \
            first. With --keychain-service and --keychain-account, the key is stored in the \
            desktop's secret store, where commands look only if they are given the same options.
            """
        )
    }

    /// No source of the key to store was named, and there is no terminal to ask on.
    static let noSource = CommandError(
        ErrorCode("noKey", .usage),
        "no key was given to store",
        """
        Give its source: --password-file for a file or (as '-') standard input, --password-fd, \
        or --password-command. 'key generate' makes a key.
        """
    )

    /// The options ask for all items, and for those of one service.
    static let allAndService = CommandError(
        ErrorCode("allAndService", .usage),
        "--all and --keychain-service contradict each other",
        "Use only one."
    )

    /// There is nobody to ask whether a key may be lost.
    static func needsConfirmation(action: String) -> CommandError {
        CommandError(
            ErrorCode("needsConfirmation", .usage),
            "there is no terminal to ask whether the key should be \(action)",
            "To confirm, add --yes. Without its key, a database can't be opened again."
        )
    }

    /// The key would be written to a file or a pipe, which may keep it.
    static let outputIsNoTerminal = CommandError(
        ErrorCode("outputIsNoTerminal", .usage),
        "standard output is not a terminal, so the key could end up in a file or log",
        "To print it anyway, add --force."
    )

    /// No key to export was named.
    static let noKeyToExport = CommandError(
        ErrorCode("noKey", .usage),
        "no key was given to export",
        """
        Give its source: --keychain-service for the desktop's secret store, --password-file \
        for a file or (as '-') standard input.
        """
    )

    /// Neither a recovery copy was named, nor a database that a stored key may open.
    static let noRecoveryCopy = CommandError(
        ErrorCode("noRecoveryCopyGiven", .usage),
        "no recovery copy was given",
        """
        Give the file that 'key export' wrote, or '-' for standard input. Or name an encrypted database \
        with --db-path: then the secret store is searched for its key.
        """
    )

    /// No source of a recovery copy's passphrase was named, and there is no terminal to ask on.
    static let noRecoveryPassphrase = CommandError(
        ErrorCode("noRecoveryPassphrase", .usage),
        "no passphrase was given for the recovery copy",
        "Give it with --recovery-password-file; '-' is standard input."
    )

    /// A new key was to be made for a database that is encrypted, and no stored key opens it.
    static func databaseHasKey(path: String) -> CommandError {
        CommandError(
            ErrorCode("databaseHasKey", .cannotCreate),
            "\(path) is encrypted, and no stored key opens it; a new one would not either",
            """
            Search for its key with 'key find', or restore it from a recovery copy with 'key import'. \
            If the keyring was replaced or made anew, put the former one back; 'key doctor' says what \
            there is.
            If the new key is for another database, name that with --db-path, or add --new.
            """
        )
    }

    /// The key of a recovery copy, or of a file, doesn't open the database.
    static func copyOpensNothing(path: String) -> CommandError {
        CommandError(
            ErrorCode("wrongKey", .noPermission),
            "the key does not open \(path)",
            """
            If a recovery copy was made before a 'key rotate', it opens backups from that time: import it without \
            a database for them. 'key find' searches the stored keys for the database's.
            """
        )
    }

    /// The item has another key than the recovery copy.
    static func otherKeyStored(service: String, account: String) -> CommandError {
        CommandError(
            ErrorCode("keyExists", .cannotCreate),
            "the item with service \"\(service)\" and username \"\(account)\" has another key",
            "To store this one and keep the other as a previous key, add --replace."
        )
    }

    /// The key store returns something else than was stored.
    static func notStored(service: String, account: String) -> CommandError {
        CommandError(
            ErrorCode("notStored", .unavailable),
            "the key of service \"\(service)\", username \"\(account)\", could not be read back",
            "Look at it in the desktop's password program before you use it for a database."
        )
    }
}
