/// The files of one migration, read, with their format.
struct MigrationSource {
    let files: MigrationFiles
    let format: MigrationFormat
    private let up: SQLOutline
    private let down: SQLOutline?
    private let metadata: SQLFile?

    /// Reads the files.
    ///
    /// - Throws: ``MigrationFolderError`` for text that is wrong in every format.
    init(_ files: MigrationFiles, in folder: SQLFolder) throws {
        self.files = files
        up = try SQLOutline(of: folder.read(files.up.path))
        down = try files.down.map { try SQLOutline(of: folder.read($0.path)) }
        switch files.up.layout {
        case .single: format = up.markers.first?.marker.format ?? .upOnly
        case .pair: format = .pairs
        case .folder: format = .diesel
        case .flyway: format = .flyway
        }
        let metadata = "\(files.up.identifier)/metadata.toml"
        self.metadata =
            try format == .diesel && folder.has(metadata) ? folder.read(metadata) : nil
    }

    /// Separates the parts, as the format has them.
    ///
    /// - Throws: ``MigrationFolderError`` for what is wrong in this format.
    func parts() throws -> MigrationParts {
        switch format {
        case .dbmate: try DbmateFormat.parts(of: up)
        case .goose: try GooseFormat.parts(of: up)
        case .pairs: try PairFormat.parts(up: up, down: down)
        case .upOnly: try UpOnlyFormat.parts(of: up)
        case .diesel: try DieselFormat.parts(up: up, down: down, metadata: metadata)
        case .flyway: try FlywayFormat.parts(up: up, down: down)
        }
    }
}
