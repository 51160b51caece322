import MigrationKitCommon
import MigrationKitSchema

/// Rows that a migration copies before it drops their table: whether all of them are copied, also those that
/// are equal, or have NULLs. Generated rows are different and have values, so other ones are tried.
enum CopiedRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard let trials = step.trials else { return }
        for drop in step.statements where drop.failure == nil {
            guard case .dropTable(let name) = drop.kind,
                let table = step.original(of: name, at: drop), !table.holdsNoRowsOfItsOwn,
                step.data?.rows(in: table.name) != 0
            else { continue }
            let copies = step.copies(ofRowsOf: name, before: drop)
            guard let last = copies.last,
                copies.contains(where: { $0.parsed.mayLeaveOutRows || $0.parsed.hasConflictClause }
                ),
                copies.allSatisfy({ !$0.parsed.isUpdate })
            else { continue }
            let rebuild = step.rebuilds.first { $0.drop?.number == drop.number }
            let ignoresRows = copies.contains(where: \.parsed.hasConflictClause)
            // These have findings of their own.
            if let rebuild, ignoresRows || rebuild.copies.count == 1 && last.parsed.filtersRows {
                continue
            }
            guard let kind = lostRows(of: table, as: name, copies, before: drop, trials) else {
                continue
            }
            if rebuild != nil, kind == .any { continue }
            report(kind, table, copies, last, isRebuild: rebuild != nil, step, &findings)
        }
    }

    /// Which rows aren't copied.
    private enum Kind: String {
        case any = "some rows"
        case equal = "rows that are equal in what is copied"
        case null = "rows with NULL"
    }

    private static func lostRows(
        of table: SchemaModel.Table,
        as name: String,
        _ copies: [StatementRecord],
        before drop: StatementRecord,
        _ trials: Trials
    ) -> Kind? {
        let setups: [(Kind, [String]?)] = [
            (.any, []),
            (.equal, table.change(.equal).map { [$0] }),
            (.null, table.change(.withNulls).map { [$0] }),
        ]
        let targets = Set(copies.compactMap(\.parsed.target).map(\.foldedName))
        for (kind, setup) in setups {
            guard let setup, let database = trials.database(after: setup) else { continue }
            let before = database.rowCounts(of: targets)
            guard let pass = trials.run(on: database, first: drop.number),
                pass.statements.allSatisfy({ $0.failure == nil }), pass.commitFailure == nil
            else { continue }
            let after = database.rowCounts(of: targets.union([name]))
            let copied = targets.reduce(0) { $0 + (after[$1] ?? 0) - (before[$1] ?? 0) }
            if let count = after[name], copied < count { return kind }
        }
        return nil
    }

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
            ? "\(kind.rawValue) become one: table '\(table.name)' is dropped with the others"
            : "\(kind.rawValue) of table '\(table.name)' aren't copied, and it is dropped with them"
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
