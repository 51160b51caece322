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
        content.contradictions.isEmpty && pages.unequalIndexes.isEmpty && !content.lostSchemaRow
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
}

extension SalvageCandidate {
    /// The reason why the log or the journal isn't this file's, or of another time; `nil` if it may be its
    /// own. One that is the file's own wins, as it does in SQLite.
    ///
    /// - Parameters:
    ///   - kind: What it is.
    ///   - isOfOtherState: Whether it belongs to another state of the file, so that no opening takes it.
    ///   - isWhole: Whether none of its pages is damaged.
    ///   - alone: The file without it.
    func reasonToLeaveOut(
        _ kind: SalvageReport.Journal.Kind,
        isOfOtherState: Bool,
        isWhole: Bool,
        for alone: SalvageCandidate
    ) -> SalvageReport.Journal.Reason? {
        let isAloneBetter = alone.isSound && alone.rowCount > 0 || alone.rowCount > rowCount
        if isOfOtherState, isAloneBetter {
            return !isWhole && alone.isSound ? .damaged : .otherTime
        }
        // Damaged versions explain why the others don't fit.
        guard isWhole else {
            return kind == .rollback && alone.isSound && !isSound ? .damaged : nil
        }
        guard !fits else { return nil }
        return isAloneBetter ? .contradicts : nil
    }
}
