import MigrationKit
import MigrationKitSQL
import MigrationKitSchema

/// A statement to run, and where it comes from.
struct SourceStatement {
    let text: String
    let parsed: ParsedStatement
    let place: StatementPlace?

    init(_ statement: ScriptStatement) {
        text = statement.text
        parsed = ParsedStatement(text)
        place = StatementPlace(
            file: statement.file,
            line: statement.line,
            column: statement.column,
            lastLine: statement.lastLine
        )
    }

    init(traced text: String) {
        self.text = text
        parsed = ParsedStatement(text)
        place = nil
    }
}

/// One run of a migration's statements on a scratch database.
struct StepPass {
    struct Settings {
        let usesTransaction: Bool
        /// Whether foreign keys are on when it begins.
        let foreignKeysAreOn: Bool
        let budget: StepBudget

        var withoutForeignKeys: Settings {
            Settings(usesTransaction: usesTransaction, foreignKeysAreOn: false, budget: budget)
        }
    }

    struct Statement {
        let parsed: ParsedStatement
        let before: SchemaModel
        let after: SchemaModel
        let actions: [StatementAction]
        let failure: StatementFailure?
        let standIns: [SchemaNeed]
        let takesNameForString: Bool
        let rows: [String: StatementRecord.RowChange]
        let foreignKeysAreOn: Bool
        /// Whether it, or one before it, was stopped: SQLite has undone what came before.
        let isAfterStop: Bool
    }

    /// How many statements may be stopped before the rest isn't run.
    private static let mostStops = 4

    /// Those that were run, in order: fewer than given if too many were stopped.
    private(set) var statements: [Statement] = []

    /// The schema at the end.
    private(set) var schema: SchemaModel

    /// Why the transaction could not be committed.
    private(set) var commitFailure: StatementFailure?

    /// How many rows the tables have at the end; only of those that were counted at the beginning
    /// or changed since.
    private(set) var rowCounts: [String: Int]

    /// Whether a statement was stopped, since it did more than a migration may.
    var isStopped: Bool { statements.contains(where: \.isAfterStop) }

    /// Whether a statement may have written rows.
    var writesRows: Bool {
        statements.contains { $0.failure == nil && $0.actions.contains(where: \.writesRows) }
    }

    /// The SQL that begins a migration as the runner does.
    static func beginning(_ settings: Settings) -> [String] {
        let keys = "PRAGMA foreign_keys = \(settings.foreignKeysAreOn ? "ON" : "OFF")"
        return settings.usesTransaction ? [keys, "BEGIN IMMEDIATE"] : [keys]
    }

    /// Runs the statements. One that fails is left out, and the next ones are run.
    ///
    /// - Parameters:
    ///   - sources: The statements.
    ///   - database: Where they run.
    ///   - schema: The schema of the database.
    ///   - rowCounts: How many rows the tables have, to count them after each statement; `nil` not
    ///     to count any.
    init(
        _ sources: [SourceStatement],
        on database: ScratchDatabase,
        schema: SchemaModel,
        countingFrom rowCounts: [String: Int]? = nil,
        _ settings: Settings
    ) throws {
        self.schema = schema
        self.rowCounts = rowCounts ?? [:]
        let connection = try database.settings()
        // The next migration begins as this one does.
        defer { database.putBack(connection) }
        for sql in Self.beginning(settings) { database.execute(sql) }
        database.beginStep(settings.budget)
        /// Tables into which rows were inserted since they were counted.
        var stale: Set<String> = []
        var foreignKeysAreOn = settings.foreignKeysAreOn
        var stopCount = 0
        for source in sources where stopCount < Self.mostStops {
            let parsed = source.parsed
            if rowCounts != nil, !stale.isEmpty, !parsed.isPlainInsert {
                recount(stale, on: database)
                stale = []
            }
            let before = self.schema
            let result = database.run(source.text)
            let actions = result.actions + parsed.transfers(result.actions, before)
            let failure = result.failure
            if failure?.code.primaryResultCode == .SQLITE_INTERRUPT {
                stopCount += 1
                database.beginStep(settings.budget)
            }
            if actions.contains(where: \.changesSchema) { self.schema = try database.schema() }
            if settings.usesTransaction, !database.isInTransaction {
                // SQLite ended the transaction because of the failure.
                database.execute("BEGIN IMMEDIATE")
                self.schema = try database.schema()
            }
            var rows: [String: StatementRecord.RowChange] = [:]
            if rowCounts != nil {
                let written = Set(actions.filter(\.writesRows).map { $0.name.foldedName })
                if parsed.isPlainInsert, actions.allSatisfy({ $0.cause == nil }) {
                    stale.formUnion(written)
                } else if !written.isEmpty {
                    let counts = self.rowCounts
                    recount(written, on: database)
                    for table in written {
                        guard let count = counts[table] else { continue }
                        rows[table] = StatementRecord.RowChange(
                            before: count,
                            after: self.rowCounts[table] ?? 0
                        )
                    }
                }
                if case .renameTable(let old, let new) = parsed.kind, failure == nil {
                    self.rowCounts[new.foldedName] = self.rowCounts.removeValue(
                        forKey: old.foldedName
                    )
                }
            }
            statements.append(
                Statement(
                    parsed: parsed,
                    before: before,
                    after: self.schema,
                    actions: actions,
                    failure: failure,
                    standIns: result.standIns,
                    takesNameForString: result.takesNameForString,
                    rows: rows,
                    foreignKeysAreOn: foreignKeysAreOn,
                    isAfterStop: stopCount > 0
                )
            )
            if case .pragma("foreign_keys", let value?) = parsed.kind, !database.isInTransaction {
                foreignKeysAreOn = ["on", "1", "yes", "true"].contains(value.lowercased())
            }
        }
        if rowCounts != nil { recount(stale, on: database) }
        guard database.isInTransaction else { return }
        commitFailure = database.run("COMMIT").failure
        if commitFailure != nil { database.execute("ROLLBACK") }
    }

    private mutating func recount(_ tables: Set<String>, on database: ScratchDatabase) {
        let counts = database.rowCounts(of: tables)
        for table in tables { rowCounts[table] = counts[table] }
    }
}

extension ParsedStatement {
    /// `INSERT INTO table VALUES ...`, which can't remove rows.
    fileprivate var isPlainInsert: Bool {
        guard case .insert(_, conflict: nil) = kind else { return false }
        return true
    }
}

extension ParsedStatement {
    /// What `INSERT INTO table SELECT * FROM other` reads: SQLite doesn't report it if it can copy
    /// whole rows, since both tables are alike.
    /// <https://www.sqlite.org/src/file?name=src/insert.c> (`xferOptimization`)
    fileprivate func transfers(
        _ actions: [StatementAction],
        _ schema: SchemaModel
    ) -> [StatementAction] {
        guard case .insert(let target, _) = kind, hasKeywordAnywhere("SELECT"),
            !actions.contains(where: { $0.kind == .read && $0.cause == nil }),
            let from = words.firstIndex(where: { $0.keyword == "FROM" })
        else { return [] }
        let isQualified = words.indices.contains(from + 2) && words[from + 2].text == "."
        let place = from + (isQualified ? 3 : 1)
        guard words.indices.contains(place), !words[place].name.isSameName(as: target) else {
            return []
        }
        let name = words[place].unquoted
        let columns = schema.table(name)?.columns.map(\.name) ?? [""]
        return columns.map {
            StatementAction(kind: .read, name: name, detail: $0, database: nil, cause: nil)
        }
    }
}

extension StatementAction {
    fileprivate var changesSchema: Bool {
        switch kind {
        case .create, .drop, .alter: true
        case .insert, .update, .delete:
            ["sqlite_master", "sqlite_schema"].contains(name.foldedName)
        case .transaction: true
        default: false
        }
    }

    /// Whether rows of a table of the main database may be written. Dropping a table is reported as
    /// a deletion of its rows.
    fileprivate var writesRows: Bool {
        [.insert, .update, .delete].contains(kind) && database != "temp"
            && !name.foldedName.hasPrefix("sqlite_")
    }
}
