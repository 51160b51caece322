import MigrationKitPages
import MigrationKitSQLCipher

/// One way to read a damaged database: with the log or the journal beside it, or without.
struct SalvageCandidate {
    let pages: SalvagePages
    let content: SalvageContent

    init(_ pages: SalvagePages, monitor: ConversionMonitor) throws {
        self.pages = pages
        content = try SalvageContent(pages, monitor: monitor)
    }

    /// How many rows are on the pages that the tables lead to.
    var rowCount: Int {
        content.walk.trees.dropFirst().filter(\.hasRows).reduce(0) { sum, tree in
            (tree.rowPages + tree.olderRowPages).reduce(sum) { $0 + pages.cellCount(Int($1)) }
        }
    }

    /// Whether its pages fit each other: nothing in them says that some are of another time.
    var fits: Bool {
        content.contradictions.isEmpty && !pages.hasUnequalIndex && !content.lostSchemaRow
            && content.walk.trees.allSatisfy { tree in
                tree.holes.allSatisfy { hole in
                    pages.states.indices.contains(hole.page) && pages.states[hole.page] != .intact
                }
            }
    }

    /// Whether nothing is missing.
    var isSound: Bool {
        fits && pages.header != nil && content.walk.trees.allSatisfy(\.holes.isEmpty)
    }

    /// `file change counter`, which every transaction that writes the first page increases; `nil` if that
    /// page is damaged. <https://www.sqlite.org/fileformat.html#file_change_counter>
    fileprivate var changeCount: Int64? { pages.header.map { Int64($0.word(24)) } }
}

extension SalvageCandidate {
    /// The reason why the log or the journal isn't this file's, or of another time; `nil` if it may be its
    /// own. One that is the file's own wins, as it does in SQLite.
    ///
    /// - Parameters:
    ///   - kind: What is beside the file.
    ///   - isWhole: Whether none of its pages is damaged.
    ///   - alone: The file without it.
    func reasonToLeaveOut(
        _ kind: SalvageReport.Journal.Kind,
        isWhole: Bool,
        for alone: SalvageCandidate
    ) -> SalvageReport.Journal.Reason? {
        if let mine = changeCount, let files = alone.changeCount {
            // A log has later versions, a rollback journal that from before the unfinished change.
            let isOther =
                switch kind {
                case .writeAheadLog: mine < files
                case .rollback: !(0...1).contains(files - mine)
                }
            if isOther, alone.isSound || alone.rowCount > rowCount { return .otherTime }
        }
        // Damaged versions explain why the others don't fit.
        guard isWhole, !fits else { return nil }
        return alone.isSound || alone.rowCount > rowCount ? .contradicts : nil
    }
}
