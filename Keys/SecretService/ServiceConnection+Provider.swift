import CLibSecret
import MigrationKitKeys

extension SecretServiceKeyStore {
    /// The program that answers as the Secret Service. KWallet is told to write.
    public func provider() throws -> KeyStoreProvider? {
        try perform(nil, nil) { try $0.connection().provider() }
    }
}

extension ServiceConnection {
    /// The program that answers, as one that may lose what it hasn't written unless it is known to
    /// have written. Nobody is asked, and nothing is unlocked.
    func provider() -> KeyStoreProvider {
        let owner = text(g_dbus_proxy_get_name_owner(service.pointer)) ?? ""
        // Both are made anew with each bus, and a bus never gives the same name out again.
        // https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol-names-bus
        let bus =
            g_dbus_connection_get_guid(bus.connection.pointer).map { String(cString: $0) } ?? ""
        func isOwned(_ name: String) -> Bool { !owner.isEmpty && self.owner(of: name) == owner }

        let name: String?
        var hasWritten = false
        if isOwned("org.gnome.keyring") {
            // It replaces its file before it answers.
            (name, hasWritten) = ("GNOME Keyring", true)
        } else if let wallet = Wallet.services.first(where: { isOwned($0.busName) }) {
            (name, hasWritten) = ("KWallet", (try? write(wallet)) != nil)
        } else {
            name = isOwned("org.keepassxc.KeePassXC.MainWindow") ? "KeePassXC" : nil
        }
        return KeyStoreProvider(name: name, run: "\(bus) \(owner)", hasWritten: hasWritten)
    }

    /// The unique name of the program that owns a well-known one; `nil` if there is none.
    func owner(of name: String) -> String? {
        let answer = try? bus.call(
            "org.freedesktop.DBus",
            "/org/freedesktop/DBus",
            "org.freedesktop.DBus.GetNameOwner",
            [.string(name)]
        )
        return answer?.strings.first
    }

    // MARK: - KWallet

    /// KWallet's own service, beside the Secret Service of the same program.
    /// <https://api.kde.org/frameworks/kwallet/html/classKWallet_1_1Wallet.html>
    private struct Wallet {
        let busName: String
        let path: String

        static let services = [
            Wallet(busName: "org.kde.kwalletd5", path: "/modules/kwalletd5"),
            Wallet(busName: "org.kde.kwalletd6", path: "/modules/kwalletd6"),
        ]
    }

    /// Whether KWallet has a wallet open that it calls locked: the log-in opens it, and its Secret Service
    /// learns that only when it is asked to unlock it. That asks nobody.
    func hasOpenWallet(_ name: String) -> Bool {
        Wallet.services.contains { service in
            let answer = try? bus.call(
                service.busName,
                service.path,
                "org.kde.KWallet.isOpen",
                [.string(name)]
            )
            return answer?.integers.first == 1
        }
    }

    /// Has KWallet write every wallet that is open, and returns when they are written.
    private func write(_ service: Wallet) throws {
        let program = "migrationkit"
        func ask(_ method: String, _ arguments: [BusValue]) throws -> BusAnswer {
            try bus.call(service.busName, service.path, "org.kde.KWallet.\(method)", arguments)
        }
        for wallet in try ask("wallets", []).strings {
            guard try ask("isOpen", [.string(wallet)]).integers.first == 1 else { continue }
            let handle =
                try ask("open", [.string(wallet), .integer64(0), .string(program)])
                .integers.first ?? -1
            guard handle >= 0 else {
                throw KeyStoreError.failure(message: "KWallet gives no access to \"\(wallet)\"")
            }
            _ = try ask("sync", [.integer(handle), .string(program)])
            // The other answers come in order. "sync" has none of its own.
            _ = try ask("close", [.integer(handle), .boolean(false), .string(program)])
        }
    }
}
