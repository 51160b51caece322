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
    private let schema: SchemaModel
    private let settings: StepPass.Settings
    let results = Results()

    /// What was found out already.
    final class Results {
        fileprivate var filled: ScratchDatabase?
        /// Where updates are tried, and undone.
        var tried: ScratchDatabase?
        /// How many rows lack their parent there.
        var orphans: Int?
        var setups: [RowDemand: [[String]]] = [:]
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
    }

    /// Whether a rule may need trials of such a migration: they need a copy of the database.
    static func areNeeded(for sources: [SourceStatement], of step: MigrationStep<Database>) -> Bool
    {
        !step.usesTransaction || !step.batches.isEmpty
            || sources.contains { source in
                switch source.parsed.kind {
                case .dropTable, .renameTable, .addColumn, .createIndex(_, _, isUnique: true): true
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
        return setup.allSatisfy { copy.execute($0) } ? copy : nil
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
