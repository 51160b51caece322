import MigrationKitSQLCipher

/// What a command opens a database for.
enum Purpose: Equatable {
    /// To show what is in it.
    case read

    /// To read its schema and rows for something else, and to leave the file as it is.
    case examine

    /// To run SQL of the user, on a connection that can't write.
    case query

    /// To look at the file and its key, and to leave both as they are.
    case inspect

    /// To show the key to a shell, whose connection can write.
    case shell

    /// To show what a run would do. A missing database is replaced by an empty one in memory.
    case plan

    /// To copy it, and to run on the copy what would change it.
    case rehearse

    /// To change it, or to try that and undo it.
    case change(isTried: Bool = false)

    /// To change it, or make it if it is missing. If that is only tried, a missing one is replaced
    /// by an empty one in memory.
    case create(isTried: Bool = false)

    /// To fill it at another path, its draft's.
    case fill(draft: String)

    /// What becomes of the file, which its opening decides by.
    var ofOpening: Opening.Purpose {
        switch self {
        case .read, .plan, .query, .shell, .inspect, .change(isTried: true), .create(isTried: true):
            .read
        case .examine: .examine
        case .rehearse: .copy
        case .change, .create, .fill: .change
        }
    }

    /// Whether nothing is written, so that a database that can't be written is accepted.
    var onlyReads: Bool { ofOpening != .change }

    /// Whether the connection must not be able to write.
    var forbidsWriting: Bool { self == .query || self == .shell }

    /// Whether an interrupted rotation of the key, and the record of its item, are left as they are.
    var leavesKey: Bool { self == .rehearse || self == .inspect }

    /// Whether it, or what it tries, would lose the commits that a damaged log hides.
    var losesHiddenCommits: Bool {
        switch self {
        case .shell, .rehearse, .change, .create: true
        case .read, .examine, .query, .inspect, .plan, .fill: false
        }
    }

    /// Whether a missing file is made.
    var createsFile: Bool {
        switch self {
        case .create(isTried: false), .fill: true
        default: false
        }
    }

    /// Whether a missing database is replaced by an empty one in memory.
    var previewsNew: Bool { self == .plan || self == .create(isTried: true) }
}
