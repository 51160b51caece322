import Foundation

extension MigrationNamePattern {
    /// Reads the name of a file.
    ///
    /// - Returns: `nil` if it doesn't match.
    func fileName(_ name: String) -> MigrationFileName? {
        let endings: [(String, MigrationFileName.Role)] =
            hasDirection ? [(".up.sql", .up), (".down.sql", .down)] : [(".sql", .up)]
        guard let (ending, role) = endings.first(where: { name.hasSuffix($0.0) }) else {
            return nil
        }
        let identifier = name.dropLast(ending.count)
        guard let digits = number(in: identifier),
            identifier.dropFirst(prefix.count + digits.count).hasPrefix(separator),
            identifier.count > prefix.count + digits.count + separator.count,
            let version = MigrationVersion(of: digits, separators: "")
        else { return nil }
        return MigrationFileName(
            path: name,
            format: hasDirection ? .pairs : nil,
            role: role,
            identifier: String(identifier),
            version: version
        )
    }
}
