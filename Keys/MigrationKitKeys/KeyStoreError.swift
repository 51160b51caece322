import MigrationKitCommon
import FoundationEssentials

/// Why a key store returned no key.
public enum KeyStoreError: Error, Equatable, Sendable {
    /// The library for the Secret Service can't be loaded; the reason is the system's.
    case noLibrary(reason: String)
    /// There is no session bus on which to reach a Secret Service.
    case noBus
    /// The bus has no Secret Service.
    case noService
    /// The bus has no portal that keeps a secret for a program in a sandbox.
    case noPortal
    /// The portal gave no secret: the keyring behind it is locked, or it has none for this program.
    case portalRefused
    /// The portal's secret doesn't open the file with the keys, or the file is damaged.
    case unreadableKeys(file: String)
    /// The service has no collection with this name; `default` is the collection in which it
    /// stores.
    case noCollection(name: String)
    /// The collection is locked, and nobody may be asked to unlock it.
    case locked(collection: String)
    /// The collection is locked, and the question for its password was dismissed or not shown.
    case promptDismissed(collection: String)
    /// The store is unlocked and has no such item.
    case itemNotFound(service: String, account: String?)
    /// Several items match. Each line distinguishes one of them from the others.
    case ambiguous(service: String, matches: [String])
    /// The store didn't answer within this many seconds.
    case timedOut(seconds: Double)
    /// An item with this service and account already exists.
    case itemExists(service: String, account: String)
    /// The store would change the passphrase, or lose even more.
    case unstorablePassphrase(PassphraseFlaw)
    /// The keys come from a source that can't be written, such as a file.
    case readOnly(source: String)
    /// Something else; the message is the store's own.
    case failure(message: String)
}

extension KeyStoreError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noLibrary(let reason):
            "libsecret, which talks to the Secret Service, can't be loaded: \(reason)"
        case .noBus:
            "there is no session bus, so the Secret Service can't be asked"
        case .noService:
            "no Secret Service answers on the session bus"
        case .noPortal:
            "no Secret portal answers on the session bus"
        case .portalRefused:
            "the Secret portal gave no secret"
        case .unreadableKeys(let file):
            "the secret that the Secret portal gave does not open \(file)"
        case .noCollection("default"):
            "the Secret Service has no default collection"
        case .noCollection(let name):
            "the Secret Service has no collection \"\(name)\""
        case .locked(let collection):
            "the collection \"\(collection)\" or its item is locked"
        case .promptDismissed(let collection):
            "the collection \"\(collection)\" or its item is locked and was not unlocked"
        case .itemNotFound(let service, let account):
            "the secret store holds no item with \(Self.names(service, account))"
        case .ambiguous(let service, let matches):
            "\(matches.count) items match service \"\(service)\""
        case .timedOut(let seconds):
            "the secret store did not answer within \(seconds.text) seconds"
        case .itemExists(let service, let account):
            "an item with \(Self.names(service, account)) already exists"
        case .unstorablePassphrase(let flaw):
            "the passphrase has \(flaw.name), which the Secret Service can't keep"
        case .readOnly(let source):
            "the key comes from \(source), where none can be stored or deleted"
        case .failure(let message):
            "the secret store failed: \(message)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noLibrary:
            """
            Install it (on Debian and Ubuntu the package libsecret-1-0), or give the key by a file, \
            a command or a credential instead.
            """
        case .noBus:
            """
            Run inside a desktop session, or start a bus for the command:
              dbus-run-session -- COMMAND
            On a server, give the key by a file, a command or a credential instead.
            """
        case .noService:
            """
            Start one: GNOME Keyring, KWallet or KeePassXC.
            On a server, give the key by a file, a command or a credential instead.
            """
        case .noPortal:
            """
            Install xdg-desktop-portal and a backend that keeps secrets, such as gnome-keyring or \
            xdg-desktop-portal-kde, or let the sandbox reach the Secret Service: in a Flatpak's \
            manifest, --talk-name=org.freedesktop.secrets.
            """
        case .portalRefused:
            """
            Unlock the desktop's keyring, or answer its question. If it is unlocked, log out and in: \
            GNOME Keyring gives no secret after a program was ended while it asked for one.
            """
        case .unreadableKeys(let file):
            """
            The portal gives each app another secret: ask as the app does, in its sandbox. If the \
            desktop's keyring was replaced or made anew, put the former one back. If the file is \
            damaged, restore it from a backup. Keep it until every key in it is back:
              \(file.shellPath)
            """
        case .noCollection("default"):
            """
            In a desktop session, storing a key makes one if prompts are allowed; so does the desktop's \
            password program. In KeePassXC, open a database whose settings, under Secret Service \
            Integration, expose a group. For GNOME Keyring without a desktop:
              \(Self.unlocking)
            """
        case .noCollection:
            "Check the name in the desktop's password program."
        case .locked:
            "Unlock it in the desktop's password program, or allow the prompt for its password."
        case .promptDismissed:
            """
            Try again and answer the prompt, or unlock the collection in the desktop's password \
            program. For GNOME Keyring, if no prompt can be shown:
              \(Self.unlocking)
            """
        case .itemNotFound(let service, let account):
            """
            Check the service and the username for typing errors. To store a passphrase:
              secret-tool store --label=\(service.shellWord) service \(service.shellWord) \
            username \((account ?? "main").shellWord)
            """
        case .ambiguous(_, let matches):
            "Give the account, or delete the items that you don't need:\n"
                + matches.joined(separator: "\n")
        case .timedOut:
            """
            A question for a password may be waiting behind a window. Answer it, or allow more time. If \
            there is none, the program that keeps the keys hangs: log out and in.
            """
        case .itemExists:
            "Delete it first, or allow replacing. A replaced key is lost, and its database with it."
        case .unstorablePassphrase(let flaw):
            """
            \(flaw.consequence)
            Keep this passphrase in a file, choose another, or give the database a raw key.
            """
        case .readOnly:
            """
            Change it at its source. To give the database another key, put the new key there and \
            use 'rekey' with both.
            """
        case .failure:
            nil
        }
    }

    /// Asks for the password and starts GNOME Keyring with it, in any shell. The daemon takes all of its
    /// standard input for the password, a newline at the end included.
    package static let unlocking = """
        bash -c 'read -rsp "Password: " p; printf %s "$p" | \
        gnome-keyring-daemon --replace --unlock --components=secrets'
        """

    private static func names(_ service: String, _ account: String?) -> String {
        "service \"\(service)\"" + (account.map { " and username \"\($0)\"" } ?? "")
    }
}

extension Double {
    /// The number, without a fraction if it is whole.
    var text: String { self == rounded() ? "\(Int(self))" : "\(self)" }
}

extension KeyStoreError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noBus: ErrorCode("noBus", .unavailable)
        case .noLibrary, .noService: ErrorCode("noSecretService", .unavailable)
        case .noPortal: ErrorCode("noSecretPortal", .unavailable)
        case .portalRefused: ErrorCode("portalRefused", .noPermission)
        case .unreadableKeys: ErrorCode("keysUnreadable", .noPermission)
        case .noCollection: ErrorCode("noCollection", .unavailable)
        case .locked: ErrorCode("collectionLocked", .noPermission)
        case .promptDismissed: ErrorCode("promptDismissed", .noPermission)
        case .itemNotFound: ErrorCode("keyNotFound", .unavailable)
        case .ambiguous: ErrorCode("keyAmbiguous", .unavailable)
        case .timedOut: ErrorCode("secretServiceTimedOut", .unavailable)
        case .itemExists: ErrorCode("keyExists", .cannotCreate)
        case .unstorablePassphrase: ErrorCode("unstorablePassphrase", .noPermission)
        case .readOnly: ErrorCode("keyStoreReadOnly", .noPermission)
        case .failure: ErrorCode("secretServiceFailed", .unavailable)
        }
    }
}
