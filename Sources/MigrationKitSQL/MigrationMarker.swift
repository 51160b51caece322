/// A line comment that says what the statements behind it are for.
struct MigrationMarker: Equatable {
    enum Kind {
        case up, down
        case noTransaction
        case statementBegin, statementEnd
        case substitution, noSubstitution
    }

    /// The tool whose marker it is.
    let format: MigrationFormat
    let kind: Kind
    /// The marker itself, such as `-- migrate:up`.
    let text: String
    /// The words `name:value` behind it.
    let options: [Substring]

    /// Whether a comment is a marker, isn't, or looks so much like one that a slip is likelier.
    enum Reading: Equatable {
        case marker(MigrationMarker)
        case slip
        case comment
    }

    /// Reads a line comment.
    ///
    /// - Parameters:
    ///   - comment: The comment, with its two dashes.
    ///   - isAtLineStart: Whether nothing, not even space, stands before it.
    static func read(_ comment: String, isAtLineStart: Bool) -> Reading {
        switch DbmateFormat.read(comment, isAtLineStart: isAtLineStart) {
        case .comment: GooseFormat.read(comment, isAtLineStart: isAtLineStart)
        case let reading: reading
        }
    }
}
