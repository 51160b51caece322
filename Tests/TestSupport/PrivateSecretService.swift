import Foundation

/// A session bus of a test's own with a gnome-keyring-daemon on it, in a private home.
///
/// Nothing of the session that runs the tests is reached or changed. Both daemons end with this
/// object, and also when the test process is killed.
public final class PrivateSecretService: @unchecked Sendable {
    // @unchecked: a test starts and stops its own service from one task at a time.

    /// How far the service is set up.
    public enum Arrangement: Sendable {
        /// A daemon whose default collection, "login", is unlocked.
        case unlocked
        /// A daemon whose default collection, "login", has no password, and so is a text file.
        case withoutPassword
        /// A daemon that has no default collection.
        case noCollection
        /// A bus without any Secret Service.
        case noDaemon
    }

    /// What went wrong in setting up.
    public struct Failure: Error, CustomStringConvertible {
        /// What went wrong, with the program's own words.
        public let description: String

        /// Says what went wrong.
        public init(description: String) {
            self.description = description
        }
    }

    /// The environment with which a program finds this bus, and the private home.
    public let environment: [String: String]
    /// The folder that holds everything; goes with this object.
    public let folder: TemporaryFolder

    private let password = "\(UInt64.random(in: 1...UInt64.max))"
    private var bus: ChildProcess?
    private var daemon: ChildProcess?
    private var daemonIdentifier: pid_t = 0

    /// Starts the bus and, unless told otherwise, the daemon; returns once it answers.
    public init(_ arrangement: Arrangement = .unlocked) throws {
        try OtherProgram.require("a Secret Service")
        folder = try TemporaryFolder()
        for name in ["home", "data", "config", "cache", "run", "services"] {
            try folder.makeFolder(name)
        }
        environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "HOME": folder.path("home"),
            "XDG_DATA_HOME": folder.path("data"),
            "XDG_CONFIG_HOME": folder.path("config"),
            "XDG_CACHE_HOME": folder.path("cache"),
            "XDG_RUNTIME_DIR": folder.path("run"),
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.path("bus"))",
        ]
        // A service folder of its own, empty at first, so that the bus starts nothing by itself:
        // neither a second daemon nor a window that asks for a password.
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>unix:path=\(folder.path("bus"))</listen>
              <servicedir>\(folder.path("services"))</servicedir>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
            </busconfig>
            """
        try folder.write("bus.conf", configuration.utf8)
        try folder.write("password", password.utf8)
        try folder.write("wrong-password", "not \(password)".utf8)

        let bus = try supervise(
            ["dbus-daemon", "--nofork", "--nopidfile", "--print-address"]
                + ["--config-file=\(folder.path("bus.conf"))"]
        )
        self.bus = bus
        guard bus.readLine() != nil, bus.readLine() != nil else {
            throw Failure(description: "dbus-daemon did not start: \(try bus.finish().stderr)")
        }
        switch arrangement {
        case .unlocked: try startDaemon(passwordFile: "password")
        case .withoutPassword:
            try folder.makeFolder("data/keyrings")
            try folder.write("data/keyrings/default", "login".utf8)
            try folder.write("data/keyrings/login.keyring", "[keyring]\ndisplay-name=login\n".utf8)
            try startDaemon(passwordFile: nil)
        case .noCollection: try startDaemon(passwordFile: nil)
        case .noDaemon: break
        }
    }

    deinit {
        stop()
    }

    /// Runs a program in this service's environment.
    public func run(
        _ executable: String,
        _ arguments: [String] = [],
        input: String = "",
        environment additions: [String: String] = [:]
    ) throws -> ProcessResult {
        try TestSupport.run(
            executable,
            arguments,
            environment: environment.merging(additions) { $1 },
            input: input.utf8
        )
    }

    /// Waits until a daemon answers that was started in the background.
    public func awaitDaemon() throws {
        for _ in 0..<200 {
            let result = try run(
                "dbus-send",
                [
                    "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus",
                    "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets",
                ]
            )
            if result.stdout.contains("boolean true") { return }
            usleep(50_000)
        }
        throw Failure(description: "no daemon answers")
    }

    /// Locks the default collection, as a desktop does when its user leaves.
    public func lock() throws {
        // secret-tool 0.20 crashes in its own `lock`.
        let result = try run(
            "dbus-send",
            [
                "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets",
                "org.freedesktop.Secret.Service.Lock",
                "array:objpath:/org/freedesktop/secrets/collection/login",
            ]
        )
        guard result.status == 0 else {
            throw Failure(description: "the collection can't be locked: \(result.stderr)")
        }
    }

    /// Unlocks the default collection, by starting the daemon again with its password.
    public func unlock() throws {
        stopDaemon()
        try startDaemon(passwordFile: "password")
    }

    /// Starts the daemon again without a password, which a collection without one doesn't need.
    public func restart() throws {
        stopDaemon()
        try startDaemon(passwordFile: nil)
    }

    /// Starts the daemon again with a wrong password, which leaves the collection locked.
    public func restartLocked() throws {
        stopDaemon()
        try startDaemon(passwordFile: "wrong-password")
    }

    /// Makes every question for a password wait for ever: what should show it never appears.
    public func makeQuestionsWait() throws {
        let program = """
            [D-BUS Service]
            Name=org.gnome.keyring.SystemPrompter
            Exec=/bin/sh -c 'exec sleep 20 >/dev/null 2>&1'
            """
        try folder.write("services/org.gnome.keyring.SystemPrompter.service", program.utf8)
    }

    /// Whether the daemon that was started last is still there.
    public var isRunning: Bool { kill(daemonIdentifier, 0) == 0 }

    /// Stops the daemon in its tracks: it keeps its name on the bus and answers nothing.
    public func suspend() {
        kill(daemonIdentifier, SIGSTOP)
    }

    /// Lets a suspended daemon go on.
    public func resume() {
        kill(daemonIdentifier, SIGCONT)
    }

    /// Ends the daemon and leaves the bus.
    public func stopDaemon() {
        guard let daemon else { return }
        resume()
        _ = try? daemon.finish()
        self.daemon = nil
    }

    /// Ends the daemon and the bus.
    public func stop() {
        stopDaemon()
        _ = try? bus?.finish()
        bus = nil
    }

    private func startDaemon(passwordFile: String?) throws {
        var words = ["gnome-keyring-daemon", "--foreground", "--components=secrets"]
        if passwordFile != nil { words.append("--unlock") }
        let daemon = try supervise(
            words,
            input: passwordFile.map(folder.path) ?? "/dev/null"
        )
        guard let line = daemon.readLine(), let identifier = pid_t(line) else {
            throw Failure(description: "the daemon's supervisor did not start")
        }
        self.daemon = daemon
        daemonIdentifier = identifier
        // The bus is asked until the daemon has its name, and the daemon until it answers.
        for _ in 0..<2000 {
            let answer = try run(
                "dbus-send",
                [
                    "--print-reply", "--dest=org.freedesktop.secrets", "/org/freedesktop/secrets",
                    "org.freedesktop.Secret.Service.ReadAlias", "string:default",
                ]
            )
            if answer.status == 0 { return }
            guard kill(identifier, 0) == 0 else { break }
        }
        throw Failure(description: "gnome-keyring-daemon does not answer")
    }

    /// Starts a daemon under a shell that kills it once the shell's standard input ends, which it
    /// does when the test process goes, however it goes. Its first line is the daemon's id.
    func supervise(
        _ words: [String],
        input: String = "/dev/null",
        environment additions: [String: String] = [:]
    ) throws -> ChildProcess {
        let script = """
            exec 3<&0
            input=$1; shift
            "$@" <"$input" 3<&- 2>>"$HOME/daemons.log" &
            echo $!
            read -r line <&3
            kill -KILL $!
            wait
            """
        return try ChildProcess(
            "/bin/sh",
            ["-c", script, "supervisor", input] + words,
            environment: environment.merging(additions) { $1 },
            newSession: true
        )
    }
}
