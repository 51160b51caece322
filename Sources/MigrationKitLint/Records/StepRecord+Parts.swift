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
        let part = tableUses[...last].enumerated().reversed().filter { number, use in
            // Pragmas and the like are about all tables.
            let isNeeded =
                numbers.contains(number) || use.isAboutNone || !use.changed.isDisjoint(with: needed)
            if isNeeded { needed.formUnion(use.read.union(use.changed)) }
            return isNeeded
        }.map(\.offset)
        return part.contains { tableUses[$0].needsWritesBefore } ? Array(0...last) : part.reversed()
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
    /// Whether it asks what other statements have written, whatever their tables.
    private(set) var needsWritesBefore = false

    private static let functionsOfWrites: Set<String> = [
        "last_insert_rowid", "changes", "total_changes",
    ]

    var isAboutNone: Bool { read.isEmpty && changed.isEmpty }

    init(_ statement: StatementRecord) {
        for (old, new) in statement.after.changes(since: statement.before) {
            changed.formUnion([old, new].compactMap { $0?.table.foldedName })
        }
        for action in statement.actions {
            let name = action.name.foldedName
            let detail = action.detail?.foldedName
            if name == "sqlite_sequence"
                || action.kind == .function && detail.map(Self.functionsOfWrites.contains) ?? false
            {
                needsWritesBefore = true
            }
            guard !name.hasPrefix("sqlite_") else { continue }
            switch action.kind {
            case .read: read.insert(name)
            case .insert, .update, .delete: changed.insert(name)
            // The detail is the table of an index or a trigger, also of a temporary one.
            case .create, .drop: changed.formUnion([name, detail].compactMap(\.self))
            default: continue
            }
        }
    }
}
