import Foundation
import MigrationKitCommon

/// A pattern of paths, such as `tenants/**/*.db`.
///
/// In a component, `*` stands for any characters, `?` for one and `[...]` for one of several; a dot
/// at the beginning of a name must be in the pattern, too. `**` stands for any number of folders.
/// Only regular files count, and links below the pattern's fixed part are not followed.
public struct StorePattern {
    /// What matches a pattern, and isn't a store.
    public struct Skipped: Hashable, Sendable, Encodable {
        /// Its path.
        public let path: String
        /// What it is, such as `a link`.
        public let kind: String
    }

    private let pattern: String

    /// Whether the pattern matches a path or a name, component by component, as a whole. A dot at the
    /// beginning of a name is a character like any other.
    public func contains(_ path: String) -> Bool {
        (pattern.hasPrefix("/") == path.hasPrefix("/") || pattern.hasPrefix("**"))
            && Self.matches(components[...], path.split(separator: "/")[...])
    }

    private static func matches(
        _ pattern: ArraySlice<String>,
        _ path: ArraySlice<Substring>
    ) -> Bool {
        guard let component = pattern.first else { return path.isEmpty }
        if component == "**" {
            return matches(pattern.dropFirst(), path)
                || (!path.isEmpty && matches(pattern, path.dropFirst()))
        }
        guard let name = path.first, fnmatch(component, String(name), 0) == 0 else { return false }
        return matches(pattern.dropFirst(), path.dropFirst())
    }

    /// The part of the pattern before its first wildcard; empty for the working folder.
    public var fixedFolder: String {
        (pattern.hasPrefix("/") ? "/" : "") + fixed.joined(separator: "/")
    }

    private var components: [String] {
        pattern.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    }

    /// The last component is a file's, so it never belongs to the fixed folder.
    private var fixed: ArraySlice<String> {
        components.dropLast().prefix { !$0.contains(where: "*?[".contains) }
    }

    /// - Parameter pattern: The pattern.
    public init(_ pattern: String) {
        self.pattern = pattern
    }

    /// The stores that match, in the order of their paths, and what matches beside them.
    ///
    /// - Parameter names: The stores' names; `nil` for their paths relative to the pattern's fixed
    ///   folder, without their extensions: `eu/alice` for `tenants/eu/alice.db`.
    /// - Throws: ``FleetError``. A folder that can't be read is an error, since a store in it
    ///   would seem not to exist.
    public func matches(
        names: StoreNames? = nil
    ) throws -> (stores: [FleetStore], skipped: [Skipped]) {
        let folder = fixedFolder
        var found = Found()
        try search(folder, components[fixed.count...], &found)
        guard !found.paths.isEmpty else { throw FleetError.noStores(source: "'\(pattern)'") }
        let start = folder.isEmpty || folder == "/" ? folder.count : folder.count + 1
        let stores = try found.paths.sorted().map { path in
            FleetStore(
                name: try names?.name(ofPath: path)
                    ?? FleetStore.name(ofPath: path.dropFirst(start)),
                path: path
            )
        }
        try stores.checkNames()
        return (stores, found.skipped.sorted { $0.path < $1.path })
    }

    private struct Found {
        var paths: Set<String> = []
        var skipped: Set<Skipped> = []
    }

    private func search(
        _ folder: String,
        _ components: ArraySlice<String>,
        _ found: inout Found
    ) throws {
        guard let component = components.first else { return }
        let rest = components.dropFirst()
        if component == "**" { try search(folder, rest, &found) }
        let isLast = rest.isEmpty && component != "**"
        for name in try names(in: folder, component) {
            let path = folder.isEmpty ? name : folder == "/" ? "/\(name)" : "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case _ where isLast && Self.isSidecar(name): break
            case S_IFREG where isLast: found.paths.insert(path)
            // Every folder matches '*'; that says nothing.
            case S_IFDIR where isLast && component == "*": break
            case let type where isLast:
                found.skipped.insert(Skipped(path: path, kind: Self.kind(type)))
            case S_IFDIR: try search(path, component == "**" ? components : rest, &found)
            case S_IFLNK:
                guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { break }
                found.skipped.insert(Skipped(path: path, kind: "a link to a folder"))
            default: break
            }
        }
    }

    private static func kind(_ type: mode_t) -> String {
        switch type {
        case S_IFDIR: "a folder"
        case S_IFLNK: "a link"
        case S_IFIFO: "a pipe"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    private func names(in folder: String, _ component: String) throws -> [String] {
        guard component == "**" || component.contains(where: "*?[".contains) else {
            return [component]
        }
        do {
            return try namesInFolder(folder.isEmpty ? "." : folder).filter { name in
                component == "**"
                    ? !name.hasPrefix(".") : fnmatch(component, name, FNM_PERIOD) == 0
            }
        } catch {
            throw FleetError.listUnreadable(
                path: folder.isEmpty ? "." : folder,
                reason: error.reason
            )
        }
    }

    /// Whether a name is that of a file which SQLite or a run keeps beside a database.
    private static func isSidecar(_ name: String) -> Bool {
        ReservedNameError.suffixes
            .contains { name.hasSuffix($0) }
    }
}
