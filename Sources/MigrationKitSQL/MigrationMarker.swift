/// A line of the form `-- migrate:up` or `-- migrate:down`, which begins a part of a file.
///
/// The form is dbmate's: <https://github.com/amacneil/dbmate#creating-migrations>.
struct MigrationMarker: Equatable {
    enum Direction: String {
        case up = "migrate:up"
        case down = "migrate:down"
    }

    let direction: Direction

    /// The words `name:value` behind the marker. Other words there are a comment.
    let options: [Substring]

    /// Whether a comment is a marker, isn't, or looks so much like one that a slip is likelier.
    enum Reading: Equatable {
        case marker(MigrationMarker)
        case slip
        case comment
    }

    /// Reads a line comment.
    ///
    /// A misspelt `migrate:down` must not pass for a comment: the SQL that takes the step back
    /// would run as the end of the step.
    ///
    /// - Parameters:
    ///   - comment: The comment, with its two dashes.
    ///   - isAtLineStart: Whether nothing, not even space, stands before it.
    static func read(_ comment: String, isAtLineStart: Bool) -> Reading {
        let words = comment.dropFirst(2).split(whereSeparator: \.isWhitespace)
        guard let first = words.first else { return .comment }
        if isAtLineStart, let direction = Direction(rawValue: String(first)) {
            let options = words.dropFirst().filter { $0.contains(":") }
            return .marker(MigrationMarker(direction: direction, options: options))
        }
        // "migrate:" with something right behind it, or with "up" or "down" in spite of a space.
        let slip = /--\s*migrate(:\S|\s*:\s*(up|down)\b)/.ignoresCase()
        return comment.prefixMatch(of: slip) == nil ? .comment : .slip
    }
}
