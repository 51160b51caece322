import Foundation

/// KWallet as the Secret Service of a private session bus, without a screen.
///
/// It is as it is delivered, but for the Secret Service, which is switched on. Unless it was made without
/// one, it has one wallet, which is opened as the desktop's log-in does it.
public final class PrivateKWallet: @unchecked Sendable {
    // @unchecked: a test starts and stops its own program from one task at a time.

    /// Whether KWallet is installed.
    public static let isInstalled = FileManager.default.isExecutableFile(atPath: program)

    private static let program = "/usr/bin/kwalletd5"

    /// The bus, and the environment with which a program finds it.
    public let bus: PrivateSecretService

    /// What the log-in derives from the password.
    private let hash = (0..<56).map { _ in UInt8.random(in: 0...255) }
    private let hasWallet: Bool
    private var daemon: ChildProcess?

    /// Makes the wallet, and returns once it answers.
    public init(hasWallet: Bool = true) throws {
        self.hasWallet = hasWallet
        bus = try PrivateSecretService(.noDaemon)
        let settings = """
            [Wallet]
            First Use=false

            [org.freedesktop.secrets]
            apiEnabled=true

            """
        try bus.folder.write("config/kwalletrc", settings.utf8)
        try start()
        // It offers a wallet as a collection only from the next start on.
        if hasWallet { try crash() }
    }

    deinit {
        stop()
    }

    /// Kills KWallet, and starts it again with what it has written.
    public func crash() throws {
        stop()
        try start()
    }

    private func start() throws {
        daemon = try bus.supervise([Self.program], environment: ["QT_QPA_PLATFORM": "offscreen"])
        guard hasWallet else {
            return try wait { try call(["org.kde.KWallet.wallets"]).status == 0 }
        }
        let bytes = hash.map { "\($0)" }.joined(separator: ",")
        try wait {
            let words = ["org.kde.KWallet.pamOpen", "string:kdewallet", "array:byte:\(bytes)"]
            return try call(words + ["int32:0"]).status == 0
        }
        try wait {
            try call(["org.kde.KWallet.isOpen", "string:kdewallet"]).stdout
                .contains("boolean true")
        }
    }

    private func stop() {
        _ = try? daemon?.finish()
        daemon = nil
    }

    private func call(_ words: [String]) throws -> ProcessResult {
        try bus.run(
            "dbus-send",
            ["--print-reply", "--dest=org.kde.kwalletd5", "/modules/kwalletd5"] + words
        )
    }

    private func wait(until done: () throws -> Bool) throws {
        for _ in 0..<4000 where try done() { return }
        throw PrivateSecretService.Failure(description: "KWallet does not answer")
    }
}
