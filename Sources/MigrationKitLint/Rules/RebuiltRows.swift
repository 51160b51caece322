import MigrationKitGRDB

/// The rules about rows and values that a rebuild loses.
enum RebuiltRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for rebuild in step.rebuilds where !rebuild.isAnew {
            let losesAll = losesRows(rebuild, step, &findings)
            if !losesAll {
                losesColumns(rebuild, step, &findings)
                shiftsColumns(rebuild, step, &findings)
            }
            narrowsTypes(rebuild, step, &findings)
            ignoresRows(rebuild, step, &findings)
        }
    }

    // MARK: - Rows

    /// - Returns: Whether no row is copied.
    private static func losesRows(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) -> Bool {
        let table = rebuild.table
        guard step.data?.rows(in: table) != 0, let drop = rebuild.drop, rebuild.rowsAtDrop != 0
        else { return rebuild.copies.isEmpty }
        if rebuild.copies.isEmpty {
            findings.add(
                .rebuildLosesRows,
                // If the old rows don't fit the new table, they are left behind on purpose.
                level: rebuild.canCopyRows ? nil : .warning,
                at: drop,
                "the rebuild of table '\(table)' copies no row into the new table",
                fix:
                    "Copy the rows before the old table is dropped: `INSERT INTO new (...) SELECT ... "
                    + "FROM \(GRDBMigrationSQLHelpers.quoted(table))`."
            )
            return true
        }
        let copies = rebuild.copies.map(\.statement)
        // If the new table refuses the generated rows, its constraints have rules of their own.
        guard copies.allSatisfy({ $0.failure == nil && $0.failureWithRows == nil }),
            let before = rebuild.rowsAtDrop,
            let after = step.rowsAfter[table.lowercased()], after < before
        else { return false }
        let copy = rebuild.copies.first { $0.isIntoNew }?.statement ?? drop
        let isFiltered = copies.contains { copy in
            copy.parsed.hasKeywordAnywhere("WHERE") || copy.parsed.hasKeywordAnywhere("JOIN")
                || copy.parsed.hasKeywordAnywhere("DISTINCT")
                || copy.parsed.hasKeywordAnywhere("GROUP")
                || copy.parsed.hasKeywordAnywhere("LIMIT") || copy.parsed.hasConflictClause
        }
        // Those of a conflict clause have a finding of their own.
        guard !copies.contains(where: \.parsed.hasConflictClause) else { return false }
        findings.add(
            .rebuildLosesRows,
            level: isFiltered ? .warning : nil,
            at: copy,
            "the rebuild of table '\(table)' copies only some of its rows",
            fix: "Copy all rows, or delete those that are not needed with a DELETE of its own."
        )
        return false
    }

    private static func ignoresRows(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard rebuild.drop != nil else { return }
        for copy in rebuild.copies where copy.statement.parsed.hasConflictClause {
            findings.addIfRows(
                .conflictDropsRows,
                at: copy.statement,
                step.data?.rows(in: rebuild.table) == 0 ? 0 : nil,
                "the rebuild of table '\(rebuild.table)' drops the rows that violate a constraint of "
                    + "the new table",
                fix: "Use a plain INSERT, and decide in statements of their own what happens to "
                    + "duplicates."
            )
        }
    }

    // MARK: - Columns

    private static func losesColumns(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard rebuild.drop != nil,
            let copy = rebuild.copies.last(where: { $0.isIntoNew })?.statement
        else { return }
        let lists = rebuild.copies.filter(\.isIntoNew).map(\.statement.parsed.insertedColumns)
        for column in rebuild.before.columns where column.generated == nil && !column.isHidden {
            guard !rebuild.carries(column.name) else { continue }
            let quoted = GRDBMigrationSQLHelpers.quoted(column.name)
            let count = step.data?.rows(in: rebuild.table, where: "\(quoted) IS NOT NULL")
            guard count != 0 else { continue }
            guard let new = rebuild.after.column(column.name) else {
                findings.addIfRows(
                    .dropColumn,
                    at: copy,
                    count,
                    "the rebuild of table '\(rebuild.table)' drops column '\(column.name)' with its "
                        + "values",
                    fix: "If the values are needed, copy them first. Drop the column in a later "
                        + "release, when no installed version uses it."
                )
                continue
            }
            guard new.generated == nil else { continue }
            // Without a list, all columns are given a value.
            let isGivenOther = lists.contains { names in
                names?.contains { $0.isSameName(as: column.name) } ?? true
            }
            // New numbers are wrong if other tables have the old ones.
            let isRenumbered =
                rebuild.after.rowIDColumn?.name == new.name
                && !step.after.children(of: rebuild.table).contains {
                    step.after.referencedColumns(of: $0.key)
                        .contains { $0.isSameName(as: new.name) }
                }
            findings.add(
                .rebuildLosesColumn,
                level: isGivenOther || isRenumbered || column.type != new.type ? .warning : nil,
                at: copy,
                isGivenOther
                    ? "the rebuild of table '\(rebuild.table)' gives column '\(column.name)' other "
                        + "values than it had"
                    : "the rebuild of table '\(rebuild.table)' doesn't copy column '\(column.name)', "
                        + "which the old and the new table have",
                fix: "Add \(quoted) to the columns of the INSERT and of its SELECT."
            )
        }
    }

    /// Whether values that were in one column are afterwards in another one.
    private static func shiftsColumns(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let key = rebuild.table.lowercased()
        guard let before = step.valuesBefore[key], let after = step.valuesAfter[key],
            let copy = rebuild.copies.last(where: { $0.isIntoNew })?.statement
        else { return }
        let copiesAll = copy.parsed.words.contains { $0.text == "*" }
        var shifted: [String] = []
        for column in rebuild.after.columns where column.generated == nil {
            let name = column.name.lowercased()
            guard let old = before[name], let new = after[name], old != new, !new.isEmpty else {
                continue
            }
            let isShifted = before.contains { source, values in
                guard source != name, values == new, Set(values) != [""] else { return false }
                // A column that only the old table has may have got the other one's name.
                return after[source].map { $0 != values } ?? copiesAll
            }
            if isShifted { shifted.append(column.name) }
        }
        guard !shifted.isEmpty else { return }
        let isByPosition = copy.parsed.insertedColumns == nil || copiesAll
        findings.add(
            .rebuildShiftsColumns,
            level: isByPosition ? nil : .warning,
            at: copy,
            "the rebuild of table '\(rebuild.table)' puts the values of other columns into "
                + "\(listed(shifted))",
            fix:
                "Name the columns on both sides, in the same order: `INSERT INTO new (a, b) SELECT a, "
                + "b FROM old`."
        )
    }

    // MARK: - Types

    private static func narrowsTypes(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let copy = rebuild.copies.last { $0.isIntoNew }?.statement ?? rebuild.end
        for old in rebuild.before.columns where old.generated == nil {
            guard let new = rebuild.after.column(old.name), new.generated == nil else { continue }
            let quoted = GRDBMigrationSQLHelpers.quoted(old.name)
            let isCast = copy.parsed.casts(old.name)
            // An expression says what becomes of the values.
            guard isCast || !copy.parsed.computes(with: old.name) else { continue }
            let effect: String
            let condition: String
            switch (old.affinity, new.affinity) {
            case (.text, .integer), (.text, .numeric), (.text, .real), (.blob, .integer),
                (.blob, .numeric), (.blob, .real):
                effect = "texts that look like numbers lose leading zeros and trailing digits"
                condition = "typeof(\(quoted)) = 'text'"
            case (.integer, .real):
                effect = "integers beyond 2^53 lose digits"
                condition = "typeof(\(quoted)) = 'integer' AND abs(\(quoted)) > 9007199254740992"
            case (.real, .integer) where isCast, (.numeric, .integer) where isCast,
                (.real, .numeric) where isCast:
                effect = "fractions are cut off"
                condition = "typeof(\(quoted)) = 'real' AND \(quoted) <> CAST(\(quoted) AS INTEGER)"
            case (.blob, .text):
                effect = "numbers become texts"
                condition = "typeof(\(quoted)) IN ('integer', 'real')"
            default: continue
            }
            findings.addIfRows(
                .narrowsType,
                at: copy,
                step.data?.rows(in: rebuild.table, where: condition),
                "column '\(old.name)' of table '\(rebuild.table)' changes from "
                    + "\(old.type.isEmpty ? "no type" : old.type) to \(new.type): \(effect)",
                fix: "Keep the type, or check first that no value changes."
            )
        }
    }
}

extension Rebuild {
    /// Whether the new table takes the columns of the old rows: their keys are alike, and no other
    /// column needs a value.
    fileprivate var canCopyRows: Bool {
        let isKeyAlike =
            before.primaryKey.map { $0.lowercased() } == after.primaryKey.map { $0.lowercased() }
            && after.primaryKey.allSatisfy {
                before.column($0)?.affinity == after.column($0)?.affinity
            }
        return isKeyAlike
            && after.columns.allSatisfy { column in
                before.column(column.name) != nil || !column.isNotNull
                    || column.defaultValue != nil || column.generated != nil
            }
    }
}

extension ParsedStatement {
    /// `INSERT OR IGNORE` or `OR REPLACE`.
    fileprivate var hasConflictClause: Bool {
        guard case .insert(_, let conflict?) = kind else { return false }
        return ["IGNORE", "REPLACE"].contains(conflict)
    }

    /// Whether the list of a `SELECT` has the column only in expressions such as `f(column)`.
    fileprivate func computes(with column: String) -> Bool {
        let list = words.drop { $0.depth > 0 || $0.keyword != "SELECT" }
            .prefix { $0.depth > 0 || $0.keyword != "FROM" }
        let places = list.filter { $0.name.isSameName(as: column) }
        return !places.isEmpty && places.allSatisfy { $0.depth > 0 }
    }

    /// Whether it has `CAST(column AS ...)`.
    fileprivate func casts(_ column: String) -> Bool {
        zip(words, words.dropFirst(2)).contains {
            $0.keyword == "CAST" && $1.name.isSameName(as: column)
        }
    }
}
