import MigrationKit

/// What a step does to the schema and the rows that were there. So it is known whether versions of the
/// program that don't know the step work with its result.
///
/// The schema's changes are noted statement by statement: what a step drops and creates again has lost
/// its rows, although its text is the same at the end.
package struct StepEffect {
    package enum RowChange: Hashable {
        case update(table: String, columns: Set<String>)
        case delete(table: String)
        case insert(table: String)

        fileprivate var table: String {
            switch self {
            case .update(let table, _), .delete(let table), .insert(let table): table
            }
        }
    }

    /// Why older versions may fail.
    package struct Reason: Hashable {
        package let text: String
        /// Whether their statements succeed nevertheless, with another result.
        package let stillRuns: Bool

        package init(_ text: String, stillRuns: Bool = false) {
            (self.text, self.stillRuns) = (text, stillRuns)
        }
    }

    private let before: () -> [SchemaObject]
    private let additions: SchemaAdditions
    /// What each changed object was before the step and after each of its changes.
    private var changes: [SchemaObject.Identity: [SchemaObject?]] = [:]
    private var rowChanges: [RowChange] = []
    /// Whether the schema was changed by writing its table.
    package var writesSchema = false
    /// Whether `user_version` or `application_id` is another.
    package var changesVersions = false

    /// - Parameters:
    ///   - additions: What earlier steps of the run have added.
    ///   - before: The schema before the step.
    package init(
        after additions: SchemaAdditions = SchemaAdditions(),
        before: @escaping () -> [SchemaObject]
    ) {
        self.additions = additions
        self.before = before
    }

    /// Notes what the step has added and touched, for those that follow.
    func noteAdditions(of step: String) {
        additions.note(changes.values, by: step)
        additions.noteTouched(touchedTables)
    }

    /// Notes what one statement changed.
    ///
    /// - Parameter changes: Each object as it was, or `nil` if it is new, and as it is, or `nil` if it
    ///   is gone.
    package mutating func note(_ changes: [(old: SchemaObject?, new: SchemaObject?)]) {
        for (old, new) in changes {
            let isSame = old?.identity == new?.identity
            // Under its old name it is gone.
            if let old { self.changes[old.identity, default: [old]].append(isSame ? new : nil) }
            if let new, !isSame { self.changes[new.identity, default: [nil]].append(new) }
        }
    }

    /// Steps in Swift may run one statement for each row.
    package mutating func note(_ change: RowChange) {
        if rowChanges.last != change, !rowChanges.contains(change) { rowChanges.append(change) }
    }

    /// The names of the tables whose rows or definition has changed, folded. No other rows than theirs, and
    /// those that refer to them, can violate foreign keys after the step that didn't before.
    package var touchedTables: Set<String> {
        Set(changes.values.flatMap { $0.compactMap(\.?.table.foldedName) })
            .union(rowChanges.map(\.table.foldedName))
    }

    /// What of it concerns the tables that another effect touches, and those that they refer to.
    package func limited(to other: StepEffect) -> StepEffect {
        let parents = other.changes.values.flatMap { states in
            states.compactMap { $0.flatMap { try? TableText($0.sql) } }
                .flatMap { $0.references.map(\.referencedTable.foldedName) }
        }
        let tables = other.touchedTables.union(parents)
        var limited = self
        limited.changes = changes.filter { _, states in
            states.contains { $0.map { tables.contains($0.table.foldedName) } ?? false }
        }
        limited.rowChanges = rowChanges.filter { tables.contains($0.table.foldedName) }
        return limited
    }

    /// - Parameter after: The schema after the step.
    package func reasons(after: @escaping () -> [SchemaObject]) -> [Reason] {
        var updated: [String: Set<String>] = [:]
        var deleted: Set<String> = []
        var inserted: Set<String> = []
        for change in rowChanges {
            switch change {
            case .update(let table, let columns): updated[table, default: []].formUnion(columns)
            case .delete(let table): deleted.insert(table)
            case .insert(let table): inserted.insert(table)
            }
        }
        // SQLite itself keeps that table when another is dropped or renamed.
        if !changes.isEmpty {
            updated["sqlite_sequence"] = nil
            deleted.remove("sqlite_sequence")
        }
        let check = OlderVersionsCheck(
            before: before,
            after: after,
            inserted: inserted,
            additions: additions
        )
        var reasons = changes.sorted { $0.key < $1.key }.flatMap { check.reasons(for: $0.value) }
        reasons += check.reasonsOfReaders(after: changes.values).map { Reason($0) }
        reasons += check.reasons(updated: updated, deleted: deleted)
            .map { Reason($0, stillRuns: true) }
        if writesSchema {
            reasons.append(Reason("the schema was written without SQLite's own statements"))
        }
        if changesVersions { reasons.append(Reason("user_version or application_id was changed")) }
        return reasons
    }
}
