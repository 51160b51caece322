import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSchema

/// Rows that a migration copies before it drops their table, or values before it drops their column: whether
/// all of them are copied, also those that are equal, or have NULLs. Generated rows are different and have values, so other ones are tried.
enum CopiedRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard let trials = step.trials, step.incomplete == nil else { return }
        for drop in step.statements where drop.failure == nil {
            switch drop.kind {
            case .dropTable(let name): table(name, drop, step, trials, &findings)
            case .dropColumn(let table, let column):
                values(of: column, in: table, drop, step, trials, &findings)
            default: continue
            }
        }
    }

    // MARK: - Tables

    private static func table(
        _ name: String,
        _ drop: StatementRecord,
        _ step: StepRecord,
        _ trials: Trials,
        _ findings: inout FindingList
    ) {
        guard let table = step.original(of: name, at: drop), !table.holdsNoRowsOfItsOwn,
            step.data?.rows(in: table.name) != 0
        else { return }
        let copies = step.copies(ofRowsOf: name, before: drop)
        guard let last = copies.last,
            copies.contains(where: { $0.parsed.mayLeaveOutRows || $0.parsed.hasConflictClause }),
            copies.allSatisfy({ !$0.parsed.isUpdate })
        else { return }
        let rebuild = step.rebuilds.first { $0.drop?.number == drop.number }
        let ignoresRows = copies.contains(where: \.parsed.hasConflictClause)
        // These have findings of their own.
        if let rebuild, ignoresRows || rebuild.copies.count == 1 && last.parsed.filtersRows {
            return
        }
        let query = "SELECT count(*) FROM \(GRDBMigrationSQLHelpers.quoted(name))"
        guard let kind = lostRows(of: table, copies, before: drop, query, trials),
            rebuild == nil || kind != .any
        else { return }
        report(kind, table, copies, last, isRebuild: rebuild != nil, step, &findings)
    }

    /// Which rows aren't copied.
    private enum Kind {
        case any, equal, null
        /// Those with other values than the generated ones.
        case other

        var words: String {
            switch self {
            case .any, .other: "some rows"
            case .equal: "rows that are equal in what is copied"
            case .null: "rows with NULL"
            }
        }
    }

    /// - Parameter query: Counts what must be copied when it is dropped.
    private static func lostRows(
        of table: SchemaModel.Table,
        _ copies: [StatementRecord],
        before drop: StatementRecord,
        _ query: String,
        _ trials: Trials
    ) -> Kind? {
        let text = copies.map(\.text).joined(separator: "\n")
        let filtering = copies.flatMap { copy in
            copy.parsed.words.drop { !["FROM", "WHERE"].contains($0.keyword) }.map(\.name)
        }
        let columns = table.columns.filter {
            $0.generated == nil && filtering.contains($0.name.foldedName)
        }
        let others = trials.changes(of: columns, table, literalsIn: text, fitting: true)
        let setups: [(Kind, [String]?)] =
            [
                (.any, []),
                (.equal, table.change(.equal).map { [$0] }),
                (.null, table.change(.withNulls).map { [$0] }),
            ] + others.map { (.other, [$0]) }
        for (kind, setup) in setups {
            guard let setup else { continue }
            let isLost = trials.outcomes(after: setup, of: 0..<drop.number) { database, outcomes in
                guard outcomes.allSatisfy({ $0.failure == nil }) else { return false }
                let copied = copies.reduce(0) { $0 + rows(of: $1, outcomes, database) }
                let count = database.read { try? Int.fetchOne($0, sql: query) }
                return count.map { copied < $0 } ?? false
            }
            if isLost == true { return kind }
        }
        return nil
    }

    /// How many rows a statement has copied.
    private static func rows(
        of copy: StatementRecord,
        _ outcomes: [Trials.Outcome],
        _ database: ScratchDatabase
    ) -> Int {
        // SQLite doesn't count the rows of CREATE TABLE ... AS SELECT.
        switch copy.kind {
        case .createTable(let name), .createTemporary(let name):
            let name = GRDBMigrationSQLHelpers.quoted(name)
            return database.read { try? Int.fetchOne($0, sql: "SELECT count(*) FROM \(name)") } ?? 0
        default: return outcomes[copy.number].rowsWritten
        }
    }

    // MARK: - Columns

    private static func values(
        of column: String,
        in name: String,
        _ drop: StatementRecord,
        _ step: StepRecord,
        _ trials: Trials,
        _ findings: inout FindingList
    ) {
        guard let table = step.original(of: name, at: drop), table.column(column) != nil else {
            return
        }
        let copies = step.copies(of: column, in: name, before: drop)
            .filter { $0.parsed.passesOn(column) }
        let quoted = GRDBMigrationSQLHelpers.quoted(column)
        // Many apps write an empty text for none.
        let hasValue = "\(quoted) IS NOT NULL AND \(quoted) <> ''"
        guard let last = copies.last,
            copies.allSatisfy({ $0.parsed.mayLeaveOutRows || $0.parsed.hasConflictClause }),
            step.data?.rows(in: table.name, where: hasValue) != 0
        else { return }
        let query =
            "SELECT count(*) FROM \(GRDBMigrationSQLHelpers.quoted(name)) WHERE \(hasValue)"
        guard let kind = lostRows(of: table, copies, before: drop, query, trials), kind != .equal
        else { return }
        findings.add(
            .dropColumn,
            at: last,
            "some values of column '\(column)' of table '\(table.name)' aren't copied, and it is dropped "
                + "with them",
            fix: "Copy all of them. What a new column's default stands for can be left out: say so "
                + "with an allow comment."
        )
    }

    // MARK: - Reporting

    private static func report(
        _ kind: Kind,
        _ table: SchemaModel.Table,
        _ copies: [StatementRecord],
        _ copy: StatementRecord,
        isRebuild: Bool,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let rows = step.data?.rows(in: table.name)
        let copied = copies.map { copy in
            copy.parsed.hasConflictClause
                ? nil
                : copy.parsed.query(in: copy.text).flatMap {
                    step.data?.count("SELECT count(*) FROM (\($0))")
                }
        }
        var count: Int?
        if let rows, !copied.contains(nil) {
            count = rows - copied.compactMap(\.self).reduce(0, +)
            if let count, count <= 0 { return }
        }
        let message =
            kind == .equal
            ? "\(kind.words) become one: table '\(table.name)' is dropped with the others"
            : "\(kind.words) of table '\(table.name)' aren't copied, and it is dropped with them"
        findings.add(
            isRebuild ? .rebuildLosesRows : .dropTable,
            level: count == nil ? .warning : .error,
            at: copy,
            message + (count.map { "; of the database, \(counted($0, "row"))" } ?? ""),
            fix: "Copy all rows, or delete those that are not needed with a DELETE of its own."
        )
    }
}

extension ParsedStatement {
    /// What it copies goes into rows that are there, so that their number says nothing.
    fileprivate var isUpdate: Bool {
        if case .update = kind { true } else { false }
    }
}
