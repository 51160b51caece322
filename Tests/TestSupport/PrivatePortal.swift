import Foundation

/// A sandbox as Flatpak makes one, with the desktop's portal on a private bus, and GNOME Keyring behind
/// it. From inside, only the portal can be reached.
public final class PrivatePortal: Sendable {
    /// Whether the programs are installed and may make a sandbox here.
    public static let isAvailable: Bool = {
        guard ["/usr/bin/xdg-dbus-proxy", portal].allSatisfy(isExecutable) else { return false }
        let trial = try? TestSupport.run("bwrap", ["--unshare-pid", "--ro-bind", "/", "/", "true"])
        return trial?.status == 0
    }()

    private static let portal = "/usr/libexec/xdg-desktop-portal"
    private static func isExecutable(_ path: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: path)
    }

    /// The bus, and what is outside of the sandbox.
    public let bus: PrivateSecretService

    private let programs: [ChildProcess]

    /// Returns once the portal answers.
    ///
    /// - Parameter reachesSecretService: Whether the Secret Service can be reached, too.
    public init(
        _ arrangement: PrivateSecretService.Arrangement = .unlocked,
        reachesSecretService: Bool = false
    ) throws {
        bus = try PrivateSecretService(arrangement)
        try bus.folder.makeFolder("config/xdg-desktop-portal")
        try bus.folder.write(
            "config/xdg-desktop-portal/portals.conf",
            "[preferred]\norg.freedesktop.impl.portal.Secret=gnome-keyring\n".utf8
        )
        let info = "[Application]\nname=org.example.Notes\n\n[Instance]\ninstance-id=1\n"
        try bus.folder.write("flatpak-info", info.utf8)
        // Flatpak keeps this of each instance, and xdg-desktop-portal 1.20 reads it.
        try bus.folder.makeFolder("run/.flatpak")
        try bus.folder.makeFolder("run/.flatpak/1")
        try bus.folder.write(
            "run/.flatpak/1/bwrapinfo.json",
            "{\"child-pid\": \(ProcessInfo.processInfo.processIdentifier)}".utf8
        )
        let desktop = try bus.supervise(
            [Self.portal],
            environment: ["XDG_CURRENT_DESKTOP": "GNOME"]
        )
        // The portal asks the kernel what the proxy's process runs in.
        let names =
            ["org.freedesktop.portal.*"]
            + (reachesSecretService ? ["org.freedesktop.secrets"] : [])
        let proxy = try bus.supervise(
            ["bwrap"] + Self.sandbox(bus)
                + [
                    "xdg-dbus-proxy", bus.environment["DBUS_SESSION_BUS_ADDRESS"] ?? "",
                    bus.folder.path("filtered-bus"), "--filter",
                ] + names.map { "--talk=\($0)" }
        )
        programs = [desktop, proxy]
        for _ in 0..<2000
        where try run(
            "dbus-send",
            [
                "--print-reply", "--dest=org.freedesktop.portal.Desktop",
                "/org/freedesktop/portal/desktop", "org.freedesktop.DBus.Properties.Get",
                "string:org.freedesktop.portal.Secret", "string:version",
            ]
        ).status == 0 { return }
        throw PrivateSecretService.Failure(description: "xdg-desktop-portal does not answer")
    }

    deinit {
        for program in programs { _ = try? program.finish() }
    }

    /// The environment of a program in the sandbox.
    public var environment: [String: String] {
        bus.environment.merging([
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(bus.folder.path("filtered-bus"))"
        ]) { $1 }
    }

    /// The words with which a program is started in the sandbox.
    public func words(_ executable: String, _ arguments: [String]) -> [String] {
        ["bwrap"] + Self.sandbox(bus) + [executable] + arguments
    }

    /// Runs a program in the sandbox.
    public func run(
        _ executable: String,
        _ arguments: [String] = [],
        input: String = "",
        environment additions: [String: String] = [:]
    ) throws -> ProcessResult {
        let words = words(executable, arguments)
        return try TestSupport.run(
            words[0],
            Array(words.dropFirst()),
            environment: environment.merging(additions) { $1 },
            input: input.utf8
        )
    }

    /// Everything of the machine, and the file by which a Flatpak is known.
    private static func sandbox(_ bus: PrivateSecretService) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/")) ?? []
        let binds = names.sorted().filter { !["dev", "proc", "tmp", ".flatpak-info"].contains($0) }
            .flatMap { name -> [String] in
                if let target = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/\(name)"
                ) {
                    return ["--symlink", target, "/\(name)"]
                }
                return ["--bind", "/\(name)", "/\(name)"]
            }
        return ["--unshare-pid", "--die-with-parent", "--tmpfs", "/"] + binds
            + ["--bind", "/tmp", "/tmp", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
            + ["--ro-bind", bus.folder.path("flatpak-info"), "/.flatpak-info"]
    }
}
