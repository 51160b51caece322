import Foundation
import GRDB
import MigrationKit
import MigrationKitSQL
import MigrationKitSchema

/// Runs migrations in order on a scratch database, and records what each of them does.
final class LintRun {
    private let base: ScratchDatabase
    private let budget: StepBudget
    private let folder: MigrationFolder?
    private let count: ((String) -> Int?)?

    /// The schema of the scratch database, if it is known: reading that of many tables takes time.
    private var schema: SchemaModel?

    /// How many rows of the scratch database refer to missing rows.
    private var orphanCount = 0

    /// What earlier failures keep from existing, in lower case.
    private var missing = MissingObjects()

    /// The names of all tables so far, in lower case.
    private var known: Set<String> = []

    /// The tables of the real database that no pending migration has changed so far.
    private var untouched: Set<String>

    /// - Parameters:
    ///   - folder: The folder; `nil` for steps in Swift.
    ///   - configuration: The configuration of the scratch databases.
    ///   - budget: How much a migration may do.
    ///   - database: A connection to the real database, which is only read.
    init(
        folder: MigrationFolder?,
        configuration: Configuration,
        budget: StepBudget,
        database: Database?
    ) throws {
        base = try ScratchDatabase(configuration, reader: SchemaReader())
        self.budget = budget
        self.folder = folder
        count = database.map { database in { try? Int.fetchOne(database, sql: $0) } }
        untouched =
            try database.map {
                Set(try SchemaReader().schema(of: $0).tables.keys)
            } ?? []
    }

    /// The state after the last migration.
    func end() throws -> (schema: SchemaModel, broken: [BrokenObject]) {
        let schema = try base.schema()
        return (
            schema, broken.map { $0.values.filter(schema.has) } ?? base.brokenObjects(in: schema)
        )
    }

    /// The checks that SQLite refuses after the last migration, although nothing that they name is
    /// missing because a migration failed.
    func refused(_ checks: [CheckQuery]) -> [LintFinding] {
        checks.compactMap { check in
            guard let failure = base.compile(check.sql), failure.lack == nil,
                !missing.concern(ParsedStatement(check.sql))
            else { return nil }
            return LintFinding(
                rule: .migrationFails,
                migration: "",
                // Not in the folder of migrations.
                file: check.place.map { URL(fileURLWithPath: $0.file).path } ?? "",
                line: check.place?.line,
                column: check.place?.column,
                message: "SQLite refuses the check '\(check.name)': "
                    + SQLiteMessage(failure).withoutValues,
                fix: "A check runs after the last migration: name what there is then."
            )
        }
    }

    /// Runs a migration without a look at it.
    func skip(_ step: MigrationStep<Database>) throws {
        schema = nil
        let (sources, closure) = try sources(of: step)
        let pass = try StepPass(sources, on: base, schema: SchemaModel(), settings(of: step))
        known.formUnion(try base.schema().tables.keys)
        broken = nil
        if let closure, closure.hasOtherSchema(than: base) {
            try base.replaceContent(with: closure.queue)
        }
        for (source, statement) in zip(sources, pass.statements) where statement.failure != nil {
            missing.add(source.parsed, nil)
        }
        if pass.isStopped || closure?.incomplete != nil { missing.addAll() }
    }

    /// Runs a migration, and records what it does.
    func record(_ step: MigrationStep<Database>) throws -> StepRecord {
        let before = try schema ?? base.schema()
        schema = nil
        if broken == nil {
            broken = base.brokenObjects(in: before).reduce(into: [:]) { $0[$1.key] = $1 }
        }
        let (sources, closure) = try sources(of: step)
        let settings = settings(of: step)
        // Most migrations make new tables, and meet no rows.
        let tables = before.reachable(from: sources)
        let copy = tables.isEmpty ? nil : try base.copy()
        let trials =
            Trials.areNeeded(for: sources, of: step, before)
            ? Trials(of: sources, from: try base.copy(), schema: before, settings) : nil
        let targets = sources.compactMap { source -> String? in
            guard case .insert(let table, _) = source.parsed.kind else { return nil }
            return table.foldedName
        }
        let insertedInto = base.rowCounts(of: Set(targets).filter { before.tables[$0] != nil })
        var pass = try StepPass(sources, on: base, schema: before, settings)
        let commitFailure = try pass.commitFailure ?? orphans(of: pass, in: step)
        if pass.commitFailure != nil {
            // It was rolled back. The next migrations are checked as if it had worked.
            pass = try StepPass(sources, on: base, schema: before, settings.withoutForeignKeys)
        }
        var incomplete = closure?.incomplete
        if pass.isStopped { incomplete = StopReason.time }
        var after = pass.schema
        if let closure, incomplete == nil, closure.hasOtherSchema(than: base) {
            try base.replaceContent(with: closure.queue)
            after = try base.schema()
            incomplete = "the statements of its closure have another result when they run again"
        }
        // VACUUM, which attaches a database, moves the tables' pages.
        let isKnown =
            pass.commitFailure == nil && incomplete == nil
            && !pass.statements.contains { $0.actions.contains { $0.kind == .attach } }
        if isKnown { schema = after }
        let goesOn = closure.map { $0.failure == nil } ?? false
        let rebuilds = Rebuild.all(
            in: statements(sources, pass, nil, afterFailuresGoesOn: goesOn),
            before: before
        )
        var rows: RowPass?
        if let copy, !pass.isStopped {
            do {
                rows = try RowPass(
                    sources,
                    on: copy,
                    filling: tables,
                    before,
                    after,
                    rebuilds.map(\.table),
                    settings
                )
            } catch is RowsIncomplete {
                incomplete = incomplete ?? StopReason.rows
            }
        }
        if rows?.pass.isStopped == true { incomplete = incomplete ?? StopReason.time }
        let statements = statements(
            sources,
            pass,
            rows?.pass,
            afterFailuresGoesOn: goesOn
        )
        for statement in statements where statement.failure != nil && !goesOn {
            missing.add(statement.parsed, statement.unknownTable)
        }
        known.formUnion(statements.flatMap { $0.after.tables.keys })
        if incomplete != nil { missing.addAll() }
        let record = StepRecord(
            identifier: step.identifier,
            file: step.sourceFile,
            format: folder?.format,
            usesTransaction: step.usesTransaction,
            batches: step.batches,
            older: step.older,
            foreignKeyChecks: step.foreignKeyChecks,
            before: before,
            after: after,
            statements: statements,
            commitFailure: commitFailure,
            rowsBefore: rows?.countsBefore ?? [:],
            rowsAfter: rows?.pass.rowCounts ?? [:],
            rebuilds: Rebuild.all(in: statements, before: before),
            valuesBefore: rows?.valuesBefore ?? [:],
            valuesAfter: rows?.valuesAfter ?? [:],
            orphaned: rows?.orphaned ?? [],
            staleIndexes: rows?.staleIndexes ?? [],
            broken: newlyBroken(before: before, after: after),
            incomplete: incomplete,
            down: try down(of: step, from: after, insertedInto),
            data: count.map { RealRows(count: $0, tables: untouched) },
            trials: trials
        )
        untouched.subtract(changedTables(statements))
        return record
    }

    // MARK: - Statements

    /// What a closure did on a database of its own.
    private struct ClosureResult {
        let queue: DatabaseQueue
        let incomplete: String?
        /// What it throws, in SQLite's words if it is an error of SQLite.
        let failure: String?

        func hasOtherSchema(than database: ScratchDatabase) -> Bool {
            func objects(_ db: Database) -> [Row]? {
                try? Row.fetchAll(
                    db,
                    sql: "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2"
                )
            }
            return queue.inDatabase(objects) != database.read(objects)
        }
    }

    private func sources(
        of step: MigrationStep<Database>
    ) throws -> ([SourceStatement], ClosureResult?) {
        if let sql = folder?.scripts[step.identifier] {
            return (sql.upStatements.map(SourceStatement.init), nil)
        }
        let (statements, result) = try trace(step, step.apply)
        return (statements, result)
    }

    private func trace(
        _ step: MigrationStep<Database>,
        _ body: (Database) throws -> Void
    ) throws -> ([SourceStatement], ClosureResult) {
        let queue = try base.plainCopy()
        let result = TracedClosure.run(
            on: queue,
            beginning: StepPass.beginning(settings(of: step)),
            budget,
            body
        )
        var incomplete = result.isStopped ? StopReason.time : nil
        if let error = result.error, !(error is DatabaseError), !result.isStopped {
            incomplete = "it throws an error of its own"
        }
        return (
            result.statements.map(SourceStatement.init(traced:)),
            ClosureResult(
                queue: queue,
                incomplete: incomplete,
                failure: result.error.map { error in
                    (error as? DatabaseError)?.message ?? "the closure throws an error of its own"
                }
            )
        )
    }

    private func settings(of step: MigrationStep<Database>) -> StepPass.Settings {
        StepPass.Settings(
            usesTransaction: step.usesTransaction,
            // Outside of a transaction and in batches, a step runs with the setting of its connection,
            // which is on by default.
            foreignKeysAreOn: !step.usesTransaction || step.foreignKeyChecks == .immediate
                || !step.batches.isEmpty,
            budget: budget
        )
    }

    private func statements(
        _ sources: [SourceStatement],
        _ pass: StepPass,
        _ rows: StepPass?,
        afterFailuresGoesOn goesOn: Bool = false
    ) -> [StatementRecord] {
        var renamed: [String: String?] = [:]
        var missing = missing
        return zip(sources, pass.statements).enumerated().map { number, pair in
            let (source, statement) = pair
            let withRows = rows.flatMap {
                $0.statements.indices.contains(number) ? $0.statements[number] : nil
            }
            let record = StatementRecord(
                number: number,
                text: source.text,
                place: source.place,
                parsed: statement.parsed,
                before: statement.before,
                after: statement.after,
                renamed: renamed,
                actions: statement.actions,
                failure: statement.failure,
                failureIsExplained: statement.failure != nil
                    && (goesOn || statement.isAfterStop || missing.concern(statement.parsed)),
                unknownTable: statement.failure?.missingTable.flatMap(unknownTable),
                standIns: statement.standIns,
                takesNameForString: statement.takesNameForString,
                failureWithRows: withRows?.failure,
                rows: withRows?.rows ?? [:],
                foreignKeysAreOn: statement.foreignKeysAreOn
            )
            if record.failure != nil { missing.add(record.parsed, record.unknownTable) }
            if record.failure == nil {
                if case .renameTable(let old, let new) = record.kind {
                    let original = renamed[old.foldedName] ?? old.foldedName
                    renamed.updateValue(nil, forKey: old.foldedName)
                    renamed.updateValue(original, forKey: new.foldedName)
                } else if record.after.tables.count < record.before.tables.count {
                    for name in record.before.tables.keys where record.after.tables[name] == nil {
                        renamed.updateValue(nil, forKey: name)
                    }
                }
            }
            return record
        }
    }

    /// The table, unless it was dropped, renamed or misspelled.
    private func unknownTable(_ name: String) -> String? {
        let name = name.foldedName
        let isSlip = known.contains { $0 == name || name.count > 3 && $0.isSimilar(to: name) }
        return isSlip ? nil : name
    }

    /// The runner checks foreign keys before the commit. They can only be wrong here if the
    /// migrations themselves write such rows.
    private func orphans(
        of pass: StepPass,
        in step: MigrationStep<Database>
    ) throws -> StatementFailure? {
        guard step.usesTransaction, step.foreignKeyChecks == .deferred, pass.writesRows else {
            return nil
        }
        let count = base.orphanCounts().values.reduce(0, +)
        defer { orphanCount = count }
        guard count > orphanCount else { return nil }
        return StatementFailure(
            code: .SQLITE_CONSTRAINT_FOREIGNKEY,
            message: "FOREIGN KEY constraint failed"
        )
    }

    // MARK: - Views and Triggers

    /// The views and triggers that SQLite doesn't compile now, by kind and name; `nil` if that isn't
    /// known, since a migration was run without a look at it.
    private var broken: [String: BrokenObject]?

    /// The views and triggers that a migration breaks. Only those are compiled that it may concern.
    private func newlyBroken(before: SchemaModel, after: SchemaModel) -> [BrokenObject] {
        guard let known = broken else { return [] }
        let changed = after.changedNames(since: before)
        guard !changed.isEmpty else { return [] }
        let concerned = after.objects(reading: changed)
        let now = base.brokenObjects(among: concerned, in: after)
        var broken = known.filter { !concerned.contains($0.key) }
        for object in now { broken[object.key] = object }
        self.broken = broken
        return now.filter { known[$0.key] == nil && before.has($0) }
    }

    // MARK: - Rows

    private func changedTables(_ statements: [StatementRecord]) -> Set<String> {
        Set(
            statements.flatMap { statement in
                statement.actions.filter { [.insert, .update, .delete, .alter].contains($0.kind) }
                    .flatMap { [$0.name.foldedName, $0.detail?.foldedName ?? ""] }
            }
        )
    }

    // MARK: - The Rollback

    /// - Parameter counts: How many rows the tables had before the migration into which it inserts some.
    private func down(
        of step: MigrationStep<Database>,
        from schema: SchemaModel,
        _ counts: [String: Int]
    ) throws -> DownRecord? {
        if let sql = folder?.scripts[step.identifier] {
            let sources = sql.downStatements.map(SourceStatement.init)
            guard !sources.isEmpty else { return nil }
            let copy = try base.copy()
            let pass = try StepPass(sources, on: copy, schema: schema, settings(of: step))
            let rows = copy.rowCounts(of: counts.keys)
            return DownRecord(
                statements: statements(sources, pass, nil),
                after: pass.schema,
                tablesWithMoreRows: rows.filter { $1 > counts[$0] ?? $1 }.keys.sorted(),
                failure: (pass.statements.lazy.compactMap(\.failure).first ?? pass.commitFailure)?
                    .message
            )
        }
        guard let rollback = step.undo else { return nil }
        let (_, result) = try trace(step, rollback)
        return DownRecord(
            statements: [],
            after: try result.queue.inDatabase(SchemaReader().schema),
            failure: result.failure ?? result.incomplete
        )
    }
}

extension String {
    /// Whether the names differ by one inserted, deleted or replaced byte.
    fileprivate func isSimilar(to other: String) -> Bool {
        let (one, other) = (Array(utf8), Array(other.utf8))
        guard abs(one.count - other.count) <= 1 else { return false }
        let start = zip(one, other).prefix { $0 == $1 }.count
        let end = zip(one.dropFirst(start).reversed(), other.dropFirst(start).reversed())
            .prefix { $0 == $1 }.count
        return max(one.count, other.count) - start - end <= 1
    }
}

/// The objects that don't exist since a statement failed.
private struct MissingObjects {
    private var names: Set<String> = []
    private var isUnknown = false

    mutating func add(_ statement: ParsedStatement, _ table: String?) {
        if let table { names.insert(table.foldedName) }
        switch statement.kind {
        case .insert, .update, .delete: return
        default: break
        }
        if let name = statement.target { names.insert(name.foldedName) }
        switch statement.kind {
        case .renameTable(_, let new), .renameColumn(_, _, let new): names.insert(new.foldedName)
        default: break
        }
    }

    mutating func addAll() {
        isUnknown = true
    }

    /// Whether a statement needs one of them.
    func concern(_ statement: ParsedStatement) -> Bool {
        isUnknown || statement.words.contains { names.contains($0.name) }
    }
}
