import GRDB

/// The content of a tool's version table.
struct VersionTable {
    /// The applied versions, as recorded in the table.
    var versions: [String] = []

    /// The versions up to which everything is applied, without a row for each. They need not be
    /// versions of files.
    var through: [String] = []

    /// The versions that were started and not finished.
    var unfinished: [String] = []

    /// The checksums of applied versions, if the tool records them.
    var checksums: [String: DatabaseValue] = [:]

    /// The scripts that have no version.
    var repeatable: Set<String> = []

    /// Whether the tool has done anything.
    var isEmpty: Bool {
        versions.isEmpty && through.isEmpty && unfinished.isEmpty && repeatable.isEmpty
    }

    mutating func add(_ version: String, checksum: DatabaseValue?) {
        versions.append(version)
        checksums[version] = checksum
    }

    mutating func remove(_ version: String) {
        versions.removeAll { $0 == version }
        unfinished.removeAll { $0 == version }
        checksums[version] = nil
    }
}
