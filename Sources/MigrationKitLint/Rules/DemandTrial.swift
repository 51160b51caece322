import GRDB
import MigrationKitSchema

/// What a migration demands of rows that were there before it, tried on generated rows.
struct DemandTrial {
    let demand: RowDemand
    /// The table as it was before.
    let table: SchemaModel.Table
    /// The number of the statement to report on unless another one fails.
    let statement: Int
    /// The number of the last statement that the rows must pass.
    let last: Int

    enum Verdict {
        /// A statement fails, or rows lack their parent after it.
        case violated(at: Int)
        /// The migration corrects the rows.
        case satisfied
        /// No generated row could be made so that it matters: perhaps there can't be one.
        case untried
        /// Something else refuses the same rows first.
        case masked
        /// There are no generated rows.
        case noRows
    }

    var rule: LintRule? { demand.requirement.hazard.rule }

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
                    statement: demand.isRefused ? changed.statement : changed.lastStatement,
                    last: changed.lastStatement
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
        let statements = step.statements(about: tables(in: step))
        var verdict = Verdict.untried
        for setup in setups {
            let found = trials.outcomes(after: setup, of: statements) {
                self.verdict(of: $1, in: $0, step)
            }
            switch found {
            case .violated(let number)?: return .violated(at: number)
            case .satisfied?: verdict = .satisfied
            case .masked?: if case .untried = verdict { verdict = .masked }
            case .untried?, .noRows?, nil: continue
            }
        }
        return verdict
    }

    /// The tables whose rows decide about it, in lower case.
    private func tables(in step: StepRecord) -> Set<String> {
        var names = [table.name]
        if demand.requirement == .parent {
            let keys = table.foreignKeys + (step.after.table(table.name)?.foreignKeys ?? [])
            names += keys.map(\.table)
        }
        return Set(names.map(\.foldedName))
    }

    private func verdict(
        of outcomes: [Trials.Outcome],
        in database: ScratchDatabase,
        _ step: StepRecord
    ) -> Verdict {
        if demand.requirement == .parent, database.orphanCount(in: table.name) > 0 {
            return .violated(at: statement)
        }
        // Before 3.53, SQLite stores values of generated columns that only a check refuses.
        if demand.requirement == .types, database.hasWrongTypes(in: table.name) {
            return .violated(at: statement)
        }
        for (number, outcome) in outcomes.enumerated() where demand.requirement != .parent {
            guard let failure = outcome.failure, failure.violates(demand.requirement),
                isAbout(failure, in: step),
                // Generated rows may have the keys of rows that the migration inserts.
                demand.requirement != .unique
                    || step.statements[number].failureWithRows?.code != failure.code
            else { continue }
            return .violated(at: number)
        }
        let isMasked = zip(step.statements.prefix(last + 1), outcomes).contains { record, outcome in
            record.failure == nil && outcome.failure != nil
        }
        return isMasked ? .masked : .satisfied
    }

    /// Whether a failure may be of the demand's table, under any of the names that it has in the migration:
    /// `UNIQUE constraint failed: table.column`.
    private func isAbout(_ failure: StatementFailure, in step: StepRecord) -> Bool {
        let parts = ["UNIQUE", "NOT NULL"].map { "\($0) constraint failed: " }
        guard let prefix = parts.first(where: failure.message.hasPrefix),
            !failure.message.dropFirst(prefix.count).hasPrefix("index '")
        else { return true }
        let place = failure.message.dropFirst(prefix.count).lowercased()
        return step.names(of: table.name).contains { place.hasPrefix($0.lowercased() + ".") }
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
}

extension StatementFailure {
    /// Whether it says that rows don't satisfy something.
    func violates(_ requirement: RowDemand.Requirement) -> Bool {
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
