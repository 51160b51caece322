import MigrationKitGRDB
import MigrationKitSchema

// The part of a migration that a trial needs. A migration that rebuilds thirty tables has hundreds of
// statements, of which five are about the one that is tried.

extension StepRecord {
    /// The statements that tables are in, or what comes of them, and those on which their outcome depends.
    ///
    /// - Parameter tables: Their names in lower case.
    func statements(about tables: Set<String>) -> [Int] {
        var reached = tables
        var numbers: Set<Int> = []
        for (number, use) in tableUses.enumerated()
        where !use.read.isDisjoint(with: reached) || !use.changed.isDisjoint(with: reached) {
            numbers.insert(number)
            reached.formUnion(use.changed)
        }
        return leading(to: numbers)
    }

    /// The statements on whose outcome those of one depends, and itself.
    func statements(leadingTo number: Int) -> [Int] { leading(to: [number]) }

    private func leading(to numbers: Set<Int>) -> [Int] {
        guard let last = numbers.max() else { return [] }
        var needed: Set<String> = []
        return tableUses[...last].enumerated().reversed().filter { number, use in
            // Pragmas and the like are about all tables.
            let isNeeded =
                numbers.contains(number) || use.isAboutNone || !use.changed.isDisjoint(with: needed)
            if isNeeded { needed.formUnion(use.read.union(use.changed)) }
            return isNeeded
        }.map(\.offset).reversed()
    }

    private var tableUses: [TableUse] {
        guard let results = trials?.results else { return statements.map(TableUse.init) }
        if results.tableUses.isEmpty { results.tableUses = statements.map(TableUse.init) }
        return results.tableUses
    }
}

/// The tables and views that a statement reads, and those that it changes, rows or definition; all in lower
/// case.
struct TableUse {
    private(set) var read: Set<String> = []
    private(set) var changed: Set<String> = []

    var isAboutNone: Bool { read.isEmpty && changed.isEmpty }

    init(_ statement: StatementRecord) {
        for (old, new) in statement.after.changes(since: statement.before) {
            changed.formUnion([old, new].compactMap { $0?.table.foldedName })
        }
        for action in statement.actions {
            let name = action.name.foldedName
            guard !name.hasPrefix("sqlite_") else { continue }
            switch action.kind {
            case .read: read.insert(name)
            case .insert, .update, .delete, .create, .drop: changed.insert(name)
            default: continue
            }
        }
    }
}
