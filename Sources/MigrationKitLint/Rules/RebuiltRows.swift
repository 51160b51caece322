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
        // Those of a conflict clause have a finding of their own.
        guard !copies.contains(where: \.parsed.hasConflictClause) else { return false }
        let copy = rebuild.copies.first { $0.isIntoNew }?.statement ?? drop
        // The generated rows may all pass a filter.
        if rebuild.copies.count == 1, copy.failure == nil, copy.parsed.filtersRows {
            let all = step.data?.rows(in: table)
            let copied = all.flatMap { _ in
                copy.parsed.query(in: copy.text).flatMap {
                    step.data?.count("SELECT count(*) FROM (\($0))")
                }
            }
            if let all, let copied {
                guard copied < all else { return false }
                findings.add(
                    .rebuildLosesRows,
                    at: copy,
                    "the rebuild of table '\(table)' copies only \(copied) of its \(all) rows",
                    fix: copyAll
                )
            } else {
                findings.add(
                    .rebuildLosesRows,
                    level: .warning,
                    at: copy,
                    "the rebuild of table '\(table)' may copy only some of its rows",
                    fix: copyAll
                )
            }
            return false
        }
        // If the new table refuses the generated rows, its constraints have rules of their own.
        guard copies.allSatisfy({ $0.failure == nil && $0.failureWithRows == nil }),
            let before = rebuild.rowsAtDrop,
            let after = step.rowsAfter[table.foldedName], after < before
        else { return false }
        findings.add(
            .rebuildLosesRows,
            level: copies.contains(where: \.parsed.filtersRows) ? .warning : nil,
            at: copy,
            "the rebuild of table '\(table)' copies only some of its rows",
            fix: copyAll
        )
        return false
    }

    private static let copyAll =
        "Copy all rows, or delete those that are not needed with a DELETE of its own."

    private static func ignoresRows(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard rebuild.drop != nil else { return }
        for copy in rebuild.copies
        where copy.statement.parsed.hasConflictClause
            || copy.isIntoNew && rebuild.hasNewConflictClause
                && !copy.statement.parsed.refusesConflicts
        {
            let rows = step.data?.rows(in: rebuild.table)
            findings.addIfRows(
                .conflictDropsRows,
                at: copy.statement,
                rows == 0 ? 0 : step.data.flatMap { rebuild.conflicts(of: copy, $0) },
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
            let name = rebuild.name(of: column)
            guard !rebuild.carries(name) else { continue }
            let quoted = GRDBMigrationSQLHelpers.quoted(column.name)
            let count = step.data?.rows(in: rebuild.table, where: "\(quoted) IS NOT NULL")
            guard count != 0 else { continue }
            guard let new = rebuild.after.column(name) else {
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
                names?.contains { $0.isSameName(as: name) } ?? true
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
                fix: "Add \(name.quotedName) to the columns of the INSERT and of its SELECT."
            )
        }
    }

    /// Whether values that were in one column are afterwards in another one.
    private static func shiftsColumns(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let key = rebuild.table.foldedName
        guard let before = step.valuesBefore[key], let after = step.valuesAfter[key],
            let copy = rebuild.copies.last(where: { $0.isIntoNew })?.statement
        else { return }
        let copiesAll = copy.parsed.words.contains { $0.text == "*" }
        var shifted: [String] = []
        for column in rebuild.after.columns where column.generated == nil {
            let name = column.name.foldedName
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
        // The generated values of two columns may be the same.
        for name in rebuild.columnsShiftedByPlace(in: copy) where !shifted.contains(name) {
            shifted.append(name)
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
}

extension Rebuild {
    /// How many of the real rows that a statement copies have the key of another one.
    ///
    /// - Returns: `nil` if that isn't known: SQLite may convert keys that differ, or a CHECK refuses rows.
    fileprivate func conflicts(of copy: Copy, _ data: RealRows) -> Int? {
        guard copies.count == 1, data.rows(in: table) != nil,
            let query = copy.statement.parsed.query(in: copy.statement.text)
        else { return nil }
        let names = copy.statement.parsed.insertedColumns ?? after.columns.map(\.name)
        let list = names.map(\.quotedName).joined(separator: ", ")
        let counts = after.uniqueKeys.compactMap { key -> Int? in
            let columns = key.compactMap(after.column)
            guard !key.isEmpty, columns.count == key.count,
                columns.allSatisfy({ column in names.contains { $0.isSameName(as: column.name) } })
            else { return nil }
            let present = columns.map { "\($0.name.quotedName) IS NOT NULL" }
            let terms = columns.map { "\($0.name.quotedName) COLLATE \($0.collation.quotedName)" }
            return data.count(
                """
                WITH copied (\(list)) AS (\(query))
                SELECT coalesce(sum(n), 0) FROM (
                    SELECT count(*) - 1 AS n FROM copied WHERE \(present.joined(separator: " AND "))
                    GROUP BY \(terms.joined(separator: ", "))
                )
                """
            )
        }
        return counts.max().flatMap { $0 > 0 ? $0 : nil }
    }

    /// Whether the new table has constraints that drop rows.
    /// <https://www.sqlite.org/lang_conflict.html>
    fileprivate var hasNewConflictClause: Bool {
        func count(_ sql: String) -> Int {
            let words = SQLTokens(sql).tokens
            return zip(words, words.dropFirst()).count {
                $0.keyword == "CONFLICT" && ["IGNORE", "REPLACE"].contains($1.keyword)
            }
        }
        return count(after.sql) > count(before.sql)
    }

    /// The columns that get the values of another column, by their places in both lists, although
    /// both tables have both columns.
    fileprivate func columnsShiftedByPlace(in copy: StatementRecord) -> [String] {
        guard copies.count == 1, copies[0].isFromOld, let pairs = copiedPairs(in: copy) else {
            return []
        }
        return pairs.compactMap { target, value in
            // A column that also stays where it was is copied twice on purpose.
            guard let source = value.column, !source.isSameName(as: target),
                !pairs.contains(where: { $0.target == source && $0.source.column == source }),
                before.column(target) != nil,
                before.column(source) != nil, after.column(source) != nil
            else { return nil }
            return target
        }
    }

    /// Whether the new table takes the columns of the old rows: their keys are alike, and no other
    /// column needs a value.
    fileprivate var canCopyRows: Bool {
        let isKeyAlike =
            before.primaryKey.map { $0.foldedName } == after.primaryKey.map { $0.foldedName }
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
