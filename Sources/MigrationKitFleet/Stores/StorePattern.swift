import Foundation
import MigrationKitCommon

/// A pattern of paths, such as `tenants/**/*.db`.
///
/// In a component, `*` stands for any characters, `?` for one and `[...]` for one of several; a dot
/// at the beginning of a name must be in the pattern, too. `**` stands for any number of folders.
/// Only regular files count, and links below the pattern's fixed part are not followed.
public struct StorePattern {
    private let pattern: String

    /// - Parameter pattern: The pattern.
    public init(_ pattern: String) {
        self.pattern = pattern
    }

    /// The stores that match, in the order of their paths. Each has as its name its path relative to
    /// the pattern's fixed folder, without its extension: `eu/alice` for `tenants/eu/alice.db`.
    ///
    /// - Throws: ``FleetListError``. A folder that can't be read is an error, since a store in it
    ///   would seem not to exist.
    public func stores() throws -> [FleetStore] {
        let components = pattern.split(separator: "/", omittingEmptySubsequences: true)
            .map(String.init)
        // The last component is a file's, so it never belongs to the fixed folder.
        let fixed = components.dropLast().prefix { !$0.contains(where: "*?[".contains) }
        let folder = (pattern.hasPrefix("/") ? "/" : "") + fixed.joined(separator: "/")
        var found: Set<String> = []
        try search(folder, components[fixed.count...], &found)
        guard !found.isEmpty else { throw FleetListError.noStores(source: "'\(pattern)'") }
        let start = folder.isEmpty || folder == "/" ? folder.count : folder.count + 1
        let stores = found.sorted().map { path in
            FleetStore(name: FleetStore.name(ofPath: path.dropFirst(start)), path: path)
        }
        try stores.checkNames()
        return stores
    }

    private func search(
        _ folder: String,
        _ components: ArraySlice<String>,
        _ found: inout Set<String>
    ) throws {
        guard let component = components.first else { return }
        let rest = components.dropFirst()
        if component == "**" { try search(folder, rest, &found) }
        for name in try names(in: folder, component) {
            let path = folder.isEmpty ? name : folder == "/" ? "/\(name)" : "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFREG where rest.isEmpty && component != "**":
                if !Self.isSidecar(name) { found.insert(path) }
            case S_IFDIR where component == "**":
                try search(path, components, &found)
            case S_IFDIR:
                try search(path, rest, &found)
            default: break
            }
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
            throw FleetListError.unreadable(
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
