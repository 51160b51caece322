import GRDB
import MigrationKit

/// Watches a step in its transaction.
final class StepWatch {
    private var effect: StepEffect
    /// The schema as it was read last. A run's next step begins with it.
    private var known: KnownSchema
    private let db: Database

    private init(_ known: KnownSchema, after additions: SchemaAdditions, _ db: Database) {
        (self.known, self.db) = (known, db)
        effect = StepEffect(after: additions) { known.objects }
    }

    /// Runs a step's work in a transaction, and judges its effect.
    ///
    /// - Parameters:
    ///   - step: The step's identifier.
    ///   - known: The schema as the step before left it; the one after this step afterwards.
    ///   - additions: What the steps before have added, and this one afterwards.
    ///   - body: Returns whether it wrote the schema table other than by SQLite's own statements.
    static func judging(
        _ step: String,
        _ known: inout KnownSchema?,
        after additions: SchemaAdditions,
        _ db: Database,
        _ body: (StepWatch) throws -> Bool
    ) throws -> OlderVersions {
        var schema = known ?? KnownSchema()
        _ = try schema.readAnew(db)
        if known == nil { try schema.readVersions(db) }
        let watch = StepWatch(schema, after: additions, db)
        let observer = Observer(watch)
        db.add(transactionObserver: observer)
        defer { db.remove(transactionObserver: observer) }
        watch.effect.writesSchema = try body(watch)
        try watch.look()
        try watch.known.readVersions(db)
        watch.effect.changesVersions = watch.known.versions != schema.versions
        known = watch.known
        if let error = observer.error { throw error }
        let reasons = watch.effect.reasons { watch.known.objects }
        watch.effect.noteAdditions(of: step)
        return reasons.isEmpty ? .work : .fail(reasons: reasons.map(\.text))
    }

    /// The tables that the step has changed so far, as ``StepEffect/touchedTables`` says; none if there
    /// isn't a foreign key.
    func touchedTables() throws -> Set<String> {
        try look()
        return known.mayHaveForeignKeys ? effect.touchedTables : []
    }

    /// Compares the schema with that of the last look.
    private func look() throws {
        effect.note(try known.readAnew(db))
    }

    /// GRDB asks it before every statement that changes a table. An error is kept until the step ends.
    private final class Observer: TransactionObserver {
        private let watch: StepWatch
        private(set) var error: (any Error)?
        private var isCreating = false

        init(_ watch: StepWatch) {
            self.watch = watch
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
                watch.effect.note(.update(table: table, columns: columns))
            case .delete(let table): watch.effect.note(.delete(table: table))
            case .insert(let table): watch.effect.note(.insert(table: table))
            }
            return false
        }

        /// `DROP` is no such event: its effect is seen at the next look.
        private func look() {
            do { try watch.look() } catch { self.error = error }
        }

        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidCommit(_ db: Database) {}
        func databaseDidRollback(_ db: Database) {}
    }
}
