import FoundationEssentials
import Glibc
import MigrationKitKeys

/// What keeps the keys of this session, and what may keep a program from them.
///
/// For a program's own "I can't find your key": ``DiagnosableKeyStore/diagnosis()`` makes one. It contains
/// no secret.
public struct KeyStoreDiagnosis: Sendable, Equatable {
    /// One thing that was looked at.
    public struct Finding: Sendable, Equatable {
        /// What it says of the way to a key.
        public enum State: String, Sendable, Encodable {
            case ok
            /// It may help to know it.
            case note
            /// It may be what is in the way.
            case warning
            /// No key can be read or stored.
            case problem
        }

        /// What was looked at: `bus`, `service`, `collection`, `portal`, `file`,
        /// `dialog`, `session`, `otherStore`.
        public let subject: String
        /// What it says of the way to a key.
        public let state: State
        /// What was found, in one sentence without a full stop.
        public let text: String
        /// What to do about it, if anything.
        public let nextStep: String?
        /// The error that every search or storing would throw; `nil` if none would.
        public let error: KeyStoreError?

        package init(
            _ subject: String,
            _ state: State,
            _ text: String,
            nextStep: String? = nil,
            error: KeyStoreError? = nil
        ) {
            self.subject = subject
            self.state = state
            self.text = text
            self.nextStep = nextStep
            self.error = error
        }

        /// An error that keeps every key away.
        package init(_ subject: String, _ error: KeyStoreError) {
            self.init(
                subject,
                .problem,
                error.errorDescription ?? "\(error)",
                nextStep: error.recoverySuggestion,
                error: error
            )
        }
    }

    /// What was found, in the order in which a search would meet it.
    public let findings: [Finding]
}

extension SecretServiceKeyStore: DiagnosableKeyStore {
    /// Looks at the session, the Secret Service and the other key stores of this machine.
    public func diagnosis() -> KeyStoreDiagnosis {
        var provider: String?
        var findings: [KeyStoreDiagnosis.Finding] = []
        do {
            let found = try perform(nil, nil) { try $0.connection().state() }
            provider = found.provider.name
            findings = found.findings
        } catch {
            findings = [.init(failure: error, of: "service")]
        }
        return KeyStoreDiagnosis(findings, besides: provider)
    }
}

extension PortalKeyStore: DiagnosableKeyStore {
    /// Looks at the session, the portal and the other key stores of this machine.
    public func diagnosis() -> KeyStoreDiagnosis {
        var findings: [KeyStoreDiagnosis.Finding] = []
        do {
            try checkPortal()
            findings = [
                .init("bus", .ok, "the session bus answers"),
                .init("portal", .ok, "the Secret portal answers"),
            ]
        } catch {
            findings = [.init(failure: error, of: "portal")]
        }
        do {
            let step =
                "If keys were stored, check XDG_DATA_HOME, or restore the file from a backup."
            findings.append(
                try sealed() != nil
                    ? .init("file", .ok, "the keys are in \(file)")
                    : .init(
                        "file",
                        .note,
                        "no key is stored yet: there is no \(file)",
                        nextStep: step
                    )
            )
        } catch {
            findings.append(.init(failure: error, of: "file"))
        }
        return KeyStoreDiagnosis(findings, besides: nil)
    }
}

extension KeyStoreDiagnosis {
    /// What keeps the keys, and what else may matter.
    fileprivate init(_ findings: [Finding], besides provider: String?) {
        // Where all is well, it doesn't matter what the session lacks.
        let session = findings.contains { $0.state != .ok } ? Session.boundaries : []
        self.findings = findings + session + OtherStore.findings(besides: provider)
    }
}

extension KeyStoreDiagnosis.Finding {
    fileprivate init(failure: any Error, of subject: String) {
        switch failure {
        case KeyStoreError.noBus: self.init("bus", .noBus)
        case let error as KeyStoreError: self.init(subject, error)
        default: self.init(subject, .failure(message: "\(failure)"))
        }
    }
}

extension ServiceConnection {
    fileprivate func state() throws -> (
        provider: KeyStoreProvider, findings: [KeyStoreDiagnosis.Finding]
    ) {
        let provider = provider()
        let keeper = "\(provider.name ?? "a program that isn't known") keeps the keys"
        var findings: [KeyStoreDiagnosis.Finding] = [
            .init("bus", .ok, "the session bus answers"),
            provider.hasWritten
                ? .init("service", .ok, keeper)
                : .init(
                    "service",
                    .warning,
                    "\(keeper), and may acknowledge one before it has written it",
                    nextStep: "Let it run for some seconds after a key was stored or rotated."
                ),
        ]
        let all = try collections()
        if provider.name == "GNOME Keyring" {
            findings += UnreadKeyring.all(besides: all.map(\.path)).map(\.finding)
        }
        let target = try collection(alias: "default")
        switch target {
        case nil:
            findings.append(.init("collection", .noCollection(name: "default")))
        case let target? where target.isLocked:
            findings.append(
                .init(
                    "collection",
                    .warning,
                    "the default collection \"\(target.label)\" is locked",
                    nextStep: "Unlock it in the desktop's password program, or answer the question."
                )
            )
        case let target?:
            findings.append(
                .init("collection", .ok, "the default collection \"\(target.label)\" is unlocked")
            )
        }
        if target?.isLocked ?? true { findings.append(Session.dialog) }
        let locked = all.filter { $0.isLocked && $0.path != target?.path }.map(\.label)
        if !locked.isEmpty {
            findings.append(
                .init(
                    "collection",
                    .warning,
                    "other collections are locked: \(locked.joined(separator: ", "))",
                    nextStep: "A key in one of them is found once it is unlocked."
                )
            )
        }
        return (provider, findings)
    }
}

// MARK: - The Session

private enum Session {
    static var dialog: KeyStoreDiagnosis.Finding {
        environmentVariable("WAYLAND_DISPLAY") ?? environmentVariable("DISPLAY") == nil
            ? .init(
                "dialog",
                .warning,
                "there is no display, so nobody can be asked for a password",
                nextStep: "Make or unlock the collection in the desktop session."
            )
            : .init("dialog", .ok, "the desktop can ask for a password")
    }

    /// What the process is cut off from the desktop's session by.
    static var boundaries: [KeyStoreDiagnosis.Finding] {
        var found: [(text: String, nextStep: String)] = []
        switch Sandbox.current {
        case .flatpak:
            found.append(
                (
                    "this runs in a Flatpak, whose bus is filtered",
                    "Without --talk-name=org.freedesktop.secrets, keys are in the portal's file."
                )
            )
        case .snap:
            found.append(
                (
                    "this runs in a Snap, whose bus is filtered",
                    "Without the interface password-manager-service, keys are in the portal's file."
                )
            )
        case nil: break
        }
        if isThere("/.dockerenv") || isThere("/run/.containerenv")
            || environmentVariable("container") != nil
        {
            found.append(
                (
                    "this runs in a container",
                    "A container has no desktop: give the key by a file, a command or a credential."
                )
            )
        }
        if environmentVariable("XDG_SESSION_ID") == nil,
            environmentVariable("XDG_RUNTIME_DIR") == nil
        {
            found.append(
                (
                    "this is no session of a log-in, as under cron or in a system service",
                    "Give the key by a file, a command or a credential."
                )
            )
        }
        if environmentVariable("SSH_CONNECTION") != nil {
            found.append(
                (
                    "this is an ssh session, which may have another bus than the desktop's",
                    "Use the bus of the desktop session, or give the key by a file or a command."
                )
            )
        }
        if let user = environmentVariable("SUDO_USER") {
            found.append(
                (
                    "this runs by sudo, so the keys of \(user) aren't looked at",
                    "Run it as the user who has the key."
                )
            )
        }
        return found.map { .init("session", .warning, $0.text, nextStep: $0.nextStep) }
    }
}

// MARK: - Other Stores

/// A key store of which there are files on this machine.
private struct OtherStore {
    let name: String
    let folder: String
    let suffix: String
    let nextStep: String

    /// Those that aren't the one that answers.
    static func findings(besides provider: String?) -> [KeyStoreDiagnosis.Finding] {
        all.filter { $0.name != provider }.compactMap { store in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: store.folder)) ?? []
            let files = names.filter { $0.hasSuffix(store.suffix) }.sorted()
            guard !files.isEmpty else { return nil }
            return .init(
                "otherStore",
                .note,
                "\(store.name) may have keys as well: "
                    + files.map { "\(store.folder)/\($0)" }.joined(separator: ", "),
                nextStep: store.nextStep
            )
        }
    }

    private static var all: [OtherStore] {
        let start =
            "If the key was stored there, end the program that answers now, and start that one: "
        return [
            OtherStore(
                name: "GNOME Keyring",
                folder: "\(UserFolder.data)/keyrings",
                suffix: ".keyring",
                nextStep: start + "gnome-keyring-daemon --replace --components=secrets"
            ),
            OtherStore(
                name: "KWallet",
                folder: "\(UserFolder.data)/kwalletd",
                suffix: ".kwl",
                nextStep: start + "kwalletd, with apiEnabled=true in kwalletrc."
            ),
            OtherStore(
                name: "KeePassXC",
                folder: "\(UserFolder.settings)/keepassxc",
                suffix: "keepassxc.ini",
                nextStep: start + "KeePassXC, with its Secret Service Integration switched on."
            ),
        ]
    }
}

private func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
