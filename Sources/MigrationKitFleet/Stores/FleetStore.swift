/// One of many stores.
public struct FleetStore: Hashable, Sendable {
    /// Its name: the same on every machine and in every run. Keys, shards and reports go by it.
    public let name: String

    /// Its file.
    public let path: String

    /// A group that the list of stores puts it into, such as `canary`.
    public let group: String?

    /// - Parameters:
    ///   - name: Its name.
    ///   - path: Its file.
    ///   - group: Its group.
    public init(name: String, path: String, group: String? = nil) {
        self.name = name
        self.path = path
        self.group = group
    }

    /// A path without the extension of its last component: the name of a store that has no other.
    static func name(ofPath path: some StringProtocol) -> String {
        let start = path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex
        guard let dot = path[start...].lastIndex(of: "."), dot > start else { return String(path) }
        return String(path[..<dot])
    }
}

extension [FleetStore] {
    /// Throws if two stores have the same name.
    ///
    /// - Throws: ``FleetError/sameName(_:paths:)``.
    func checkNames() throws {
        var paths: [String: String] = [:]
        for store in self {
            guard let other = paths.updateValue(store.path, forKey: store.name) else { continue }
            throw FleetError.sameName(store.name, paths: [other, store.path])
        }
    }
}
