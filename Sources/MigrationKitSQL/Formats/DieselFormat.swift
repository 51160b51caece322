/// A folder `2024-01-05-120000_name` with `up.sql`, `down.sql` and perhaps `metadata.toml`.
///
/// <https://docs.rs/diesel_migrations>
enum DieselFormat {
    /// The files of a folder in the migrations folder.
    ///
    /// - Returns: None if the folder is no migration: its name begins with no number, or there is
    ///   no SQL in it.
    /// - Throws: ``MigrationFolderError/unexpectedName(file:)`` for SQL that is neither part, and
    ///   ``MigrationFolderError/downWithoutUp(file:)``.
    static func names(
        inFolder folder: String,
        contents: @autoclosure () throws -> [String]
    ) throws -> [MigrationFileName] {
        guard let version = version(of: folder) else { return [] }
        return try contents().sorted()
            .filter { $0.lowercased().hasSuffix(".sql") && !$0.hasPrefix(".") }
            .map { name in
                guard ["up.sql", "down.sql"].contains(name) else {
                    throw MigrationFolderError.unexpectedName(file: "\(folder)/\(name)")
                }
                return MigrationFileName(
                    path: "\(folder)/\(name)",
                    layout: .folder,
                    role: name == "up.sql" ? .up : .down,
                    identifier: folder,
                    version: version
                )
            }
    }

    /// The version of a migration's folder: the text before the first underscore, without its
    /// dashes. Diesel runs its migrations in the order of these texts, in which `20240313` comes
    /// behind `20240105120000`.
    /// <https://github.com/diesel-rs/diesel/blob/master/diesel_migrations/migrations_internals/src/lib.rs>
    ///
    /// - Returns: `nil` if the name doesn't begin with a digit.
    static func version(of folder: some StringProtocol) -> MigrationVersion? {
        let text = String(folder.prefix { $0 != "_" }.filter { $0 != "-" })
        guard let first = text.utf8.first,
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else { return nil }
        return MigrationVersion(text: text)
    }

    static func parts(
        up: SQLOutline,
        down: SQLOutline?,
        metadata: SQLFile?
    ) throws -> MigrationParts {
        MigrationParts(
            up: try .init(whole: up),
            down: try down.map { try .init(whole: $0) },
            usesTransaction: try metadata.map(runsInTransaction) ?? true
        )
    }

    /// Reads the one key that a `metadata.toml` may have. A line that says anything else is
    /// refused, since nothing here would follow it.
    private static func runsInTransaction(_ metadata: SQLFile) throws -> Bool {
        var value: Bool?
        var offset = 0
        for line in metadata.bytes.split(
            separator: UInt8(ascii: "\n"),
            omittingEmptySubsequences: false
        ) {
            defer { offset += line.count + 1 }
            let text = String(decoding: line, as: UTF8.self)
            guard text.wholeMatch(of: /\s*(#.*)?/) == nil else { continue }
            let setting = /\s*run_in_transaction\s*=\s*(true|false)\s*(#.*)?/
            guard let match = text.wholeMatch(of: setting), value == nil else {
                let indent = line.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
                throw MigrationFolderError.unknownMetadata(
                    at: metadata.place(at: offset + indent.count)
                )
            }
            value = match.1 == "true"
        }
        return value ?? true
    }
}
