/// A line comment that says what the statements behind it are for.
struct MigrationMarker: Equatable {
    enum Part {
        case up, down
    }

    /// The tool whose marker it is.
    let format: MigrationFormat
    /// The part that begins with it; `nil` for a marker that begins none.
    let part: Part?
    /// The marker itself, such as `-- migrate:up`.
    let text: String
    /// The words behind it that the format reads.
    let options: [Substring]

    /// Whether a comment is a marker, isn't, or looks so much like one that a slip is likelier.
    enum Reading: Equatable {
        case marker(MigrationMarker)
        case slip
        case comment
    }
}
