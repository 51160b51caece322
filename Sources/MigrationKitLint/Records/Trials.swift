import GRDB
import MigrationKit
import MigrationKitSchema

/// Runs a migration's statements again on copies of the database before it, with other rows.
///
/// That is how a rule sees whether a migration fails on some data, or when it runs a second time.
struct Trials {
    /// The database before the migration. It isn't changed.
    let start: ScratchDatabase
    private let sources: [SourceStatement]
    /// Its schema.
    let schema: SchemaModel
    private let settings: StepPass.Settings
    /// Whether the migration may change the connection, which no transaction undoes.
    private let setsPragmas: Bool
    let results = Results()

    /// What was found out already.
    final class Results {
        fileprivate var filled: ScratchDatabase?
        /// Where updates are tried, and undone.
        var tried: ScratchDatabase?
        /// How many rows of each table lack their parent there.
        var orphans: [String: Int] = [:]
        var setups: [RowDemand: [[String]]] = [:]
        /// How statements fail although all before them were run, by number and message.
        fileprivate var failures: Set<[String]> = []
        /// What each of the migration's statements is about.
        var tableUses: [TableUse] = []
    }

    /// - Parameters:
    ///   - sources: The migration's statements.
    ///   - start: The database before it.
    ///   - schema: Its schema.
    init(
        of sources: [SourceStatement],
        from start: ScratchDatabase,
        schema: SchemaModel,
        _ settings: StepPass.Settings
    ) {
        self.start = start
        self.sources = sources
        self.schema = schema
        self.settings = settings
        setsPragmas = sources.contains { if case .pragma = $0.parsed.kind { true } else { false } }
    }

    /// Whether a rule may need trials of such a migration: they need a copy of the database.
    static func areNeeded(
        for sources: [SourceStatement],
        of step: MigrationStep<Database>,
        _ schema: SchemaModel
    ) -> Bool {
        !step.usesTransaction || !step.batches.isEmpty
            || sources.contains { source in
                switch source.parsed.kind {
                case .dropTable, .renameTable, .addColumn, .dropColumn, .update, .delete,
                    .createIndex(_, _, isUnique: true):
                    true
                case .insert: source.parsed.hasKeywordAnywhere("SELECT")
                case .createVirtualTable: true
                case .createTrigger, .dropTrigger: !schema.fullTextContents.isEmpty
                case .createIndex: source.parsed.indexesExpressions
                default: false
                }
            }
    }

    /// A copy of the database before the migration, with rows in every table.
    ///
    /// - Parameter setup: SQL that changes the rows.
    /// - Returns: `nil` if SQLite refuses the setup: there can be no such rows.
    func database(after setup: [String] = []) -> ScratchDatabase? {
        if results.filled == nil, let filled = try? start.copy(),
            (try? RowFill(for: filled, schema: schema).fill(schema.reachable(from: sources))) != nil
        {
            results.filled = filled
        }
        guard let copy = try? results.filled?.copy() else { return nil }
        // Other tables may have no rows that refer to these.
        copy.execute("PRAGMA foreign_keys = OFF")
        defer { copy.execute("PRAGMA foreign_keys = ON") }
        return setup.allSatisfy { copy.execute($0) } ? copy : nil
    }

    /// What came of a statement.
    struct Outcome {
        let failure: StatementFailure?
        /// How many rows it inserted, changed or deleted itself.
        let rowsWritten: Int
    }

    /// Runs statements on generated rows in one transaction, and undoes all.
    ///
    /// - Parameters:
    ///   - setup: SQL that changes the rows.
    ///   - numbers: Which statements, in order. If one needs another, all up to the last are run.
    ///   - body: Gets the state after them, and what came of each up to the last of them; one that isn't
    ///     run counts as one that works. If one ends the transaction, the state is that before all.
    /// - Returns: What the body returns; `nil` if there can be no such rows.
    func outcomes<Value>(
        after setup: [String],
        of numbers: some BidirectionalCollection<Int>,
        _ body: (ScratchDatabase, [Outcome]) -> Value?
    ) -> Value? {
        let connection = setsPragmas ? try? tried?.settings() : nil
        defer { connection.map { tried?.putBack($0) } }
        let count = numbers.last.map { $0 + 1 } ?? 0
        var needsOthers = false
        let value = trying(setup) { database -> Value? in
            database.beginStep(settings.budget)
            var outcomes = Array(repeating: Outcome(failure: nil, rowsWritten: 0), count: count)
            for number in numbers {
                let source = sources[number]
                let failure =
                    source.parsed.isAboutTransactions ? nil : database.run(source.text).failure
                outcomes[number] = Outcome(
                    failure: failure,
                    rowsWritten: database.read(\.changesCount)
                )
                if let failure, !failure.isAboutValues {
                    let known = ["\(number)", failure.message]
                    if numbers.count == count { results.failures.insert(known) }
                    needsOthers = !results.failures.contains(known)
                }
                if needsOthers { return nil }
                // SQLite has undone everything: `ON CONFLICT ROLLBACK`.
                if !database.isInTransaction { break }
            }
            return body(database, outcomes)
        }
        return needsOthers ? outcomes(after: setup, of: 0..<count, body) : value
    }

    /// Runs the migration.
    ///
    /// - Parameters:
    ///   - database: Where it runs.
    ///   - count: How many of its statements; `nil` for all.
    func run(on database: ScratchDatabase, first count: Int? = nil) -> StepPass? {
        guard let schema = try? database.schema() else { return nil }
        return try? StepPass(
            Array(sources.prefix(count ?? sources.count)),
            on: database,
            schema: schema,
            settings
        )
    }
}

extension ParsedStatement {
    /// Whether an index has expressions, or leaves rows out.
    var indexesExpressions: Bool {
        guard case .createIndex = kind else { return false }
        return hasKeyword("WHERE") || words.contains { $0.depth > 1 }
    }

    /// `BEGIN`, `COMMIT`, `VACUUM` and others that no transaction of another one may have.
    var isAboutTransactions: Bool {
        guard case .other(let keyword) = kind else { return false }
        return [
            "ATTACH", "BEGIN", "COMMIT", "DETACH", "END", "RELEASE", "ROLLBACK", "SAVEPOINT",
            "VACUUM",
        ].contains(keyword)
    }
}

extension StatementFailure {
    /// Whether SQLite refuses a value, and not what the statement names.
    fileprivate var isAboutValues: Bool {
        [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(code.primaryResultCode)
    }
}
