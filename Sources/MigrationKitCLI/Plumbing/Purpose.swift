/// What a command opens a database for.
enum Purpose: Equatable {
    /// To show what is in it.
    case read

    /// To read its schema and rows for something else, and to leave the file as it is.
    case examine

    /// To run SQL of the user, on a connection that can't write.
    case query

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

    /// Whether nothing is written, so that a database that can't be written is accepted.
    var onlyReads: Bool {
        switch self {
        case .read, .examine, .query, .shell, .plan, .rehearse, .change(isTried: true),
            .create(isTried: true):
            true
        case .change, .create, .fill: false
        }
    }

    /// Whether the connection must not be able to write.
    var forbidsWriting: Bool { self == .query || self == .shell }

    /// Whether it, or what it tries, would lose the commits that a damaged log hides.
    var losesHiddenCommits: Bool {
        switch self {
        case .shell, .rehearse, .change, .create: true
        case .read, .examine, .query, .plan, .fill: false
        }
    }

    /// Whether even a change that a stopped program has left is not undone.
    var leavesFile: Bool { self == .examine || self == .rehearse }

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

extension MigrationDatabaseOpenOptions {
    /// The options for a purpose. A host that opens the database itself gets them unchanged.
    func opening(for purpose: Purpose, by host: MigrationCLIHost) -> Self {
        guard !host.opensItself else { return self }
        var options = self
        options.opensForReading = purpose.onlyReads
        options.isReadOnly = purpose.forbidsWriting
        options.isForCopying = purpose == .rehearse
        options.refusesRecovery = purpose.leavesFile
        return options
    }
}
