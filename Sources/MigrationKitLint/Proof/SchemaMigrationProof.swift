import GRDB
import MigrationKit
import MigrationKitSchema

/// Proves that a migration between two schemas does what it should, before it is written.
///
/// ```swift
/// let migration = try SchemaMigration(difference)
/// let proof = SchemaMigrationProof(of: migration, between: difference)
/// try proof.run()
/// let sql = try proof.sql(as: .dbmate)
/// ```
///
/// The migration runs as the runner would run it: with foreign keys off, in a transaction, with a
/// check of all foreign keys before the commit. It runs up, down and up again. Each time, the schema
/// must be the wanted one, and the values of all columns that both schemas have must be as before,
/// unless a hazard names the column.
public struct SchemaMigrationProof: Sendable {
    let migration: SchemaMigration
    let difference: SchemaDifference
    let backfilled: [String]
    let ignoredTables: [String]
    let configuration: Configuration

    /// Describes a proof. Nothing happens until it is run.
    ///
    /// - Parameters:
    ///   - migration: The migration.
    ///   - difference: The schemas that it leads from and to.
    ///   - columns: The columns of the wanted schema that get other values by an expression, such as
    ///     `notes.n`.
    ///   - tables: Tables and views of the database that the schemas leave out, see
    ///     `DatabaseSchema.ignoring(tables:)`.
    ///   - configuration: The configuration of the databases in memory: the functions and
    ///     collations that the schemas use.
    public init(
        of migration: SchemaMigration,
        between difference: SchemaDifference,
        backfilling columns: some Sequence<String> = [],
        ignoring tables: [String] = [],
        configuration: Configuration = Configuration()
    ) {
        self.migration = migration
        self.difference = difference
        self.configuration = configuration
        backfilled = Array(columns)
        ignoredTables = tables
    }

    /// Runs the migration on a database in memory with generated rows.
    ///
    /// If a hazard says that rows may be refused and the migration refuses generated rows, it runs
    /// again without the rows that may be refused.
    ///
    /// - Throws: ``SchemaMigrationProofError``.
    public func run() throws {
        let rows = try ProofRows(of: difference.from, migration.hazards, configuration)
        for content in ProofRows.Content.allCases {
            do {
                _ = try run(on: rows.database(with: content), wayBackMayBeRefused: false)
                return
            } catch var error as SchemaMigrationProofError {
                let isExpected =
                    switch content {
                    case .all, .fewer: error.isRefusal && mayRefuseRows || error.isOfValues
                    case .none: error.isOfValues
                    case .empty: false
                    }
                guard isExpected else {
                    error.isRefusal = false
                    throw error
                }
            }
        }
    }

    /// Runs the migration on a copy of a database, to find out whether rows of it are refused.
    ///
    /// If the rollback can't bring everything back, it may be refused.
    ///
    /// - Parameters:
    ///   - copy: The copy, which is changed. Its schema must be the present one.
    ///   - options: The cancellation.
    /// - Returns: How many rows each table has before and after the migration.
    /// - Throws: ``SchemaMigrationProofError``; a `DatabaseError` if the copy can't be
    ///   read; a `CancellationError`.
    @discardableResult
    public func run(
        on copy: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> [RowCount] {
        let mayBeRefused = !migration.notBroughtBack.isEmpty
        return try run(on: copy, options: options, wayBackMayBeRefused: mayBeRefused)
    }

    private func run(
        on copy: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions(),
        wayBackMayBeRefused: Bool
    ) throws -> [RowCount] {
        let tables = ProofTables(migration, difference, backfilled)
        // The runner refuses a ledger that names steps which it doesn't know.
        try copy.write { db in
            if try db.tableExists("grdb_migrations") {
                try db.execute(sql: "DELETE FROM grdb_migrations")
            }
        }
        let cancellation = options.operation.cancellation
        func content(_ side: ProofTables.Side) throws -> ProofTables.Content {
            try copy.read { try tables.content(side, in: $0, cancellation) }
        }
        let runner = try GRDBMigrationRunner(steps: [step])
        try expect(difference.from, in: copy, .start)
        let before = try content(.before)
        try stage(.up) { _ = try runner.migrate(in: copy, options: options) }
        try expect(difference.to, in: copy, .up)
        let after = try content(.after)
        try expect(tables.finding(from: before, to: after), .up)
        if !migration.down.isEmpty {
            do {
                try stage(.down) {
                    _ = try runner.rollbackMigrations(in: copy, steps: 1, options: options)
                }
            } catch let error as SchemaMigrationProofError
                where error.isRefusal && wayBackMayBeRefused
            {
                return tables.counts(before, after)
            }
            try expect(difference.from, in: copy, .down)
            let again = try content(.before)
            try expect(tables.finding(from: before, to: again), .down)
            try stage(.upAgain) { _ = try runner.migrate(in: copy, options: options) }
            try expect(difference.to, in: copy, .upAgain)
            let last = try content(.after)
            try expect(tables.finding(from: after, to: last), .upAgain)
        }
        return tables.counts(before, after)
    }

    /// How many rows a table has before and after the migration.
    public struct RowCount: Hashable, Sendable {
        /// The table, by its new name.
        public let table: String
        /// The number before.
        public let before: Int
        /// The number after.
        public let after: Int
    }

    // MARK: -

    private var step: MigrationStep<Database> {
        let (up, down) = (migration.up, migration.down)
        let rollback: (@Sendable (Database) throws -> Void) = { db in
            for statement in down { try db.run(statement: statement) }
        }
        return MigrationStep(
            identifier: Self.identifier,
            sourceFile: "proof",
            apply: { db in
                for statement in up { try db.run(statement: statement) }
            },
            rollback: down.isEmpty ? nil : rollback
        )
    }

    /// Whether generated rows may be refused, or be missing on the way back.
    private var mayRefuseRows: Bool {
        !migration.notBroughtBack.isEmpty
            || migration.hazards.contains { $0.kind.mayRefuseRows || $0.kind.losesValues }
    }

    /// Of the only step.
    private static let identifier = "migration"

    private func stage(_ stage: SchemaMigrationProofError.Stage, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as DatabaseError {
            try checkWantedSchema(after: stage)
            let isOfValues = error.resultCode == .SQLITE_ERROR
            let isConstraint = [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(error.resultCode)
            throw failure(
                stage,
                "it fails: \(error.withoutNaming(Self.identifier).messageWithoutValues)",
                isRefusal: isConstraint || isOfValues,
                isOfValues: isOfValues
            )
        } catch let error as GRDBMigrationVerificationError {
            try checkWantedSchema(after: stage)
            // Of a virtual column, only the verification finds the types that STRICT refuses.
            throw failure(
                stage,
                "it fails: \(error.localizedDescription)",
                isRefusal: migration.hazards.contains { $0.kind == .mayViolateCheck }
            )
        }
    }

    /// Throws if no migration could make the wanted schema, since a foreign key of it leads to nothing: an
    /// empty database of that schema is refused for the same.
    private func checkWantedSchema(after stage: SchemaMigrationProofError.Stage) throws {
        guard stage != .down else { return }
        let statements = difference.to.statements
        let step = MigrationStep<Database>(
            identifier: Self.identifier,
            sourceFile: "proof",
            apply: { db in
                for statement in statements { try db.run(statement: statement) }
            }
        )
        do {
            try GRDBMigrationRunner(steps: [step])
                .migrate(in: DatabaseQueue(configuration: configuration))
        } catch let error as GRDBMigrationVerificationError {
            guard case .missingParent = error else { return }
            throw failure(.wanted, error.localizedDescription)
        } catch let error as DatabaseError {
            let message = error.withoutNaming(Self.identifier).messageWithoutValues
            guard message.hasPrefix("foreign key mismatch") else { return }
            throw failure(.wanted, message)
        } catch {
            return
        }
    }

    private func expect(
        _ schema: DatabaseSchema,
        in database: any DatabaseWriter,
        _ stage: SchemaMigrationProofError.Stage
    ) throws {
        let found = try database.read(DatabaseSchema.init(of:)).ignoring(tables: ignoredTables)
        let change = try SchemaDifference(from: found, to: schema).changes.first
        try expect(change.map { "this change is missing: \($0)" }, stage)
    }

    private func expect(_ finding: String?, _ stage: SchemaMigrationProofError.Stage) throws {
        if let finding { throw failure(stage, finding) }
    }

    func failure(
        _ stage: SchemaMigrationProofError.Stage,
        _ reason: String,
        isRefusal: Bool = false,
        isOfValues: Bool = false
    ) -> SchemaMigrationProofError {
        SchemaMigrationProofError(
            stage: stage,
            reason: reason,
            isRefusal: isRefusal,
            isOfValues: isOfValues,
            from: difference.from.statements,
            to: difference.to.statements,
            up: migration.up,
            down: migration.down
        )
    }
}
