/// What a format finds in the files of one migration: which text applies the step, and which takes
/// it back.
struct MigrationParts {
    struct Part {
        let outline: SQLOutline
        /// Where its pieces stand, in the order in which they run.
        let ranges: [Range<Int>]
        /// Where it begins, for an error that is about all of it.
        let start: Int

        init(outline: SQLOutline, ranges: [Range<Int>], start: Int = 0) {
            self.outline = outline
            self.ranges = ranges
            self.start = start
        }

        /// A file that is one part as a whole.
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

        /// The statements that stand in it.
        var statements: [SQLOutline.Statement] {
            outline.statements.filter { statement in
                ranges.contains { $0.contains(statement.range.lowerBound) }
            }
        }
    }

    let up: Part
    let down: Part?
    /// Whether both run in a transaction. What says for one of them that it doesn't counts for both.
    let usesTransaction: Bool
}
