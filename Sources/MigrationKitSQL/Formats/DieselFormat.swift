/// A folder `2024-01-05-120000_name` with `up.sql`, `down.sql` and perhaps `metadata.toml`.
///
/// <https://docs.rs/diesel_migrations>
struct DieselFormat: FolderFormat {
    let phrase = "is in a folder, as in diesel"
    let files = "A folder 0001_name with up.sql and down.sql in it"
    let example = "0001_name/up.sql and 0001_name/down.sql"
    let wayOutOfTransaction: String? =
        "has a metadata.toml with the line: run_in_transaction = false"
    let zero = "0000-00-00-000000"

    func number(in identifier: String) -> String {
        String(identifier.prefix { ("0"..."9").contains($0) || $0 == "-" })
    }

    func files(for identifier: String, takesBack: Bool, sql: NewMigrationSQL)
        -> [(path: String, text: String)]
    {
        [
            ("\(identifier)/up.sql", upComment(identifier) + text(of: sql.up)),
            ("\(identifier)/down.sql", downComment(identifier) + text(of: sql.down)),
        ]
    }

    /// A folder is a migration if its name begins with a digit and there is SQL in it.
    func fileNames(
        inFolder folder: String,
        contents: () throws -> [String]
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
                    format: .diesel,
                    role: name == "up.sql" ? .up : .down,
                    identifier: folder,
                    version: version
                )
            }
    }

    /// The version of a migration's folder: the text before the first underscore, without its
    /// dashes. Diesel runs its migrations in the order of these texts: `20240313` comes after
    /// `20240105120000`.
    /// <https://github.com/diesel-rs/diesel/blob/master/diesel_migrations/migrations_internals/src/lib.rs>
    ///
    /// - Returns: `nil` if the name doesn't begin with a digit.
    func version(of folder: String) -> MigrationVersion? {
        let text = String(folder.prefix { $0 != "_" }.filter { $0 != "-" })
        guard let first = text.utf8.first,
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else { return nil }
        return MigrationVersion(text: text)
    }

    func metadataPath(of identifier: String) -> String? { "\(identifier)/metadata.toml" }

    func parts(up: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws -> MigrationParts {
        MigrationParts(
            up: try .init(whole: up),
            down: try down.map { try .init(whole: $0) },
            usesTransaction: try metadata.map(runsInTransaction) ?? true
        )
    }

    /// Reads the only key that a `metadata.toml` may have. Any other content is an error, since it
    /// would have no effect here.
    private func runsInTransaction(_ metadata: SQLFile) throws -> Bool {
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
