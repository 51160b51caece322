import MigrationKitCommon
import MigrationKitSchema

/// The rules of the group "Rows are lost", but for those about rebuilds: see ``RebuiltRows``.
enum LostRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for statement in step.statements where statement.failure == nil {
            switch statement.kind {
            case .dropTable(let table):
                drop(of: table, statement, step, &findings)
                cascade(from: table, statement, step, &findings)
                refusal(of: table, statement, step, &findings)
            case .dropColumn(let table, let column):
                drop(of: column, in: table, statement, step, &findings)
            case .delete(let table):
                deletion(from: table, statement, step, &findings)
                orphans(of: table, statement, step, &findings)
            case .update(let table, let conflict):
                update(of: table, statement, step, &findings)
                orphans(of: table, statement, step, &findings)
                if conflict == "REPLACE" {
                    replacement("UPDATE OR REPLACE", in: table, statement, step, &findings)
                }
            case .insert(let table, conflict: "REPLACE"):
                replacement("INSERT OR REPLACE", in: table, statement, step, &findings)
            default:
                continue
            }
        }
    }

    // MARK: - Dropped

    private static func drop(
        of name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard let table = step.original(of: name, at: statement),
            statement.after.table(name) == nil,
            !step.rebuilds.contains(where: { $0.drop?.number == statement.number && !$0.isAnew }),
            step.copies(ofRowsOf: name, before: statement).isEmpty, !table.holdsNoRowsOfItsOwn
        else { return }
        let isAnew = step.rebuilds.contains { $0.drop?.number == statement.number }
        let then = isAnew ? " and created again without them" : ""
        findings.addIfRows(
            .dropTable,
            at: statement,
            step.data?.rows(in: table.name),
            "table '\(table.name)' is dropped with its rows\(then)",
            fix: isAnew
                ? "Create the new table under another name, copy the rows, drop the old table, and "
                    + "rename the new one."
                : "If the rows are needed, copy them first. Drop the table in a later release, when "
                    + "no installed version uses it."
        )
    }

    private static func drop(
        of column: String,
        in name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard let table = step.original(of: name, at: statement),
            let old = statement.before.table(name)?.column(column), old.generated == nil,
            table.column(column) != nil,
            !step.reads(column, of: name, before: statement)
        else { return }
        let quoted = GRDBMigrationSQLHelpers.quoted(old.name)
        findings.addIfRows(
            .dropColumn,
            at: statement,
            step.data?.rows(in: table.name, where: "\(quoted) IS NOT NULL"),
            "column '\(old.name)' of table '\(table.name)' is dropped with its values",
            fix:
                "If the values are needed, copy them first. Drop the column in a later release, when "
                + "no installed version uses it."
        )
    }

    // MARK: - Cascades

    /// `DROP TABLE` deletes the rows first. With foreign keys on, that has the same effects on
    /// children as `DELETE`. <https://www.sqlite.org/foreignkeys.html#fk_schemacommands>
    private static func cascade(
        from name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard step.original(of: name, at: statement) != nil else { return }
        let reached = statement.before.tablesReached(byDeletingFrom: name).filter {
            step.before.table($0) != nil && step.data?.rows(in: $0) != 0
        }
        guard !reached.isEmpty, step.data?.rows(in: name) != 0 else { return }
        let effect = "deletes or changes the rows of \(listed(reached))"
        if statement.foreignKeysAreOn {
            findings.add(
                .cascadeDeletes,
                at: statement,
                "foreign keys are on here, and so dropping table '\(name)' \(effect)",
                fix: step.usesTransaction
                    ? "Use deferred checks (`foreignKeyChecks: .deferred`): foreign keys are off "
                        + "during the step, and checked at its end."
                    : "Let the migration run in a transaction. Foreign keys are then off, and checked "
                        + "before the commit."
            )
        } else if let format = step.format, step.usesTransaction {
            findings.add(
                .cascadeDeletes,
                // The format of `create`, which this program mostly applies itself.
                level: format == .dbmate ? .note : .warning,
                at: statement,
                "foreign keys are off in a migration here; but if \(format.otherTool) applies it with "
                    + "foreign keys on, dropping table '\(name)' \(effect)",
                fix: "Apply it with foreign keys off. `PRAGMA foreign_keys` has no effect in a "
                    + "transaction, and `defer_foreign_keys` doesn't prevent this."
            )
        }
    }

    /// With foreign keys on, a table can't be dropped while rows refer to its rows.
    private static func refusal(
        of name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard statement.foreignKeysAreOn,
            statement.failureWithRows?.code.primaryResultCode == .SQLITE_CONSTRAINT,
            step.original(of: name, at: statement) != nil, step.data?.rows(in: name) != 0
        else { return }
        let children = statement.before.children(of: name).map(\.table.name).filter {
            !$0.isSameName(as: name) && step.data?.rows(in: $0) != 0
        }
        guard !children.isEmpty else { return }
        findings.add(
            .migrationFails,
            at: statement,
            "foreign keys are on here: table '\(name)' can't be dropped while rows of "
                + "\(listed(Set(children).sorted())) refer to it",
            fix: "Use deferred checks (`foreignKeyChecks: .deferred`): foreign keys are off "
                + "during the step, and checked at its end."
        )
    }

    /// A `DELETE`, or an `UPDATE` of a key, that leaves children without their parent: foreign keys
    /// are off, so SQLite neither refuses it nor applies an action. In batches they are on.
    private static func orphans(
        of name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let isInBatches = !step.batches.isEmpty
        guard !statement.foreignKeysAreOn || isInBatches,
            step.original(of: name, at: statement) != nil,
            step.data?.rows(in: name) != 0, !step.inserts(into: name, after: statement)
        else { return }
        let children = statement.before.children(of: name).filter { child in
            !child.table.name.isSameName(as: name)
                && statement.changesKeys(of: name, to: child.key)
                && step.original(of: child.table.name, at: statement) != nil
                && step.after.table(child.table.name) != nil
                && !step.seesTo(rowsOf: child.table.name, at: statement)
                && step.data?.rows(in: child.table.name) != 0
        }
        let then =
            if isInBatches {
                "foreign keys are on in a batch, and so it then fails"
            } else if step.foreignKeyChecks == .off {
                "they refer to rows that don't exist"
            } else {
                "the check of foreign keys before the commit then fails"
            }
        func report(
            _ children: [(table: SchemaModel.Table, key: SchemaModel.ForeignKey)],
            _ message: (String) -> String
        ) {
            guard !children.isEmpty else { return }
            findings.add(
                .deleteWithoutCascade,
                at: statement,
                message(listed(Set(children.map(\.table.name)).sorted())) + ": " + then,
                fix: "Delete or change these rows in "
                    + (isInBatches ? "a migration before this one." : "the same migration.")
            )
        }
        guard case .delete = statement.kind else {
            return report(children) {
                "rows of \($0) may refer to keys of '\(name)' that are changed"
            }
        }
        // A batch that would reach children is refused.
        report(isInBatches ? [] : children.filter(\.key.reachesChildren)) {
            "foreign keys are off in a migration, and so the rows of \($0) that belong to deleted rows "
                + "of '\(name)' stay"
        }
        report(children.filter { !$0.key.reachesChildren }) {
            "rows of \($0) may refer to rows of '\(name)' that are deleted"
        }
    }

    // MARK: - DELETE and UPDATE

    private static func deletion(
        from name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard let table = step.original(of: name, at: statement), !table.holdsNoRowsOfItsOwn,
            step.concernsAllRows(statement, of: table), !statement.parsed.hasKeyword("LIMIT"),
            step.copies(ofRowsOf: name, before: statement).isEmpty,
            // It is the end of a rebuild, or the rows go with the table anyway.
            step.after.table(name)?.rootPage == table.rootPage
        else { return }
        findings.addIfRows(
            .deleteWithoutWhere,
            at: statement,
            step.data?.rows(in: table.name),
            "all rows of table '\(table.name)' are deleted",
            fix: "If only some rows are meant, add a WHERE."
        )
    }

    private static func update(
        of name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        // After a rebuild, the rows are those of the former table.
        let rebuild = step.rebuilds.first {
            $0.table.isSameName(as: name) && $0.end.number < statement.number && !$0.isAnew
        }
        guard let table = step.original(of: name, at: statement) ?? rebuild?.before,
            step.concernsAllRows(statement, of: table), !statement.parsed.hasKeyword("LIMIT"),
            !statement.parsed.hasKeyword("FROM")
        else { return }
        func names(_ kind: StatementAction.Kind) -> [String] {
            statement.actions.filter {
                $0.kind == kind && $0.cause == nil && $0.name.isSameName(as: name)
            }.compactMap(\.detail)
        }
        let read = names(.read)
        let overwritten = Set(names(.update)).filter { column in
            table.column(column) != nil && !read.contains { $0.isSameName(as: column) }
                // Otherwise, it only fills what the migration itself has added.
                && step.copies(of: column, in: name, before: statement).allSatisfy { copy in
                    rebuild?.copies.contains { $0.statement.number == copy.number } ?? false
                }
        }.sorted()
        guard !overwritten.isEmpty else { return }
        findings.addIfRows(
            .updateWithoutWhere,
            at: statement,
            step.data?.rows(in: table.name),
            "\(listed(overwritten)) of all rows of table '\(table.name)' \(overwritten.count == 1 ? "is" : "are") overwritten",
            fix: "If only some rows are meant, add a WHERE, such as "
                + "`WHERE \(GRDBMigrationSQLHelpers.quoted(overwritten[0])) IS NULL`."
        )
    }

    /// `OR REPLACE` deletes the rows that conflict, without a trigger, and with cascades if foreign
    /// keys are on. <https://www.sqlite.org/lang_conflict.html>
    private static func replacement(
        _ statementName: String,
        in name: String,
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard let table = step.original(of: name, at: statement), !table.isVirtual,
            statement.before.hasUniqueKey(table.name)
        else { return }
        let reached =
            statement.foreignKeysAreOn
            ? statement.before.tablesReached(byDeletingFrom: name) : []
        findings.addIfRows(
            .conflictDropsRows,
            at: statement,
            step.data?.rows(in: table.name),
            "\(statementName) deletes the rows of table '\(table.name)' that conflict with a new one"
                + (reached.isEmpty ? "" : ", and by cascades rows of \(listed(reached))"),
            fix:
                "Use `ON CONFLICT (...) DO UPDATE SET ...`, which keeps the row's other columns and "
                + "its children."
        )
    }
}

extension StatementRecord {
    /// Whether it deletes rows, or changes columns of rows, to which a foreign key may refer.
    fileprivate func changesKeys(of name: String, to key: SchemaModel.ForeignKey) -> Bool {
        if case .delete = kind { return true }
        return before.referencedColumns(of: key).contains { column in
            !parsed.changesOnlyNulls(of: column)
                && actions.contains {
                    $0.kind == .update && $0.cause == nil && $0.name.isSameName(as: name)
                        && $0.detail?.isSameName(as: column) ?? false
                }
        }
    }
}

extension StepRecord {
    /// Whether an `UPDATE` or `DELETE` has no condition, or one that holds for all rows.
    fileprivate func concernsAllRows(
        _ statement: StatementRecord,
        of table: SchemaModel.Table
    ) -> Bool {
        guard let condition = statement.parsed.condition(in: statement.text) else { return true }
        return statement.comparesWithItself(condition)
            || trials?.isAlwaysTrue(condition, in: table) ?? false
    }

    /// Whether the migration says what becomes of the rows of a table whose parents a statement
    /// deletes or changes.
    fileprivate func seesTo(rowsOf child: String, at statement: StatementRecord) -> Bool {
        func has(_ kinds: [StatementAction.Kind]) -> Bool {
            statement.actions.contains {
                kinds.contains($0.kind) && $0.name.isSameName(as: child)
            }
        }
        // A trigger may delete them.
        if writtenTables.contains(child.foldedName) || has([.update, .delete])
            || rebuilds.contains(where: { $0.table.isSameName(as: child) })
        {
            return true
        }
        // It may keep rows that have children. With foreign keys on, SQLite itself reads them.
        guard !statement.foreignKeysAreOn else {
            return statement.parsed.words.contains { $0.name.isSameName(as: child) }
        }
        return has([.read]) && orphaned.isEmpty
    }

    /// Whether a later statement puts rows into a table.
    fileprivate func inserts(into table: String, after statement: StatementRecord) -> Bool {
        statements.dropFirst(statement.number + 1).contains { later in
            later.actions.contains { $0.kind == .insert && $0.name.isSameName(as: table) }
        }
    }
}

extension StatementRecord {
    /// Whether a condition is `id IN (SELECT id FROM t)` while `t` has no such column: the name then means
    /// the outer table's. SQLite reports a table of which no column is read without the name of one.
    /// <https://www.sqlite.org/c3ref/set_authorizer.html>
    fileprivate func comparesWithItself(_ condition: String) -> Bool {
        let words = SQLTokens(condition).tokens
        guard words.count == 8, words[1].keyword == "IN", words[3].keyword == "SELECT",
            words[0].name == words[4].name, words[5].keyword == "FROM"
        else { return false }
        let read = actions.filter { $0.kind == .read && $0.name.isSameName(as: words[6].name) }
        return !read.isEmpty && read.allSatisfy { $0.detail?.isEmpty ?? true }
    }
}

extension ParsedStatement {
    /// Whether it has `column IS NULL`: nothing refers to such a key.
    fileprivate func changesOnlyNulls(of column: String) -> Bool {
        zip(words, zip(words.dropFirst(), words.dropFirst(2))).contains {
            $0.name.isSameName(as: column) && $1.0.keyword == "IS" && $1.1.keyword == "NULL"
        }
    }
}

extension FindingList {
    /// Adds a finding about rows that a table may have.
    ///
    /// - Parameters:
    ///   - count: How many rows a real database has; `nil` if that isn't known. Without rows there
    ///     is no finding, and with rows it is an error.
    ///   - message: What happens to the rows.
    mutating func addIfRows(
        _ rule: LintRule,
        at statement: StatementRecord?,
        _ count: Int?,
        _ message: String,
        fix: String? = nil
    ) {
        switch count {
        case nil: add(rule, at: statement, message, fix: fix)
        case 0: return
        case let count?:
            let rows = "the database has \(counted(count, "such row"))"
            add(rule, level: .error, at: statement, "\(message): \(rows)", fix: fix)
        }
    }
}
