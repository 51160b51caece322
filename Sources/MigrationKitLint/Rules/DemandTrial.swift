import GRDB
import MigrationKitSchema

/// What a migration demands of rows that were there before it, tried on generated rows.
struct DemandTrial {
    let demand: RowDemand
    /// The table as it was before.
    let table: SchemaModel.Table
    /// The number of the statement to report on unless another one fails.
    let statement: Int

    enum Verdict {
        /// A statement fails, or rows lack their parent after it.
        case violated(at: Int)
        /// The migration corrects the rows.
        case satisfied
        /// No generated row could be made so that it matters: perhaps there can't be one.
        case untried
        /// There are no generated rows.
        case noRows
    }

    var rule: LintRule? { LintRule(rawValue: demand.requirement.rawValue) }

    // MARK: - Finding Them

    /// The demands of a migration, each once.
    static func all(in step: StepRecord) -> [DemandTrial] {
        guard let start = step.trials?.start else { return [] }
        var known: Set<RowDemand> = []
        return ChangedTable.all(in: step).flatMap { changed in
            let demands = start.read { db in
                RowDemands(changed.match, values: changed.values, in: db)
                    .all(of: changed.new, changed.old)
            }
            return demands.filter { demand in
                changed.requirements.contains(demand.requirement) && known.insert(demand).inserted
                    && (demand.requirement != .fits || changed.converts(demand.column))
            }.map { demand in
                DemandTrial(
                    demand: demand,
                    table: changed.old,
                    statement: demand.isRefused ? changed.statement : changed.lastStatement
                )
            }
        }
    }

    // MARK: - Trying It

    func verdict(in step: StepRecord) -> Verdict {
        if demand.requirement == .unique,
            step.statements[statement].failureWithRows?.violates(.unique) == true
        {
            return .violated(at: statement)
        }
        guard let trials = step.trials, trials.hasRows(in: table) else { return .noRows }
        let setups = trials.setups(against: demand, table)
        var verdict = Verdict.untried
        for setup in setups {
            guard let database = trials.database(after: setup), let pass = trials.run(on: database)
            else { continue }
            verdict = .satisfied
            if demand.requirement == .parent {
                if database.hasOrphans(in: table.name) { return .violated(at: statement) }
                continue
            }
            // Before 3.53, SQLite stores values of generated columns that only a check refuses.
            if demand.requirement == .types, database.hasWrongTypes(in: table.name) {
                return .violated(at: statement)
            }
            for (number, run) in pass.statements.enumerated() {
                guard let failure = run.failure, failure.violates(demand.requirement),
                    // Generated rows may have the keys of rows that the migration inserts.
                    demand.requirement != .unique
                        || step.statements[number].failureWithRows?.code != failure.code
                else { continue }
                return .violated(at: number)
            }
        }
        return verdict
    }

    /// How many rows of the real database don't satisfy it; `nil` if that isn't known.
    func violations(_ data: RealRows) -> Int? {
        guard let query = demand.countQuery,
            [table.name, demand.parent].compactMap(\.self)
                .allSatisfy({ data.tables.contains($0.foldedName) })
        else { return nil }
        return data.count(query)
    }
}

extension ScratchDatabase {
    fileprivate func hasWrongTypes(in table: String) -> Bool {
        read { db in
            let name = GRDBMigrationSQLHelpers.quoted(table)
            let findings = try? String.fetchAll(db, sql: "PRAGMA main.quick_check(\(name))")
            return findings?.contains { $0.hasPrefix("non-") } ?? false
        }
    }

    fileprivate func hasOrphans(in table: String) -> Bool {
        read { db in
            let orphans = try? Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM pragma_foreign_key_check(?)",
                arguments: [table]
            )
            return (orphans ?? 0) > 0
        }
    }
}

extension StatementFailure {
    fileprivate func violates(_ requirement: RowDemand.Requirement) -> Bool {
        switch requirement {
        case .unique:
            return [
                .SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_ROWID,
            ].contains(code)
        case .notNull where code == .SQLITE_CONSTRAINT_NOTNULL,
            .check where code == .SQLITE_CONSTRAINT_CHECK,
            .parent where code == .SQLITE_CONSTRAINT_FOREIGNKEY:
            return true
        // SQLITE_CONSTRAINT_DATATYPE, and a rowid that is no integer.
        case .types where code.rawValue == 3091 || code == .SQLITE_MISMATCH,
            .fits where code == .SQLITE_MISMATCH:
            return true
        // ALTER TABLE says it in words. <https://www.sqlite.org/lang_altertable.html#altertabaddcol>
        case .notNull, .check, .types:
            return message.hasSuffix("constraint failed") || message.hasPrefix("type mismatch")
        case .parent, .fits: return false
        }
    }
}

// MARK: - Changed Tables

/// A table before and after a migration, or a statement of it.
private struct ChangedTable {
    let old: SchemaModel.Table
    let new: SchemaModel.Table
    let match: SchemaMatch
    var values = ColumnExpressions()
    /// What the change can demand.
    var requirements = Set(RowDemand.Requirement.allCases)
    /// The number of the statement that brings the demands.
    let statement: Int
    var rebuild: Rebuild?

    /// The tables that a migration rebuilds, those that refer to them, and those that get a unique index
    /// or a column, in this order.
    static func all(in step: StepRecord) -> [ChangedTable] {
        let rebuilt = step.rebuilds.map { ChangedTable($0, in: step) }
        let names = Set(rebuilt.map(\.old.name.foldedName))
        let children = rebuilt.flatMap { parent in
            step.after.children(of: parent.new.name).compactMap { child -> ChangedTable? in
                guard !names.contains(child.table.name.foldedName),
                    let old = step.before.table(child.table.name)
                else { return nil }
                var changed = ChangedTable(
                    old: old,
                    new: child.table,
                    match: parent.match,
                    statement: parent.statement
                )
                changed.values = parent.values
                changed.requirements = [.parent]
                return changed
            }
        }
        return rebuilt + children
            + step.statements.compactMap { ChangedTable($0, in: step) }
    }

    private init(
        old: SchemaModel.Table,
        new: SchemaModel.Table,
        match: SchemaMatch,
        statement: Int
    ) {
        (self.old, self.new, self.match, self.statement) = (old, new, match, statement)
    }

    private init(_ rebuild: Rebuild, in step: StepRecord) {
        let copied = rebuild.copiedValues
        self.init(
            old: rebuild.before,
            new: rebuild.after,
            match: SchemaMatch(step.before, step.after, copied.renames),
            statement: rebuild.creation.number
        )
        values = copied.values
        self.rebuild = rebuild
    }

    /// - Returns: `nil` if the statement demands nothing of old rows.
    private init?(_ statement: StatementRecord, in step: StepRecord) {
        let name: String
        var requirements = Set(RowDemand.Requirement.allCases)
        guard statement.failure == nil else { return nil }
        switch statement.kind {
        case .createIndex(_, let table, isUnique: true):
            name = table
            requirements = [.unique]
        case .addColumn(let table, _) where statement.failureWithRows == nil: name = table
        default: return nil
        }
        guard let old = step.original(of: name, at: statement),
            let new = statement.after.table(name)
        else { return nil }
        if case .addColumn(_, let column) = statement.kind {
            let isPlain =
                new.column(column)?.generated == nil && new.checks.count == old.checks.count
                && new.foreignKeys.count == old.foreignKeys.count
            guard !isPlain else { return nil }
        }
        let renames = step.renames(of: old, to: new, before: statement.number)
        self.init(
            old: old,
            new: new,
            match: SchemaMatch(step.before, statement.after, renames),
            statement: statement.number
        )
        self.requirements = requirements
    }

    /// The statement after which values are changed.
    var lastStatement: Int {
        (rebuild?.copies.last { $0.isIntoNew }?.statement ?? rebuild?.end)?.number ?? statement
    }

    /// Whether the values of a column are only converted: an expression says what becomes of them.
    func converts(_ column: String?) -> Bool {
        guard let rebuild, let column else { return false }
        let copy = rebuild.copies.last { $0.isIntoNew }?.statement ?? rebuild.end
        return copy.parsed.casts(column) || !copy.parsed.computes(with: column)
    }
}

extension StepRecord {
    /// The renames of a table and its columns by the first statements.
    fileprivate func renames(
        of old: SchemaModel.Table,
        to new: SchemaModel.Table,
        before number: Int
    ) -> [SchemaRename] {
        var columns: [(old: String, new: String)] = []
        for statement in statements.prefix(number) where statement.failure == nil {
            guard case .renameColumn(let table, let column, let name) = statement.kind,
                original(of: table, at: statement)?.name == old.name
            else { continue }
            if let place = columns.firstIndex(where: { $0.new.isSameName(as: column) }) {
                columns[place].new = name
            } else {
                columns.append((column, name))
            }
        }
        let table =
            old.name.isSameName(as: new.name)
            ? [] : [SchemaRename(table: old.name, newName: new.name)]
        return table
            + columns.map { SchemaRename(table: old.name, column: $0.old, newName: $0.new) }
    }
}

extension Rebuild {
    /// What the only copy gives the columns of the new table: those of the old one, also under another
    /// name, or expressions.
    ///
    /// What other statements do isn't known: then each column counts as copied.
    fileprivate var copiedValues: (values: ColumnExpressions, renames: [SchemaRename]) {
        let former = columnRenames.compactMap { old, new in
            before.column(old).flatMap { column in
                after.column(new) == nil
                    ? nil : SchemaRename(table: before.name, column: column.name, newName: new)
            }
        }.sorted { $0.newName < $1.newName }
        guard copies.count == 1, copies[0].isFromOld, copies[0].isIntoNew,
            let pairs = copiedPairs(in: copies[0].statement)
        else { return (ColumnExpressions(), former) }
        var values = ColumnExpressions()
        var renames: [SchemaRename] = []
        for column in after.columns where column.generated == nil {
            guard let source = pairs[column.name.foldedName] else {
                if before.column(column.name) != nil {
                    values[after.name, column.name] = column.defaultValue?.text ?? "NULL"
                }
                continue
            }
            guard let plain = source.column.flatMap(formerColumn) else {
                let cast = source.castColumn.flatMap(formerColumn)
                if let cast, cast.name.isSameName(as: column.name) { continue }
                values[after.name, column.name] = source.text
                continue
            }
            guard !plain.name.isSameName(as: column.name) else { continue }
            if before.column(column.name) == nil, after.column(plain.name) == nil,
                !renames.contains(where: { $0.column == plain.name })
            {
                renames.append(
                    SchemaRename(table: before.name, column: plain.name, newName: column.name)
                )
            } else {
                values[after.name, column.name] = plain.name.quotedName
            }
        }
        return (values, renames)
    }

    /// The old column by the name that it has when rows are copied.
    private func formerColumn(_ name: String) -> SchemaModel.Column? {
        before.columns.first { self.name(of: $0).isSameName(as: name) }
    }

    /// What a copy gives each column, by its name in lower case; `nil` if that can't be read from it.
    private func copiedPairs(
        in copy: StatementRecord
    ) -> [String: ParsedStatement.SelectedValue]? {
        guard case .insert = copy.kind else { return nil }
        let targets =
            copy.parsed.insertedColumns
            ?? after.columns.filter { $0.generated == nil && !$0.isHidden }.map(\.name)
        let sources =
            copy.parsed.selectedValues
            ?? before.columns.filter { !$0.isHidden }.map { .init(column: self.name(of: $0)) }
        guard targets.count == sources.count else { return nil }
        return Dictionary(
            zip(targets.map(\.foldedName), sources),
            uniquingKeysWith: { first, _ in first }
        )
    }
}
