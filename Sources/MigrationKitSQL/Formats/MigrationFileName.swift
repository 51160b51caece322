/// What the name of a file in a migrations folder says.
struct MigrationFileName {
    enum Role: Hashable {
        /// What applies the step, or both parts.
        case up
        /// What takes it back.
        case down
    }

    /// The path in the folder, which is the name unless the migration is a folder of its own.
    let path: String
    /// The format that has such names; `nil` for `0001_name.sql`, whose markers show the format.
    let format: MigrationFormat?
    let role: Role
    /// The name without its endings.
    let identifier: String
    let version: MigrationVersion

    /// Reads a name.
    ///
    /// - Returns: `nil` for a file that is none of ours: a hidden one, or no SQL.
    /// - Throws: ``MigrationFolderError/unexpectedName(file:)`` or
    ///   ``MigrationFolderError/unsupportedFile(_:file:)``.
    static func read(_ name: String) throws -> MigrationFileName? {
        guard !name.hasPrefix(".") else { return nil }
        if let unsupported = UnsupportedFile(name: name) {
            throw MigrationFolderError.unsupportedFile(unsupported, file: name)
        }
        // A file system may have given a file the ending .SQL.
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

    /// The version of a name that begins with it.
    static func number(of name: String) -> MigrationVersion? {
        MigrationVersion(of: name, separators: "-.")
    }
}
