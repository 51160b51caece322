import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSchema

/// What a migration did on the scratch database. Rules read it.
struct StepRecord {
    /// The migration's identifier.
    let identifier: String

    /// The file that defines it: in the migrations folder, or the step's source file.
    let file: String

    /// The format of the folder; `nil` for a step in Swift.
    let format: MigrationFormat?

    /// Whether the migration runs in a transaction, or in one for each batch.
    let usesTransaction: Bool

    /// Its statements, if they run in batches: foreign keys are on then.
    let batches: [MigrationBatch]

    /// What the author says about older versions.
    let older: OlderVersions?

    /// When foreign keys are checked. A folder's are always `.deferred`.
    let foreignKeyChecks: MigrationForeignKeyChecks

    /// The schema before its first statement.
    let before: SchemaModel

    /// The schema after its last statement.
    let after: SchemaModel

    /// Its statements in the order in which they ran. After one that fails, the next ones are run
    /// nevertheless.
    let statements: [StatementRecord]

    /// Why its transaction could not be committed.
    let commitFailure: StatementFailure?

    /// How many rows the tables had before it: those of earlier migrations, or generated ones. None
    /// if no row could be generated.
    let rowsBefore: [String: Int]

    /// How many rows the tables have after it.
    let rowsAfter: [String: Int]

    /// The tables that it replaces by new ones.
    let rebuilds: [Rebuild]

    /// The values of the rebuilt tables before it, by table in lower case.
    let valuesBefore: [String: ColumnValues]

    /// Their values after it.
    let valuesAfter: [String: ColumnValues]

    /// The tables in which more rows lack their parent after it has run on generated rows.
    let orphaned: [String]

    /// The full-text tables that don't match their content after it has run on generated rows.
    let staleIndexes: [FullTextIndex]

    /// The views and triggers that SQLite no longer compiles, but did before.
    let broken: [BrokenObject]

    /// Why its check ended early; `nil` if it didn't.
    let incomplete: String?

    /// What takes it back; `nil` if nothing does.
    let down: DownRecord?

    /// The schema after the last of all migrations.
    var final = SchemaModel()

    /// The views and triggers that are broken after the last of all migrations.
    var finallyBroken: [BrokenObject] = []

    /// The rows of a real database; `nil` without one, and for tables that earlier pending
    /// migrations change.
    let data: RealRows?

    /// Runs it again with other rows; `nil` if no rule needs that.
    var trials: Trials?

    /// Whether a table was in the schema before, so that it may have rows.
    func existed(_ table: String) -> Bool { before.table(table) != nil }
}

/// Why a check ended early, as the end of a sentence.
enum StopReason {
    static let time = "it doesn't end"
    static let rows = "the generation of rows to try it on takes too long"
}

/// One statement of a migration, and what it did.
struct StatementRecord {
    /// Its position in the migration, from 0.
    let number: Int

    /// Its text.
    let text: String

    /// Where it is; `nil` for a step in Swift.
    let place: StatementPlace?

    /// Its words, and what kind of statement they make.
    let parsed: ParsedStatement

    /// The schema before it.
    let before: SchemaModel

    /// The schema after it.
    let after: SchemaModel

    /// The names that tables had before the migration, by those that they have before this statement,
    /// if they differ; `nil` for a name whose table was dropped or renamed. All in lower case.
    let renamed: [String: String?]

    /// What SQLite's authorizer reports when it is compiled: the tables, columns and functions that
    /// it uses, those of triggers, views and cascades included.
    let actions: [StatementAction]

    /// How it fails on a database that has only the rows of earlier migrations.
    let failure: StatementFailure?

    /// Whether the failure is no finding: it only follows from an earlier one, or the closure of a
    /// step in Swift handles it.
    let failureIsExplained: Bool

    /// A table that it needs, that doesn't exist, and that no earlier migration has created: perhaps
    /// the app creates it without a migration.
    let unknownTable: String?

    /// What it needs and only the app has. The scratch database has stand-ins.
    let standIns: [SchemaNeed]

    /// Whether it has a text in double quotes that names nothing. SQLite takes it for a string if
    /// the connection allows that: the scratch database does, and the app's configuration doesn't.
    let takesNameForString: Bool

    /// How it fails on a database that has rows in every table.
    let failureWithRows: StatementFailure?

    /// For tables with rows that it writes: how many there were, and how many are left.
    let rows: [String: RowChange]

    /// Whether foreign keys are on when it runs.
    let foreignKeysAreOn: Bool

    var kind: ParsedStatement.Kind { parsed.kind }

    struct RowChange: Equatable {
        let before: Int
        let after: Int
    }
}

/// Where a statement is.
struct StatementPlace: Equatable {
    let file: String
    let line: Int
    let column: Int
    let lastLine: Int
}

/// What a rollback did.
struct DownRecord {
    /// Its statements.
    let statements: [StatementRecord]

    /// The schema after it.
    let after: SchemaModel

    /// The tables into which the migration inserts rows, and that have more rows after the rollback than
    /// before the migration.
    var tablesWithMoreRows: [String] = []

    /// How it failed, in SQLite's words; `nil` if it didn't. It may contain a literal.
    let failure: String?
}

/// The rows of a real database in the state before the pending migrations.
struct RealRows {
    /// Counts the rows of a query `SELECT count(*) ...` on the real database, which is only read.
    let count: (_ sql: String) -> Int?

    /// The tables whose rows are still those of the database.
    let tables: Set<String>

    /// How many rows a table has; `nil` if it isn't known.
    func rows(in table: String, where condition: String? = nil) -> Int? {
        guard tables.contains(table.foldedName) else { return nil }
        let name = GRDBMigrationSQLHelpers.quoted(table)
        return count(
            "SELECT count(*) FROM main.\(name)" + (condition.map { " WHERE \($0)" } ?? "")
        )
    }
}
