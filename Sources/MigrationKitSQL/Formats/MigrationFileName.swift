/// The parsed name of a file in a migrations folder.
struct MigrationFileName {
    enum Role: Hashable {
        /// Applies the step, or has both parts.
        case up
        /// Rolls the step back.
        case down
    }

    /// The path in the folder. It differs from the name only if the migration is a folder.
    let path: String
    /// The format that has such names; `nil` for `0001_name.sql`, whose markers show the format.
    let format: MigrationFormat?
    let role: Role
    /// The name without its endings.
    let identifier: String
    let version: MigrationVersion

    /// Parses a name.
    ///
    /// - Returns: `nil` for a file to ignore: it is hidden, or isn't SQL.
    /// - Throws: ``MigrationFolderError/unexpectedName(file:)`` or
    ///   ``MigrationFolderError/unsupportedFile(_:file:)``.
    static func read(_ name: String) throws -> MigrationFileName? {
        guard !name.hasPrefix(".") else { return nil }
        if let unsupported = UnsupportedFile(name: name) {
            throw MigrationFolderError.unsupportedFile(unsupported, file: name)
        }
        // On some file systems, the ending may be .SQL.
        guard name.lowercased().hasSuffix(".sql") else { return nil }
        for format in MigrationFormat.implementations {
            if let read = format.fileName(name) { return read }
        }
        guard let single = single(name) else {
            throw MigrationFolderError.unexpectedName(file: name)
        }
        return single
    }

    private static func single(_ name: String) -> MigrationFileName? {
        number(of: name).map {
            MigrationFileName(
                path: name,
                format: nil,
                role: .up,
                identifier: String(name.dropLast(".sql".count)),
                version: $0
            )
        }
    }

    /// The version at the beginning of a name.
    static func number(of name: String) -> MigrationVersion? {
        MigrationVersion(of: name, separators: "-.")
    }
}
