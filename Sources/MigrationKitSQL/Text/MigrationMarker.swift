/// A line comment that determines the part to which the next statements belong.
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

    /// Whether a comment is a marker, isn't one, or looks like a misspelled one.
    enum Reading: Equatable {
        case marker(MigrationMarker)
        case slip
        case comment
    }
}
