import Foundation
import MigrationKitKeys

extension KeyStoreError: ToolSuggesting {
    var suggestion: String? {
        switch self {
        case .noLibrary:
            """
            Install it; on Debian and Ubuntu it is the package libsecret-1-0.
            \(Self.onAServer)
            """
        case .noBus:
            """
            Run inside a desktop session, or start a bus for the command:
              dbus-run-session -- COMMAND
            \(Self.onAServer)
            """
        case .noService:
            """
            Start the one that has the keys: GNOME Keyring, KWallet or KeePassXC. 'key doctor' lists \
            those that have files here.
            \(Self.onAServer)
            """
        case .noCollection("default"):
            """
            In a desktop session, 'key generate' and 'key set' without --no-prompt have the desktop \
            make one, for which it asks. In KeePassXC, open a database whose settings, under Secret Service Integration, \
            expose a group. For GNOME Keyring without a desktop:
              \(Self.unlocking)
            """
        case .noCollection:
            """
            Check the name of --keychain-collection in the desktop's password program, or leave the \
            option out to look in every collection.
            """
        case .locked:
            """
            Unlock it in the desktop's password program, or leave out --no-prompt to be asked. \
            KeePassXC asks for each item, unless its Secret Service settings say otherwise.
            """
        case .itemNotFound(let service, let account):
            """
            Check the service and the username for typing errors. To see what there is:
              \(Program.name) key list --all
            If the database exists already, search for its key, or store it:
              \(Program.name) key find --db-path PATH
              \(Program.name) key set \(Self.options(service, account))
            For a new database, make one:
              \(Program.name) key generate \(Self.options(service, account))
            """
        case .ambiguous(_, let matches):
            """
            Choose one with --keychain-account or --keychain-collection, or delete the items that \
            you don't need ('key find' tells which one opens a database, 'key delete --item' deletes one):
            \(matches.map { "  \($0)" }.joined(separator: "\n"))
            """
        case .timedOut:
            """
            A question for a password may be waiting behind a window: answer it. \
            --keychain-timeout says how long to wait. If there is no question, the program that keeps \
            the keys hangs: log out and in.
            """
        case .itemExists:
            """
            'key generate' never replaces a key. 'key set --replace' does; databases that only the \
            old key opens are then lost.
            """
        case .unstorablePassphrase(let flaw):
            """
            \(flaw.consequence)
            Keep this passphrase in a file (--password-file), or choose another. Best is a raw key: \
            '\(Program.name) key generate' makes one, and '\(Program.name) rekey --new-keychain-service' gives \
            it to a database that has this passphrase.
            """
        case .promptDismissed, .noPortal, .portalRefused, .unreadableKeys, .readOnly, .failure:
            recoverySuggestion
        }
    }

    private static let onAServer = """
        On a server, use --password-file, --password-command or a systemd credential \
        (LoadCredentialEncrypted=migrationkit-password:PATH).
        """

    private static func options(_ service: String, _ account: String?) -> String {
        "--keychain-service \(service.shellWord) --keychain-account \((account ?? "main").shellWord)"
    }
}

extension DatabaseKeyError: ToolSuggesting {
    private static var otherNotations: String {
        """
        If another program wrote it, '\(Program.name) key import FILE --db-path DATABASE --output \
        NEW' reads other notations, and writes the key's digits.
        """
    }

    var suggestion: String? {
        switch self {
        case .passphraseLooksLikeRawKey:
            """
            If it is a raw key, give the digits alone and add --raw-key. If it is a passphrase, \
            choose another.
            \(Self.otherNotations)
            """
        case .notHexadecimal:
            """
            \(recoverySuggestion ?? "")
            \(Self.otherNotations)
            """
        default: recoverySuggestion
        }
    }
}

extension KeySourceError: ToolSuggesting {
    var suggestion: String? {
        switch self {
        case .unusableKey(_, let reason): reason.suggestion
        default: recoverySuggestion
        }
    }
}

extension RecoveryCopyError: ToolSuggesting {
    var suggestion: String? {
        guard case .notACopy = self else { return recoverySuggestion }
        return """
            Give the file that 'key export' wrote. Or, if it has the key itself in some notation, name the \
            database, on which each can be tried: --db-path.
            """
    }
}
