import MigrationKitCommon
import Foundation

/// Why a `key` command fails.
public enum KeyCommandError: Error, Equatable, Sendable {
    /// The item is not named. Lists the missing options.
    case noItemNamed(missing: [String])

    /// No place was named for a recovery copy's key, and the settings name a file of a key.
    case keyIsInFile(path: String)

    /// No source of the key to store was named, and there is no terminal to ask on.
    case noSource

    /// The options ask for all items, and for those of one service.
    case allAndService

    /// There is nobody to ask whether a key may be lost.
    case needsConfirmation(action: String)

    /// The user answered no.
    case declined

    /// The key would be written to a file or a pipe, which may keep it.
    case outputIsNoTerminal

    /// The two inputs of a new passphrase differ.
    case passphrasesDiffer

    /// No key to export was named.
    case noKeyToExport

    /// No recovery copy was named, and there is no terminal to type it on.
    case noRecoveryCopy

    /// No source of a recovery copy's passphrase was named, and there is no terminal to ask on.
    case noRecoveryPassphrase

    /// A new key was to be made for a database that is encrypted, and no stored key opens it.
    case databaseHasKey(path: String)

    /// The recovery copy's key doesn't open the database.
    case copyOpensNothing(path: String)

    /// The item has another key than the recovery copy.
    case otherKeyStored(service: String, account: String)

    /// The key store returns something else than was stored.
    case notStored(service: String, account: String)
}

extension KeyCommandError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noItemNamed(let missing):
            "the key's item is not given: \(missing.joined(separator: " and ")) "
                + (missing.count == 1 ? "is missing" : "are missing")
        case .keyIsInFile(let path):
            "the settings name the key file \(path), and no option says where to put the key"
        case .noSource:
            "no key was given to store"
        case .allAndService:
            "--all and --keychain-service contradict each other"
        case .needsConfirmation(let action):
            "there is no terminal to ask whether the key should be \(action)"
        case .declined:
            "nothing was changed"
        case .outputIsNoTerminal:
            "standard output is not a terminal, so the key could end up in a file or log"
        case .passphrasesDiffer:
            "the two passphrases are not the same"
        case .noKeyToExport:
            "no key was given to export"
        case .noRecoveryCopy:
            "no recovery copy was given"
        case .noRecoveryPassphrase:
            "no passphrase was given for the recovery copy"
        case .databaseHasKey(let path):
            "\(path) is encrypted, and no stored key opens it; a new one would not either"
        case .copyOpensNothing(let path):
            "the recovery copy's key does not open \(path)"
        case .otherKeyStored(let service, let account):
            "the item with service \"\(service)\" and username \"\(account)\" has another key"
        case .notStored(let service, let account):
            "the key of service \"\(service)\", username \"\(account)\", could not be read back"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noItemNamed:
            """
            Give it with --keychain-service and --keychain-account, in the environment \
            (MIGRATIONKIT_KEYCHAIN_SERVICE, MIGRATIONKIT_KEYCHAIN_ACCOUNT), or in \
            migrationkit.toml.
            """
        case .keyIsInFile(let path):
            """
            Add --output \(path.shellPath). A file that is there already isn't replaced: move it away \
            first. With --keychain-service and --keychain-account, the key is stored in the \
            desktop's secret store, where commands look only if they are given the same options.
            """
        case .noSource:
            """
            Give its source: --password-file for a file or (as '-') standard input, --password-fd, \
            or --password-command. 'key generate' makes a key.
            """
        case .allAndService:
            "Use only one."
        case .needsConfirmation:
            "To confirm, add --yes. Without its key, a database can't be opened again."
        case .declined:
            "To confirm, answer 'y' or add --yes."
        case .outputIsNoTerminal:
            "To print it anyway, add --force."
        case .passphrasesDiffer:
            "Nothing was stored or changed. Try again."
        case .noKeyToExport:
            """
            Give its source: --keychain-service for the desktop's secret store, --password-file \
            for a file or (as '-') standard input.
            """
        case .noRecoveryCopy:
            "Give the file that 'key export' wrote, or '-' for standard input."
        case .noRecoveryPassphrase:
            "Give it with --recovery-password-file; '-' is standard input."
        case .databaseHasKey:
            """
            Search for its key with 'key find', or restore it from a recovery copy with 'key import'. \
            If the keyring was replaced or made anew, put the former one back; 'key doctor' says what \
            there is.
            If the new key is for another database, name that with --db-path, or add --new.
            """
        case .copyOpensNothing:
            """
            If it was made before a 'key rotate', it opens backups from that time: import it without \
            a database for them. 'key find' searches the stored keys for the database's.
            """
        case .otherKeyStored:
            "To store this one and keep the other as a previous key, add --replace."
        case .notStored:
            "Look at it in the desktop's password program before you use it for a database."
        }
    }
}

extension KeyCommandError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .noItemNamed, .keyIsInFile: ErrorCode("noItemNamed", .usage)
        case .noSource: ErrorCode("noKey", .usage)
        case .allAndService: ErrorCode("allAndService", .usage)
        case .needsConfirmation: ErrorCode("needsConfirmation", .usage)
        case .declined: ErrorCode("declined", .noPermission)
        case .outputIsNoTerminal: ErrorCode("outputIsNoTerminal", .usage)
        case .passphrasesDiffer: ErrorCode("passphrasesDiffer", .usage)
        case .noKeyToExport: ErrorCode("noKey", .usage)
        case .noRecoveryCopy: ErrorCode("noRecoveryCopyGiven", .usage)
        case .noRecoveryPassphrase: ErrorCode("noRecoveryPassphrase", .usage)
        case .databaseHasKey: ErrorCode("databaseHasKey", .cannotCreate)
        case .copyOpensNothing: ErrorCode("wrongKey", .noPermission)
        case .otherKeyStored: ErrorCode("keyExists", .cannotCreate)
        case .notStored: ErrorCode("notStored", .unavailable)
        }
    }
}
