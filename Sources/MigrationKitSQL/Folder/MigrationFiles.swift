/// The files of one migration.
struct MigrationFiles {
    /// The file that applies the step, or has both parts. It represents the migration.
    let up: MigrationFileName
    /// The file that rolls the step back.
    let down: MigrationFileName?

    /// Groups the files of a folder.
    ///
    /// - Parameter names: The files of migrations in the folder.
    /// - Returns: The migrations, sorted by version.
    /// - Throws: ``MigrationFolderError`` if the names don't form a list of migrations.
    static func group(_ names: [MigrationFileName]) throws -> [MigrationFiles] {
        struct Key: Hashable {
            let format: MigrationFormat?
            let version: MigrationVersion
        }
        // Names that are already sorted need only one pass.
        let names = names.sorted { ($0.version, $0.path) < ($1.version, $1.path) }
        let groups = Dictionary(grouping: names) { Key(format: $0.format, version: $0.version) }
        return try names.compactMap { name in
            let key = Key(format: name.format, version: name.version)
            guard let group = groups[key], group[0].path == name.path else { return nil }
            return try files(group, of: name.version)
        }
    }

    private static func files(
        _ names: [MigrationFileName],
        of version: MigrationVersion
    ) throws -> MigrationFiles {
        let ups = names.filter { $0.role == .up }
        let downs = names.filter { $0.role == .down }
        for sameRole in [ups, downs] where sameRole.count > 1 {
            throw MigrationFolderError.duplicateVersion(
                version.description,
                files: sameRole.map(\.path).sorted()
            )
        }
        if let down = downs.first {
            let shareName = down.format?.implementation.filesShareName ?? true
            guard let up = ups.first, !shareName || up.identifier == down.identifier else {
                throw MigrationFolderError.downWithoutUp(file: down.path)
            }
        }
        return MigrationFiles(up: ups[0], down: downs.first)
    }
}
