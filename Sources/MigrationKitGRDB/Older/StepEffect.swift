import GRDB
import MigrationKit

/// Watches what a step does to the schema and the rows that were there, so that it is known whether
/// versions of the program that don't know the step work with its result.
///
/// The schema is compared before every statement that changes it, too: what a step drops and creates
/// again has lost its rows, although its text is the same at the end.
final class StepEffect {
    /// The schema as it was read last. A run's next step begins with it.
    private var known: KnownSchema
    private let start: KnownSchema
    /// What was gone, or had another text, at some moment.
    private var changes: [SchemaObject.Identity: [SchemaObject?]] = [:]
    private var rowChanges: [RowChange] = []
    private var wroteSchema = false
    private let db: Database

    private init(_ known: KnownSchema, _ db: Database) {
        (self.known, start, self.db) = (known, known, db)
    }

    private enum RowChange: Hashable {
        case update(table: String, columns: Set<String>)
        case delete(table: String)
        case insert(table: String)
    }

    /// Runs a step's work in a transaction, and judges its effect.
    ///
    /// - Parameter known: The schema as the step before left it; the one after this step afterwards.
    static func judging(
        _ known: inout KnownSchema?,
        _ db: Database,
        _ body: () throws -> Void
    ) throws -> OlderVersions {
        var schema = known ?? KnownSchema()
        _ = try schema.readAnew(db)
        if known == nil { try schema.readVersions(db) }
        let effect = StepEffect(schema, db)
        let observer = Observer(effect)
        db.add(transactionObserver: observer)
        defer { db.remove(transactionObserver: observer) }
        try body()
        try effect.look()
        try effect.known.readVersions(db)
        known = effect.known
        if let error = observer.error { throw error }
        return effect.judgement
    }

    /// Compares the schema with that of the last look.
    private func look() throws {
        for (old, new) in try known.readAnew(db) {
            let isSame = old?.identity == new?.identity
            // Under its old name it is gone.
            if let old { changes[old.identity, default: []].append(isSame ? new : nil) }
            if let new, !isSame { changes[new.identity, default: []].append(new) }
        }
    }

    private var judgement: OlderVersions {
        let check = OlderVersionsCheck(before: start.objects, after: known.objects)
        var reasons = changes.sorted { $0.key < $1.key }.flatMap { identity, states in
            check.reasons(for: identity, states)
        }
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
        reasons +=
            check.reasonsOfReaders
            + check.reasons(updated: updated, deleted: deleted, inserted: inserted)
        if wroteSchema { reasons.append("the schema was written without SQLite's own statements") }
        if known.versions != start.versions {
            reasons.append("user_version or application_id was changed")
        }
        return reasons.isEmpty ? .work : .fail(reasons: reasons)
    }

    /// GRDB asks it before every statement that changes a table. An error is kept until the step ends.
    private final class Observer: TransactionObserver {
        private let effect: StepEffect
        private(set) var error: (any Error)?
        private var isCreating = false

        init(_ effect: StepEffect) {
            self.effect = effect
        }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
            switch eventKind {
            case .insert(let table) where table == "sqlite_master":
                look()
                isCreating = true
            case .update(let table, _) where table == "sqlite_master":
                // `CREATE` does both.
                if !isCreating { look() }
                isCreating = false
            case .update(let table, let columns):
                effect.note(.update(table: table, columns: columns))
            case .delete(let table): effect.note(.delete(table: table))
            case .insert(let table): effect.note(.insert(table: table))
            }
            return false
        }

        /// `DROP` is no such event: its effect is seen at the next look.
        private func look() {
            // SQLite doesn't count what is written to its table of the schema.
            if effect.db.hasWritableSchema { effect.wroteSchema = true }
            do { try effect.look() } catch { self.error = error }
        }

        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidCommit(_ db: Database) {}
        func databaseDidRollback(_ db: Database) {}
    }

    private func note(_ change: RowChange) {
        // Steps in Swift may run one statement for each row.
        if rowChanges.last != change, !rowChanges.contains(change) { rowChanges.append(change) }
    }
}
