extension SQLOutline {
    /// Reads a file with the markers of all formats.
    ///
    /// - Throws: ``MigrationFolderError/unterminatedStatement(missing:at:)`` or
    ///   ``MigrationFolderError/misspeltMarker(_:at:)``.
    init(of file: SQLFile) throws {
        try self.init(of: file) { comment, isAtLineStart in
            for format in MigrationFormat.implementations {
                let reading = format.marker(in: comment, isAtLineStart: isAtLineStart)
                if reading != .comment { return reading }
            }
            return .comment
        }
    }
}
