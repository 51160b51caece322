import Foundation
import KeyStore

extension KeyStoreError {
    /// What to do about the error with this tool, its options and commands.
    ///
    /// - Parameter program: The name of the tool.
    func suggestion(program: String) -> String? {
        switch self {
        case .noLibrary:
            """
            Install it; on Debian and Ubuntu it is the package libsecret-1-0.
            \(Self.onAServer)
            """
        case .noBus:
            """
            Run inside a desktop session, or in one of its own:
              dbus-run-session -- COMMAND
            \(Self.onAServer)
            """
        case .noService:
            """
            Start one: GNOME Keyring, KWallet or KeePassXC.
            \(Self.onAServer)
            """
        case .noCollection("default"):
            recoverySuggestion
        case .noCollection:
            """
            Check the name of --keychain-collection in the desktop's password program, or leave the \
            option out to look in every collection.
            """
        case .locked:
            """
            Unlock it in the desktop's password program, or leave out --no-prompt to be asked for \
            its password.
            """
        case .itemNotFound(let service, let account):
            """
            Check the service and the username for typing errors. To see what there is:
              \(program) key list --all
            If the database exists already, store its key:
              \(program) key set \(Self.options(service, account))
            For a new database, make one:
              \(program) key generate \(Self.options(service, account))
            """
        case .ambiguous(_, let matches):
            """
            Name one with --keychain-account or --keychain-collection, or delete what is too much:
            \(matches.map { "  \($0)" }.joined(separator: "\n"))
            """
        case .timedOut:
            """
            A question for a password may be waiting behind a window. Answer it, or allow more time \
            with --keychain-timeout. With --no-prompt nothing is asked.
            """
        case .itemExists:
            """
            'key generate' never replaces a key, and 'key set' does with --replace only: databases \
            that only the old one opens are lost.
            """
        case .unstorablePassphrase(let flaw):
            """
            \(flaw.consequence)
            Keep this passphrase in a file (--password-file), or choose another. Best is a raw key: \
            '\(program) key generate' makes one, and '\(program) rekey --new-keychain-service' gives \
            it to a database that has this passphrase.
            """
        case .promptDismissed, .failure:
            recoverySuggestion
        }
    }

    private static let onAServer = """
        On a server, give the key by --password-file, --password-command, or a credential of \
        systemd's (LoadCredentialEncrypted=migrationkit-password:PATH).
        """

    private static func options(_ service: String, _ account: String?) -> String {
        "--keychain-service \(quoted(service)) --keychain-account \(quoted(account ?? "main"))"
    }

    /// A word as it can be pasted into a shell.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "._-@".contains($0))
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
