import MigrationKit
import Synchronization

/// What the steps of a run have done so far: the tables and columns that they have added, and the tables that
/// they have touched.
package final class SchemaAdditions: Sendable {
    /// By table and column; without a column, the step that has added the table.
    private let adders = Mutex<[String: [String?: String]]>([:])

    private let touched = Mutex<Set<String>>([])

    package init() {}

    /// The tables that the steps have touched, as ``StepEffect/touchedTables`` says.
    var touchedTables: Set<String> { touched.withLock { $0 } }

    func noteTouched(_ tables: Set<String>) { touched.withLock { $0.formUnion(tables) } }

    /// What may be an old table or column under a new name isn't an addition.
    ///
    /// - Parameter changes: The states of each object that a step has changed, as ``StepEffect`` has them.
    func note(_ changes: some Sequence<[SchemaObject?]>, by step: String) {
        let losesTable = changes.contains { states in
            (states.first ?? nil)?.kind == .table && (states.last ?? nil) == nil
        }
        for states in changes {
            guard let now = states.last ?? nil, now.kind == .table else { continue }
            let table = now.name.foldedName
            guard let old = states.first ?? nil else {
                guard !losesTable else { continue }
                adders.withLock { $0[table] = [nil: step] }
                continue
            }
            guard old.sql != now.sql,
                let (was, text) = try? (TableText(old.sql), TableText(now.sql))
            else { continue }
            let names = Set(was.columns.map(\.name))
            let new = Set(text.columns.map(\.name))
            guard new.isSuperset(of: names) else { continue }
            adders.withLock { adders in
                for column in new.subtracting(names) {
                    adders[table, default: [:]][column] = step
                }
            }
        }
    }

    /// The step that has added a table.
    func adder(of table: SchemaObject) -> String? {
        adders.withLock { $0[table.name.foldedName]?[nil] }
    }

    /// The step that has added a column, or its table.
    ///
    /// - Parameter column: Its name, folded.
    func adder(ofColumn column: String, of table: SchemaObject) -> String? {
        adders.withLock { $0[table.name.foldedName]?[column] } ?? adder(of: table)
    }
}
