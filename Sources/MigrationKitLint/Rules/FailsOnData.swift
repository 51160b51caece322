import MigrationKitCommon
import MigrationKitSchema

/// The rules of the group "Fails on real data", but for `migration-fails`: see ``FailedChecks``.
enum FailsOnData {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for statement in step.statements {
            refusedAlteration(statement, &findings)
        }
        for trial in DemandTrial.all(in: step) {
            violation(of: trial, in: step, &findings)
        }
        orphans(in: step, &findings)
        mismatches(in: step, &findings)
    }

    /// Rows that the migration writes, and that refer to nothing.
    private static func orphans(in step: StepRecord, _ findings: inout FindingList) {
        guard findings.judgesOrphans(of: step) else { return }
        for table in step.orphaned {
            let writing = step.statements.last { statement in
                switch statement.kind {
                case .insert(let name, _), .update(let name, _):
                    name.isSameName(as: table)
                        && statement.actions.contains { $0.kind == .read && $0.detail != nil }
                default: false
                }
            }
            if let writing { findings.addOrphans(in: table, at: writing) }
        }
    }

    // MARK: - Refused Alterations

    private static func refusedAlteration(
        _ statement: StatementRecord,
        _ findings: inout FindingList
    ) {
        switch (statement.rejection, statement.kind) {
        case (.addColumnFails, .addColumn(let table, let column)):
            let message = (statement.failure ?? statement.failureWithRows)?.message ?? ""
            findings.add(
                .addColumnFails,
                at: statement,
                "SQLite can't add column '\(column)' to table '\(table)'"
                    + (statement.failure == nil ? " if the table has rows: " : ": ")
                    + message,
                fix: advice(onRefused: message, column: column, table: table)
            )
        case (.dropColumnFails, .dropColumn(let table, let column)):
            findings.add(
                .dropColumnFails,
                at: statement,
                "SQLite can't drop column '\(column)' of table '\(table)': "
                    + (statement.failure?.message ?? ""),
                fix: "Drop the index, trigger or view that uses the column first, or rebuild the "
                    + "table if the column is part of a key or constraint."
            )
        default:
            return
        }
    }

    private static func advice(onRefused message: String, column: String, table: String) -> String {
        switch message {
        case _ where message.contains("UNIQUE"):
            "Add the column without UNIQUE, and create a unique index on it."
        case _ where message.contains("non-constant default"), _ where message.contains("NOT NULL"):
            "Add the column without NOT NULL, fill it, and rebuild the table if it must be NOT "
                + "NULL; or give it a constant default."
        case _ where message.contains("REFERENCES"):
            "Add the column without a default, and fill it."
        default:
            "Rebuild the table: create it anew with the column, copy, drop, rename."
        }
    }

    // MARK: - Demands on Rows

    private static func violation(
        of trial: DemandTrial,
        in step: StepRecord,
        _ findings: inout FindingList
    ) {
        let count = step.data.flatMap(trial.violations)
        guard count != 0, let rule = trial.rule else { return }
        let demand = trial.demand
        guard demand.isRefused else {
            let place = step.statements[trial.statement]
            return findings.addIfRows(
                rule,
                at: place,
                count,
                demand.message,
                fix: demand.suggestion
            )
        }
        let verdict = trial.verdict(in: step)
        let number: Int
        switch verdict {
        case .violated(let statement): number = statement
        case .satisfied: return
        case .untried where count == nil: return
        case .untried, .masked, .noRows: number = trial.statement
        }
        let place = step.statements[number]
        // ADD COLUMN that fails on any row has a rule of its own.
        guard place.rejection == nil else { return }
        // Rows that the migration itself has written aren't those of the database.
        let isWritten = step.statements[..<number].contains { earlier in
            earlier.actions.contains {
                [.insert, .update, .delete].contains($0.kind)
                    && $0.name.isSameName(as: trial.table.name)
            }
        }
        if case .noRows = verdict, isWritten { return }
        let rows = count.map { count in
            ": the database has \(counted(count, "such row"))"
                + (isWritten ? " before the migration" : "")
        }
        findings.add(
            rule,
            level: count == nil || isWritten ? nil : .error,
            at: place,
            demand.message + (rows ?? ""),
            fix: demand.suggestion
        )
    }

    // MARK: - Foreign Keys Without a Key

    private static func mismatches(in step: StepRecord, _ findings: inout FindingList) {
        let changesSchema = step.statements.contains { statement in
            statement.actions.contains { [.create, .drop, .alter].contains($0.kind) }
        }
        guard changesSchema else { return }
        let before = step.before.mismatchedKeys
        for mismatch in step.after.mismatchedKeys where !before.contains(mismatch) {
            let statement = step.last { before, after in
                !before.mismatchedKeys.contains(mismatch) && after.mismatchedKeys.contains(mismatch)
            }
            let columns = listed(mismatch.referenced)
            findings.add(
                .foreignKeyMismatch,
                at: statement,
                "a foreign key of table '\(mismatch.table)' refers to \(columns) of table "
                    + "'\(mismatch.parent)', which has no primary key or unique index on exactly "
                    + "that; every later change of '\(mismatch.table)' fails",
                fix: "Create a unique index on these columns in the same migration, or refer to "
                    + "the primary key."
            )
        }
    }
}

extension StatementRecord {
    /// The rule that explains why SQLite refuses the statement; `nil` if none but
    /// ``LintRule/migrationFails`` does.
    var rejection: LintRule? {
        switch kind {
        case .addColumn:
            let message = (failure ?? failureWithRows)?.message ?? ""
            return message.lowercased().hasPrefix("cannot add")
                || message.contains("CHECK constraint failed")
                ? .addColumnFails : nil
        case .dropColumn:
            let message = failure?.message ?? ""
            return message.hasPrefix("cannot drop") || message.contains("after drop column")
                ? .dropColumnFails : nil
        case _ where parsed.isAboutTransactions, .pragma("journal_mode", _),
            .pragma("synchronous", _), .pragma("wal_checkpoint", _):
            return failure == nil ? nil : .noEffectInTransaction
        default:
            return failure != nil && callsLoadExtension ? .loadExtension : nil
        }
    }
}

// MARK: - Rows Without a Parent

extension FindingList {
    private static let orphanRule = RowDemand.Requirement.parent.hazard.rule

    /// Whether rows of a migration that refer to nothing are its own fault, and not explained by another
    /// finding.
    func judgesOrphans(of step: StepRecord) -> Bool {
        let explaining: Set<LintRule?> = [
            Self.orphanRule, .deleteWithoutCascade, .cascadeDeletes, .deleteWithoutWhere,
            .rebuildLosesRows, .dropTable, .conflictDropsRows,
        ]
        return step.foreignKeyChecks != .off && step.incomplete == nil
            && step.statements.allSatisfy { $0.failure == nil && $0.failureWithRows == nil }
            && !findings.contains { explaining.contains($0.rule) }
    }

    mutating func addOrphans(in table: String, at statement: StatementRecord) {
        guard let rule = Self.orphanRule else { return }
        add(
            rule,
            level: .warning,
            at: statement,
            "rows that are written into table '\(table)' may refer to rows that don't exist",
            fix: "Write only those with a parent, such as with a JOIN."
        )
    }
}

// MARK: - Mismatched Keys

/// A foreign key whose parent columns no primary key or unique index covers.
struct MismatchedKey: Hashable {
    let table: String
    let columns: [String]
    let parent: String
    let referenced: [String]
}

extension SchemaModel {
    /// <https://www.sqlite.org/foreignkeys.html#fk_indexes>
    fileprivate var mismatchedKeys: Set<MismatchedKey> {
        var found: Set<MismatchedKey> = []
        for child in tables.values {
            for key in child.foreignKeys {
                guard let parent = table(key.table), !parent.isVirtual else { continue }
                let referenced = referencedColumns(of: key)
                guard !isCovered(referenced, in: parent, count: key.columns.count) else { continue }
                found.insert(
                    MismatchedKey(
                        table: child.name,
                        columns: key.columns,
                        parent: parent.name,
                        referenced: referenced
                    )
                )
            }
        }
        return found
    }

    private func isCovered(_ columns: [String], in parent: Table, count: Int) -> Bool {
        guard columns.count == count, !columns.isEmpty else { return false }
        let wanted = Set(columns.map { $0.foldedName })
        if Set(parent.primaryKey.map { $0.foldedName }) == wanted { return true }
        let indexes = indexes(of: parent.name).filter { $0.isUnique && $0.condition == nil }
        return (parent.uniques.map(\.columns) + indexes.map(\.columns)).contains { key in
            Set(key.map { $0.text.foldedName }) == wanted
                && key.allSatisfy { indexed in
                    !indexed.isExpression
                        && indexed.collation == parent.column(indexed.text)?.collation
                }
        }
    }
}
