import Foundation

/// KeePassXC as the Secret Service of a private session bus, without a screen.
///
/// It runs as it is delivered, but for three settings: the service is switched on; what it asks
/// before it gives out or deletes an item is off unless a test wants it, since nobody could answer;
/// and unless a test wants it otherwise, it saves when it locks, not after every change (2.7.4 now and
/// then crashes when it saves while another change arrives, whoever stores).
public final class PrivateKeePassXC: @unchecked Sendable {
    // @unchecked: a test starts and stops its own program from one task at a time.

    /// Whether KeePassXC is installed.
    public static let isInstalled =
        (try? TestSupport.run("keepassxc-cli", ["--version"]).status) == 0

    /// The bus, and the environment with which a program finds it.
    public let bus: PrivateSecretService

    private let databases: [String]
    private let password = "\(UInt64.random(in: 1...UInt64.max))"
    private var program: ChildProcess?

    /// Makes databases, opens them all, and returns once they are unlocked.
    ///
    /// - Parameters:
    ///   - databases: What the files are called, without `.kdbx`. The last one is in front, and so
    ///     the default collection. Its label is "the NAME database" while it is unlocked.
    ///   - entries: What is in each of them from the start, as KeePass 2 XML.
    ///   - confirms: Whether it asks before it gives out or deletes an item, as it does by default.
    ///   - savesChanges: Whether it saves after every change, as it does by default.
    public init(
        databases: [String] = ["keys"],
        entries: String = "",
        confirms: Bool = false,
        savesChanges: Bool = false
    ) throws {
        bus = try PrivateSecretService(.noDaemon)
        self.databases = databases
        let configuration = """
            [General]
            UpdateCheckMessageShown=true
            AutoSaveAfterEveryChange=\(savesChanges)

            [GUI]
            CheckForUpdates=false

            [FdoSecrets]
            Enabled=true
            ShowNotification=false
            ConfirmAccessItem=\(confirms)
            ConfirmDeleteItem=\(confirms)

            """
        try bus.folder.write("keepassxc.ini", configuration.utf8)
        for name in databases { try makeDatabase(name, entries: entries) }
        try start()
    }

    deinit {
        stop()
    }

    /// Locks every database.
    public func lock() throws {
        try check(
            bus.run(
                "keepassxc",
                ["--config", path("keepassxc.ini"), "--lock"],
                environment: environment
            )
        )
        for name in databases {
            try wait("the database does not lock") { try isLocked(name) == true }
        }
    }

    /// Locks one database, which the Secret Service does by a prompt that asks nothing.
    public func lock(_ name: String) throws {
        let answer = try call(
            "/org/freedesktop/secrets",
            "org.freedesktop.Secret.Service.Lock",
            "array:objpath:/org/freedesktop/secrets/collection/\(name)"
        )
        let prompt = answer.stdout.split(separator: "\"").first {
            $0.hasPrefix("/org/freedesktop/secrets/prompt/")
        }
        guard let prompt else { throw failure("the database can't be locked: \(answer.stderr)") }
        try check(call(String(prompt), "org.freedesktop.Secret.Prompt.Prompt", "string:"))
        try wait("the database does not lock") { try isLocked(name) == true }
    }

    /// Takes back the question that is being shown, once there is one.
    public func dismissQuestion() throws {
        let folder = "/org/freedesktop/secrets/prompt"
        try wait("no question appears") {
            let answer = try call(folder, "org.freedesktop.DBus.Introspectable.Introspect")
            let pieces = answer.stdout.components(separatedBy: "<node name=\"")
            guard pieces.count > 1, let name = pieces[1].split(separator: "\"").first else {
                return false
            }
            try check(call("\(folder)/\(name)", "org.freedesktop.Secret.Prompt.Dismiss"))
            return true
        }
    }

    /// Kills KeePassXC, and starts it again with what it has saved.
    public func crash() throws {
        stop()
        try start()
    }

    /// Ends KeePassXC and starts it again, with the databases read from their files.
    public func restart() throws {
        // It saves before it locks.
        try lock()
        stop()
        try start()
    }

    private var environment: [String: String] {
        // The socket by which a second KeePassXC finds the first lies in the temporary folder.
        ["QT_QPA_PLATFORM": "offscreen", "TMPDIR": path("run")]
    }

    private func path(_ name: String) -> String {
        bus.folder.path(name)
    }

    private func makeDatabase(_ name: String, entries: String) throws {
        // The root group, by its identifier in the two spellings, is what programs may see.
        let exposed = UUID()
        let bytes = withUnsafeBytes(of: exposed.uuid) { Data($0) }
        let xml = """
            <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
            <KeePassFile>
              <Meta>
                <DatabaseName>the \(name) database</DatabaseName>
                <CustomData><Item>
                  <Key>FDO_SECRETS_EXPOSED_GROUP</Key>
                  <Value>{\(exposed.uuidString.lowercased())}</Value>
                </Item></CustomData>
              </Meta>
              <Root><Group>
                <UUID>\(bytes.base64EncodedString())</UUID><Name>root</Name>
                \(entries)
              </Group></Root>
            </KeePassFile>
            """
        try bus.folder.write("\(name).xml", xml.utf8)
        try check(
            bus.run(
                "keepassxc-cli",
                ["import", "-q", "-p", "-t", "100", path("\(name).xml"), path("\(name).kdbx")],
                input: "\(password)\n\(password)\n",
                environment: environment
            )
        )
    }

    private func start() throws {
        program = try bus.supervise(
            ["keepassxc", "--config", path("keepassxc.ini"), "--localconfig", path("local.ini")],
            environment: environment
        )
        try wait("KeePassXC does not answer") {
            try call("/org/freedesktop/secrets", "org.freedesktop.DBus.Peer.Ping").status == 0
        }
        // With --pw-stdin, which would do the same, 2.7.10 crashes when nobody sees its window:
        // https://github.com/keepassxreboot/keepassxc/issues/13521
        let window = "org.keepassxc.KeePassXC.MainWindow"
        for name in databases {
            try check(
                bus.run(
                    "dbus-send",
                    ["--print-reply", "--dest=\(window)", "/keepassxc", "\(window).openDatabase"]
                        + ["string:\(path("\(name).kdbx"))", "string:\(password)"]
                )
            )
            try wait("the database does not open") { try isLocked(name) == false }
        }
    }

    private func stop() {
        _ = try? program?.finish()
        program = nil
    }

    /// Nil while there is no such collection.
    private func isLocked(_ name: String) throws -> Bool? {
        let answer = try call(
            "/org/freedesktop/secrets/collection/\(name)",
            "org.freedesktop.DBus.Properties.Get",
            "string:org.freedesktop.Secret.Collection",
            "string:Locked"
        )
        guard answer.status == 0 else { return nil }
        return answer.stdout.contains("boolean true")
    }

    private func call(_ words: String...) throws -> ProcessResult {
        try bus.run("dbus-send", ["--print-reply", "--dest=org.freedesktop.secrets"] + words)
    }

    private func wait(_ complaint: String, until done: () throws -> Bool) throws {
        for _ in 0..<4000 where try done() { return }
        throw failure(complaint)
    }

    private func check(_ result: ProcessResult) throws {
        guard result.status == 0 else { throw failure(result.stderr) }
    }

    private func failure(_ description: String) -> PrivateSecretService.Failure {
        PrivateSecretService.Failure(description: description)
    }
}
