import Foundation
import MigrationKitCommon

/// What the stores below a folder are called: each has as its name its path from there on, without
/// its extension. So a name doesn't depend on the pattern or the list that led to the store.
///
/// ```
/// StoreNames(below: "/srv/tenants")   // /srv/tenants/eu/alice.db is eu/alice
/// ```
public final class StoreNames {
    private let folder: String
    private let resolved: String
    /// The folders of stores, resolved.
    private var folders: [String: String] = [:]

    /// - Parameter folder: The folder. The stores need not exist, and may be reached by links.
    public init(below folder: String) {
        self.folder = folder
        resolved = Self.resolved(folder)
    }

    /// The name of a store.
    ///
    /// - Parameter path: Its file. A link counts by its own name.
    /// - Throws: ``FleetError/outside(path:folder:)``.
    func name(ofPath path: String) throws -> String {
        let end = path.lastIndex(of: "/")
        let parent = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let file = end.map { path[path.index(after: $0)...] } ?? path[...]
        let place = folders[parent] ?? Self.resolved(parent)
        folders[parent] = place
        let root = resolved == "/" ? "/" : resolved + "/"
        guard !file.isEmpty, place == resolved || place.hasPrefix(root) else {
            throw FleetError.outside(path: path, folder: folder)
        }
        let below = place == resolved ? "" : place.dropFirst(root.count) + "/"
        return FleetStore.name(ofPath: below + file)
    }

    /// The absolute path of a folder without links; of one that doesn't exist, as it is written.
    private static func resolved(_ folder: String) -> String {
        guard let path = realpath(folder.isEmpty ? "." : folder, nil) else {
            return URL(fileURLWithPath: folder).standardizedFileURL.path
        }
        defer { free(path) }
        return String(cString: path)
    }
}
