import GRDB
import MigrationKitGRDB
import MigrationKitSchema

/// Statements that write rows, or index expressions, and that SQLite refuses for some rows that the schema
/// before the migration allows, such as two that become equal.
enum RefusedWrites {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard let trials = step.trials, step.incomplete == nil, step.batches.isEmpty else { return }
        var shapes: Set<[String]> = []
        let copies = Set(step.rebuilds.flatMap(\.copies).map(\.statement.number))
        let children = findings.judgesOrphans(of: step) ? step.writtenChildren : [:]
        let judged = step.statements.filter { statement in
            statement.failure == nil
                && (statement.computesWithRows || step.indexesNewColumns(statement)
                    || step.setsPartOfKey(statement) || children[statement.number] != nil)
                && !step.refusesOnPurpose(statement)
        }
        guard let last = judged.last else { return }
        var refusals = Refusals(step: step, trials: trials, last: last.number, children)
        for statement in judged {
            // The demands of a rebuild are counted there.
            if copies.contains(statement.number),
                step.data != nil || !statement.parsed.joinsOrComputes,
                !statement.leavesOutRequiredColumn
            {
                continue
            }
            let sources = sources(of: statement, step)
            guard !sources.isEmpty, statement.rejection == nil,
                findings.rules(at: statement).isDisjoint(with: FailedChecks.explaining),
                // One of those that differ only in their literals stands for all.
                shapes.insert(statement.parsed.words.map { $0.isLiteral ? "?" : $0.name }).inserted,
                let refusal = refusals.first(
                    of: statement,
                    reading: sources.map(\.table.name),
                    after: setups(for: statement, sources, trials)
                )
            else { continue }
            let failure: StatementFailure
            switch refusal {
            case .failure(let refused): failure = refused
            case .orphans:
                findings.addOrphans(in: children[statement.number]?.name ?? "", at: statement)
                continue
            }
            let names = listed(sources.map(\.table.name).sorted())
            findings.add(
                failure.violatedRule ?? .migrationFails,
                level: .warning,
                at: statement,
                "the statement fails for some rows that \(sources.count == 1 ? "table" : "tables") \(names) "
                    + "can have: \(SQLiteMessage(failure).withoutValues(in: statement))",
                fix: failure.violates(.unique)
                    ? "Decide first which of the rows that become equal stays, and how the others differ."
                    : "Leave such rows out with a WHERE, or change them first."
            )
        }
    }

    /// The columns that a statement reads of a table that was there before.
    private typealias Source = (table: SchemaModel.Table, columns: [SchemaModel.Column])

    private static func sources(of statement: StatementRecord, _ step: StepRecord) -> [Source] {
        var read: [String: Set<String>] = [:]
        for action in statement.actions where action.kind == .read {
            read[action.name.foldedName, default: []].insert(action.detail?.foldedName ?? "")
        }
        if case .createIndex(_, let table, _) = statement.kind {
            read = [table.foldedName: Set(statement.parsed.words.map(\.name))]
            // From what the migration has filled its columns.
            for earlier in step.statements.prefix(statement.number)
            where earlier.kind == .update(table, conflict: nil) {
                read[table.foldedName]?.formUnion(
                    earlier.actions.filter { $0.kind == .read && $0.name.isSameName(as: table) }
                        .compactMap { $0.detail?.foldedName }
                )
            }
        }
        return read.sorted { $0.key < $1.key }.compactMap { name, columns -> Source? in
            let rebuilt = step.rebuilds.first { rebuild in
                rebuild.end.number < statement.number && rebuild.after.name.isSameName(as: name)
            }
            guard let table = step.original(of: name, at: statement) ?? rebuilt?.before,
                !table.isVirtual,
                step.data?.rows(in: table.name) != 0
            else { return nil }
            let known = table.columns.filter {
                $0.generated == nil && !$0.isHidden && columns.contains($0.name.foldedName)
            }
            return known.isEmpty ? nil : (table, known)
        }
    }

    private static func setups(
        for statement: StatementRecord,
        _ sources: [Source],
        _ trials: Trials
    ) -> [Setup] {
        let others = sources.flatMap { table, columns -> [Setup] in
            let texts = [statement.text] + table.checks.map(\.expression.text)
            let all = columns.prefix(mostColumns)
            let changes = trials.changes(
                of: Array(all),
                table,
                literalsIn: texts.joined(separator: " "),
                fitting: true
            )
            // Values may become equal together with those that are.
            let together = table.uniqueKeys.map { $0.compactMap(table.column) }.filter { key in
                key.count > 1 && key.contains { column in all.contains { $0.name == column.name } }
            }
            let equal = (all.map { [$0] } + together).flatMap {
                trials.equalRows($0, table, fitting: true)
            }
            // Values that another table knows, and the parent of this statement's rows may not.
            let elsewhere = all.flatMap {
                trials.changesWithParents(of: $0, table, literalsIn: "")
            }
            return (changes.map { [$0] } + equal + elsewhere).map {
                Setup(tables: [table.name], updates: $0)
            }
        }
        // Generated rows may be none of those that it means.
        let meant = statement.parsed.condition(in: statement.text).flatMap { condition in
            sources.lazy.compactMap { table, _ in
                trials.updates(of: table, toSatisfy: condition).first
                    .map { Setup(tables: [table.name], updates: $0) }
            }.first
        }
        // Rows may have none in another table.
        let without =
            sources.count < 2
            ? []
            : sources.map { table, _ in
                Setup(
                    tables: [table.name],
                    updates: ["DELETE FROM main.\(GRDBMigrationSQLHelpers.quoted(table.name))"]
                )
            }
        return [Setup(tables: sources.map(\.table.name), updates: [])] + without + others
            + (meant.map { meant in [meant] + others.map { meant + $0 } } ?? [])
    }

    private static let mostColumns = 8
}

/// Changes of generated rows.
private struct Setup: Hashable {
    /// The tables that have the rows.
    let tables: [String]
    let updates: [String]

    static func + (one: Setup, other: Setup) -> Setup {
        Setup(tables: one.tables + other.tables, updates: one.updates + other.updates)
    }
}

/// What SQLite refuses of a migration, by the rows. All of its statements are run once for each setup, and not
/// once more for each of them.
private struct Refusals {
    let step: StepRecord
    let trials: Trials
    /// The tables with foreign keys that statements write, by their numbers.
    let children: [Int: SchemaModel.Table]
    /// All names of these tables and of their parents, in lower case: what becomes of their rows later counts.
    private let related: Set<String>
    /// The last statement that is asked for.
    let last: Int
    private var known: [Setup: Result] = [:]
    /// How many statements may still be run, so that a migration of thousands takes a second.
    private var runs = 10_000

    /// What SQLite refuses after a setup.
    private struct Result {
        /// How each statement fails that does.
        var failures: [Int: StatementFailure] = [:]
        /// How many rows of each table lack their parent; none if not all statements were run.
        var orphans: [String: Int] = [:]
        /// The last statement that was run.
        var last: Int
    }

    enum Refusal {
        case failure(StatementFailure)
        /// It writes rows that refer to none.
        case orphans
    }

    init(step: StepRecord, trials: Trials, last: Int, _ children: [Int: SchemaModel.Table]) {
        (self.step, self.trials, self.children) = (step, trials, children)
        self.last = children.isEmpty ? last : step.statements.count - 1
        related = children.values.reduce(into: []) { names, child in
            for table in [child.name] + child.foreignKeys.map(\.table) {
                names.formUnion(step.names(of: table))
            }
        }
    }

    /// What is refused of a statement for some rows for which all work on which it depends.
    mutating func first(
        of statement: StatementRecord,
        reading tables: [String],
        after setups: [Setup]
    ) -> Refusal? {
        let needed = step.statements(leadingTo: statement.number).dropLast()
        let child = children[statement.number]
        let end = child == nil ? statement.number : last
        // The others get theirs.
        let rest = runs / 2
        for setup in setups {
            guard let result = result(after: setup, upTo: end, leaving: rest) else { return nil }
            guard needed.allSatisfy({ result.failures[$0] == nil }) else { continue }
            if let failure = result.failures[statement.number] {
                if failure.dependsOnRows, !statement.parsed.hasConflictClause,
                    setup.updates.isEmpty || !makesOrphans(setup, in: tables)
                {
                    return .failure(failure)
                }
            } else if let child, result.failures.isEmpty, !setup.updates.isEmpty,
                let count = result.orphans[child.name], !makesOrphans(setup, in: everyTable),
                count > orphans(in: child, after: setup, without: statement.number)
            {
                return .orphans
            }
        }
        return nil
    }

    /// - Returns: `nil` if too much was run.
    private mutating func result(
        after setup: Setup,
        upTo number: Int,
        leaving rest: Int
    ) -> Result? {
        if let known = known[setup], known.last >= number { return known }
        let all = statements(about: setup).filter { $0 <= last }
        // Twice as far, so that a statement isn't run again for each that follows, nor hundreds for one.
        let needed = all.count { $0 <= number }
        let numbers = Array(all.prefix(2 * needed))
        guard runs - numbers.count >= rest else { return nil }
        runs -= numbers.count
        let isAll = numbers.count == all.count
        let end = isAll ? last : max(numbers.last ?? number, number)
        let result =
            trials.outcomes(after: setup.updates, of: numbers) { database, outcomes in
                let failures = outcomes.enumerated().reduce(into: [Int: StatementFailure]()) {
                    $0[$1.offset] = $1.element.failure
                }
                let counts = !children.isEmpty && end == last
                return Result(
                    failures: failures,
                    orphans: counts ? database.orphanCounts() : [:],
                    last: end
                )
            } ?? Result(last: end)
        known[setup] = result
        return result
    }

    private func statements(about setup: Setup) -> [Int] {
        step.statements(about: related.union(setup.tables.map(\.foldedName)))
    }

    /// How many rows of a table lack their parent if one of the statements isn't run.
    private func orphans(
        in child: SchemaModel.Table,
        after setup: Setup,
        without number: Int
    ) -> Int {
        let others = statements(about: setup).filter { $0 != number }
        return trials.outcomes(after: setup.updates, of: others) { database, _ in
            database.orphanCount(in: child.name)
        } ?? .max
    }

    private var everyTable: [String] { trials.schema.tables.values.map(\.name) }

    /// Rows without a parent from before prove nothing.
    private func makesOrphans(_ setup: Setup, in tables: [String]) -> Bool {
        trials.trying(setup.updates) { database in
            tables.contains { trials.makesOrphans(in: $0, database) }
        } ?? true
    }
}

extension StatementRecord {
    /// Whether it computes something with rows, so that it may fail for some.
    fileprivate var computesWithRows: Bool {
        switch kind {
        case .update(_, conflict: nil): parsed.setsMoreThanLiterals
        case .insert(_, conflict: nil): parsed.hasKeywordAnywhere("SELECT")
        case .createIndex: parsed.indexesExpressions
        default: false
        }
    }
}

extension StatementRecord {
    /// Whether it fails for any row, since it doesn't name a column that must have a value.
    fileprivate var leavesOutRequiredColumn: Bool {
        guard let failure = failureWithRows, failure.violates(.notNull),
            let column = failure.message.split(separator: ".").last
        else { return false }
        return !parsed.words.contains { $0.text == "*" || $0.name.isSameName(as: String(column)) }
    }
}

extension StepRecord {
    /// The tables, as they are after the migration, whose foreign keys statements give values that they read, by
    /// the numbers of the statements.
    fileprivate var writtenChildren: [Int: SchemaModel.Table] {
        statements.reduce(into: [:]) { children, statement in
            switch statement.kind {
            case .insert(let name, _) where statement.parsed.hasKeywordAnywhere("SELECT"):
                children[statement.number] = child(name, statement.parsed.insertedColumns)
            case .update(let name, _) where statement.parsed.setsMoreThanLiterals:
                let written = statement.actions.filter { $0.kind == .update && $0.cause == nil }
                children[statement.number] = child(name, written.compactMap(\.detail))
            default: return
            }
        }
    }

    /// - Parameter columns: Those that are written; `nil` for all.
    private func child(_ name: String, _ columns: [String]?) -> SchemaModel.Table? {
        names(of: name).lazy.compactMap(after.table).first { table in
            table.foreignKeys.flatMap(\.columns).contains { column in
                columns?.contains { $0.isSameName(as: column) } ?? true
            }
        }
    }

    /// Whether an `UPDATE` gives rows the same value in a column of a key of several.
    fileprivate func setsPartOfKey(_ statement: StatementRecord) -> Bool {
        guard case .update(let name, conflict: nil) = statement.kind,
            let table = original(of: name, at: statement)
        else { return false }
        return table.uniqueKeys.contains { key in
            key.count > 1
                && key.contains { column in
                    statement.actions.contains {
                        $0.kind == .update && $0.cause == nil && $0.name.isSameName(as: name)
                            && $0.detail?.isSameName(as: column) ?? false
                    }
                }
        }
    }

    /// Whether a statement makes a unique index with columns that the migration has added.
    fileprivate func indexesNewColumns(_ statement: StatementRecord) -> Bool {
        guard case .createIndex(_, let name, isUnique: true) = statement.kind,
            let old = original(of: name, at: statement), let new = statement.before.table(name)
        else { return false }
        return statement.parsed.words.contains { word in
            new.column(word.name) != nil && old.column(word.name) == nil
        }
    }

    /// Whether a statement only compares: the migration itself makes the table that it fills, and drops it.
    fileprivate func refusesOnPurpose(_ statement: StatementRecord) -> Bool {
        guard case .insert(let target, _) = statement.kind, !existed(target) else { return false }
        return statements.dropFirst(statement.number).contains {
            $0.kind == .dropTable(target)
        }
    }
}

extension StatementFailure {
    /// The rule about the constraint that is violated.
    fileprivate var violatedRule: LintRule? {
        let requirements: [RowDemand.Requirement] = [.unique, .notNull, .check, .types]
        return requirements.first { violates($0) }?.hazard.rule
    }

    /// Whether it is one of a constraint, or of a function or trigger that refuses a value.
    fileprivate var dependsOnRows: Bool {
        violatedRule != nil || [.SQLITE_ERROR, .SQLITE_CONSTRAINT_TRIGGER].contains(code)
    }
}
