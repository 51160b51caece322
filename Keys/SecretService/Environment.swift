import FoundationEssentials
import Glibc

/// What keeps a program from the rest of the desktop.
enum Sandbox: String {
    case flatpak = "Flatpak"
    case snap = "Snap"

    /// `nil` outside of one.
    /// <https://docs.flatpak.org/en/latest/sandbox-permissions.html>,
    /// <https://snapcraft.io/docs/environment-variables>
    static var current: Sandbox? {
        if access("/.flatpak-info", F_OK) == 0 { return .flatpak }
        return environmentVariable("SNAP") == nil ? nil : .snap
    }
}

/// The user's folders. <https://specifications.freedesktop.org/basedir-spec/latest/>
enum UserFolder {
    static var data: String { named("XDG_DATA_HOME") ?? "\(home)/.local/share" }
    static var settings: String { named("XDG_CONFIG_HOME") ?? "\(home)/.config" }

    private static var home: String { FileManager.default.homeDirectoryForCurrentUser.path }

    /// A relative path is to be ignored.
    private static func named(_ variable: String) -> String? {
        environmentVariable(variable).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}

/// A variable of the environment; `nil` if it is unset or empty.
func environmentVariable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
}
