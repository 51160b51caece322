import MigrationKit

extension CheckQuery {
    /// Reads the checks of a folder: the statements of its `.sql` files, in the order of their names.
    ///
    /// Each is named by the comment directly above it, or else by its place. Hidden files and
    /// subfolders are ignored.
    ///
    /// ```swift
    /// let runner = try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false)
    ///     .checking(CheckQuery.inFolder("checks"))
    /// ```
    ///
    /// - Parameter path: The folder's path.
    /// - Throws: ``MigrationFolderError``, also for a file without a query, or with anything else.
    public static func inFolder(_ path: String) throws -> [CheckQuery] {
        try inFolder(path, ofStranger: false)
    }

    /// - Parameter ofStranger: Whether no link may leave the folder's repository.
    package static func inFolder(_ path: String, ofStranger: Bool) throws -> [CheckQuery] {
        let folder = SQLFolder(named: path, ofStranger: ofStranger)
        return try folder.sqlFiles().flatMap { name in
            let outline = try SQLOutline(of: folder.read(name))
            let markers = outline.markers.map { ($0.marker.text, $0.range.lowerBound) }
            if let marker = (markers + outline.checkMarkers).first {
                throw MigrationFolderError.markerInWholeFile(
                    marker.0,
                    at: outline.file.place(at: marker.1)
                )
            }
            return try outline.file.checks(outline.statements)
        }
    }
}
