/// The files of one migration, read, with their format.
struct MigrationSource {
    let files: MigrationFiles
    let format: MigrationFormat
    private let up: SQLOutline
    private let down: SQLOutline?
    private let metadata: SQLFile?

    /// Reads the files.
    ///
    /// - Throws: ``MigrationFolderError`` for text that no format allows.
    init(_ files: MigrationFiles, in folder: SQLFolder) throws {
        self.files = files
        up = try SQLOutline(of: folder.read(files.up.path))
        down = try files.down.map { try SQLOutline(of: folder.read($0.path)) }
        format = files.up.format ?? up.markers.first?.marker.format ?? .upOnly
        metadata = try format.implementation.metadataPath(of: files.up.identifier)
            .flatMap { folder.has($0) ? try folder.read($0) : nil }
    }

    /// Separates the parts according to the format.
    ///
    /// - Throws: ``MigrationFolderError`` for text that this format doesn't allow.
    func parts() throws -> MigrationParts {
        try format.implementation.parts(up: up, down: down, metadata: metadata)
    }
}
