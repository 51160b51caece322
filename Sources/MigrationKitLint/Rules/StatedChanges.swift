import MigrationKit
import MigrationKitSQL

/// What a step's statements say that they do to rows that are there.
///
/// `DELETE`, `UPDATE` and an expression in `INSERT ... SELECT` say so. A copy of columns into a new
/// table doesn't: the rows and their values must be the same in it. Neither does what a statement
/// does elsewhere, by a trigger, a cascade or a conflict.
package struct StatedChanges {
    /// A table from before the step or one that the step makes, whatever it is called.
    private enum Origin: Hashable {
        case before(String)
        case made(Int)
    }

    fileprivate struct Change {
        var deletes = false
        var columns: Set<String> = []
        /// The columns at these places, counted from 0.
        var places: Set<Int> = []
        /// The names that columns had before it, by their names now.
        var formerNames: [String: String] = [:]
    }

    /// A comment of the author allows a rule about lost rows.
    package let areAllowed: Bool

    /// By the name now, in lower case.
    private var origins: [String: Origin]
    private var changes: [Origin: Change] = [:]

    /// - Parameters:
    ///   - sql: The step.
    ///   - tables: The tables before it, by their names in lower case.
    package init(of sql: MigrationSQL, tables: some Sequence<String>) {
        origins = Dictionary(uniqueKeysWithValues: tables.map { ($0, .before($0)) })
        areAllowed = AllowComments(in: sql).allow([
            .cascadeDeletes, .rebuildLosesRows, .rebuildShiftsColumns, .narrowsType,
            .conflictDropsRows, .rebuildLosesColumn,
        ])
        for (number, statement) in sql.upStatements.enumerated() {
            read(ParsedStatement(statement.text), number)
        }
    }

    /// Where the rows of a table are after the step.
    package struct Place {
        /// The table's name now, in lower case.
        package let table: String
        /// Whether rows of it are deleted.
        package let deletes: Bool
        fileprivate let changes: [Change]

        /// The name of a column that has the same values, in lower case.
        ///
        /// - Parameters:
        ///   - column: Its name before the step, in lower case.
        ///   - columns: The names of the columns now, in order.
        /// - Returns: `nil` if there is none, or its values are changed.
        package func column(_ column: String, among columns: [String]) -> String? {
            let renamed = changes.lazy.compactMap { change in
                change.formerNames.first { $0.value == column }?.key
            }.first
            let name = renamed ?? column
            guard let place = columns.firstIndex(of: name),
                !changes.contains(where: {
                    $0.columns.contains(name) || $0.places.contains(place)
                })
            else { return nil }
            return name
        }
    }

    /// - Parameter table: A table before the step, in lower case.
    /// - Returns: `nil` if it is gone.
    package func place(of table: String) -> Place? {
        let renamed = origins.first { $0.value == .before(table) }?.key
        guard let name = renamed ?? (origins[table] == nil ? nil : table) else { return nil }
        let origins: [Origin] = [.before(table), origins[name]].compactMap { $0 }
        let changes = origins.compactMap { self.changes[$0] }
        return Place(
            table: name,
            deletes: changes.contains(where: \.deletes),
            changes: changes
        )
    }

    // MARK: - Reading

    private mutating func read(_ statement: ParsedStatement, _ number: Int) {
        switch statement.kind {
        case .createTable(let name):
            // With IF NOT EXISTS it may be there.
            let table = name.foldedName
            if origins[table] == nil { origins[table] = .made(number) }
        case .dropTable(let name): origins[name.foldedName] = nil
        case .renameTable(let old, let new):
            origins[new.foldedName] = origins.removeValue(forKey: old.foldedName)
        case .renameColumn(let table, let old, let new):
            change(table) { change in
                let first = change.formerNames.removeValue(forKey: old.foldedName)
                change.formerNames[new.foldedName] = first ?? old.foldedName
            }
        case .delete(let table): change(table) { $0.deletes = true }
        case .update(let table, _):
            change(table) { $0.columns.formUnion(statement.setColumns) }
        case .insert(let table, let conflict):
            change(table) { change in
                // It says that it replaces rows, or changes those that are there.
                if conflict == "REPLACE" { change.deletes = true }
                change.columns.formUnion(statement.setColumns)
                let places = statement.computedPlaces
                if let columns = statement.insertedColumns?.map(\.foldedName) {
                    change.columns.formUnion(
                        places.filter(columns.indices.contains).map { columns[$0] }
                    )
                } else {
                    change.places.formUnion(places)
                }
            }
        default: break
        }
    }

    private mutating func change(_ table: String, _ body: (inout Change) -> Void) {
        guard let origin = origins[table.foldedName] else { return }
        body(&changes[origin, default: Change()])
    }
}

extension ParsedStatement {
    /// The columns after SET, in lower case.
    fileprivate var setColumns: Set<String> {
        guard let set = words.firstIndex(where: { $0.depth == 0 && $0.isWord("SET") }) else {
            return []
        }
        let ends = ["WHERE", "FROM", "RETURNING", "ORDER", "LIMIT"]
        var columns: Set<String> = []
        /// Whether a column or a list of columns comes next.
        var isTarget = true
        for word in words[(set + 1)...] {
            if word.depth == 0, ends.contains(where: word.isWord) { break }
            if word.depth == 0, ["=", "=="].contains(word.text) { isTarget = false }
            if word.depth == 0, word.text == "," { isTarget = true }
            if isTarget, word.isName { columns.insert(word.name) }
        }
        return columns
    }

    /// The places in the list after SELECT that aren't just columns. Those of a star aren't known.
    fileprivate var computedPlaces: [Int] {
        let columns = selectedColumns ?? []
        return columns.indices.filter { columns[$0] == nil }
    }
}
