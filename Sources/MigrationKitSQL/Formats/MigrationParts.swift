/// The parts of one migration that a format has found: the text that applies the step, and the text
/// that rolls it back.
struct MigrationParts {
    struct Part {
        let outline: SQLOutline
        /// The positions of its pieces, in the order in which they run.
        let ranges: [Range<Int>]
        /// The start of the part, for an error about all of it.
        let start: Int

        init(outline: SQLOutline, ranges: [Range<Int>], start: Int = 0) {
            self.outline = outline
            self.ranges = ranges
            self.start = start
        }

        /// A file that is a single part.
        ///
        /// - Throws: ``MigrationFolderError/markerInWholeFile(_:at:)``.
        init(whole outline: SQLOutline) throws {
            if let marker = outline.markers.first {
                throw MigrationFolderError.markerInWholeFile(
                    marker.marker.text,
                    at: outline.file.place(at: marker.range.lowerBound)
                )
            }
            self.init(outline: outline, ranges: [0..<outline.file.bytes.count])
        }

        /// The statements in it.
        var statements: [SQLOutline.Statement] {
            outline.statements.filter { statement in
                ranges.contains { $0.contains(statement.range.lowerBound) }
            }
        }
    }

    let up: Part
    let down: Part?
    /// Whether both parts run in a transaction. If one of them says that it doesn't, this applies
    /// to both.
    let usesTransaction: Bool
}
