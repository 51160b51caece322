import MigrationKitGRDB
import MigrationKitSchema

/// Full-text tables that a migration leaves without rows that were there, or whose triggers don't follow
/// what is written to the rows. ``StaleFullText`` looks at what generated rows alone show.
enum FollowedRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        guard step.incomplete == nil, step.succeeds else { return }
        unfilled(step, &findings)
        guard let trials = step.trials else { return }
        let stale = Set(step.staleIndexes.map(\.name))
        for index in step.after.tables.values.sorted(by: { $0.name < $1.name }) {
            guard let name = index.contentTable, let content = step.after.table(name),
                !stale.contains(index.name)
            else { continue }
            withMeantRows(index, content, step, trials, &findings)
            triggers(index, content, step, trials, &findings)
        }
    }

    // MARK: - Texts of Its Own

    /// A new full-text table that only gets rows which are inserted later.
    private static func unfilled(_ step: StepRecord, _ findings: inout FindingList) {
        for creation in step.statements {
            guard case .createVirtualTable(let name) = creation.kind,
                let index = step.after.table(name), index.isFullText, index.contentTable == nil,
                !step.writtenTables.contains(name.foldedName)
            else { continue }
            let source = step.after.triggers.values.sorted { $0.name < $1.name }.first { trigger in
                trigger.definition.names(name) && step.before.trigger(trigger.name) == nil
                    && step.before.table(trigger.table) != nil
                    && step.data?.rows(in: trigger.table) != 0
            }
            guard let source else { continue }
            findings.add(
                .staleFullText,
                level: .warning,
                at: creation,
                "the full-text table '\(index.name)' gets rows of '\(source.table)' from the trigger "
                    + "'\(source.name)', and none of those that are there already: searches don't find "
                    + "them",
                fix: "Insert them in the same migration: `INSERT INTO "
                    + "\(GRDBMigrationSQLHelpers.quoted(index.name)) (rowid, ...) SELECT ...`."
            )
        }
    }

    // MARK: - Rows That a Statement Means

    /// Generated rows may be none of those that an `UPDATE` or a `DELETE` means.
    private static func withMeantRows(
        _ index: SchemaModel.Table,
        _ content: SchemaModel.Table,
        _ step: StepRecord,
        _ trials: Trials,
        _ findings: inout FindingList
    ) {
        for statement in step.statements {
            let target: String
            switch statement.kind {
            case .update(let name, _), .delete(let name): target = name
            default: continue
            }
            guard let table = step.original(of: target, at: statement),
                target.isSameName(as: content.name) || table.name.isSameName(as: content.name),
                let condition = statement.parsed.condition(in: statement.text),
                let meant = trials.updates(of: table, toSatisfy: condition).first,
                let states = trials.tried?.read({ try? FullTextIndex.States(in: $0) })
            else { continue }
            let wasThere = step.before.table(index.name)?.contentTable != nil
            let setup = meant + (wasThere ? [index.rebuildCommand] : [])
            let isStale = trials.outcomes(after: setup, of: step.statements.indices) {
                database,
                outcomes in
                outcomes.allSatisfy { $0.failure == nil }
                    && database.read { db in
                        let stale = try? states.leftWrong(in: db, touched: nil)
                        return stale?.contains { $0.name.isSameName(as: index.name) } ?? false
                    }
            }
            guard isStale == true else { continue }
            StaleFullText.report(index.name, content.name, at: statement, &findings)
            return
        }
    }

    // MARK: - Triggers

    /// Triggers that the migration makes, or that stay when it drops others.
    private static func triggers(
        _ index: SchemaModel.Table,
        _ content: SchemaModel.Table,
        _ step: StepRecord,
        _ trials: Trials,
        _ findings: inout FindingList
    ) {
        func following(_ schema: SchemaModel) -> [SchemaModel.Trigger] {
            schema.triggers.values.filter { $0.definition.names(index.name) }
        }
        let now = following(step.after)
        let isChanged =
            Set(now.map(\.definition)) != Set(following(step.before).map(\.definition))
        // A trigger with a condition means an index of some rows.
        guard !now.isEmpty, isChanged, !now.contains(where: { $0.definition.names("when") }),
            let last = step.statements.last(where: { statement in
                switch statement.kind {
                case .createTrigger(let name), .dropTrigger(let name):
                    [statement.before, statement.after].contains { schema in
                        schema.trigger(name)?.definition.names(index.name) ?? false
                    }
                default: false
                }
            })
        else { return }
        let writes = content.writes(follow: index)
        let missed = trials.outcomes(after: [], of: step.statements.indices) {
            database,
            outcomes in
            guard outcomes.allSatisfy({ $0.failure == nil }), !database.differs(index.name) else {
                return [String]()
            }
            return writes.filter { write in
                database.execute("SAVEPOINT follow")
                defer { database.execute("ROLLBACK TO follow; RELEASE follow") }
                let failure = database.run(write.sql).failure
                return failure.map(\.isCorruption) ?? database.differs(index.name)
            }.map(\.name)
        }
        guard let missed, !missed.isEmpty else { return }
        findings.add(
            .staleFullText,
            level: .warning,
            at: last,
            "the triggers of the full-text table '\(index.name)' don't follow "
                + "\(listedPlainly(missed)) of '\(content.name)': searches find what isn't there, or don't "
                + "find what is",
            fix:
                "Write a trigger for INSERT, UPDATE and DELETE each. To remove an entry needs the old "
                + "values of all columns."
        )
    }
}

extension SchemaModel.Table {
    fileprivate var isFullText: Bool { module.map { $0.hasPrefix("fts") } ?? false }

    /// What an app may do with the rows that a full-text table has the texts of.
    fileprivate func writes(follow index: SchemaModel.Table) -> [(name: String, sql: String)] {
        let table = "main." + GRDBMigrationSQLHelpers.quoted(name)
        let updates = columns.filter { column in
            column.generated == nil && !primaryKey.contains { $0.isSameName(as: column.name) }
                && index.column(column.name) != nil
        }.map { column in
            (
                name: "an UPDATE of column '\(column.name)'",
                sql: update(column.name, to: "'words of another text'")
            )
        }
        let copied = columns.filter { column in
            column.generated == nil && !primaryKey.contains { $0.isSameName(as: column.name) }
        }.map { GRDBMigrationSQLHelpers.quoted($0.name) }.joined(separator: ", ")
        let insert =
            copied.isEmpty
            ? []
            : [
                (
                    name: "an INSERT",
                    sql:
                        "INSERT OR IGNORE INTO \(table) (\(copied)) SELECT \(copied) FROM \(table) LIMIT 1"
                )
            ]
        return insert + updates + [(name: "a DELETE", sql: "DELETE FROM \(table)")]
    }
}

extension ScratchDatabase {
    fileprivate func differs(_ index: String) -> Bool {
        read { db in (try? FullTextIndex.named(index, in: db)?.differs(in: db)) ?? false }
    }
}

extension StatementFailure {
    /// A full-text table may notice by itself that it is told to remove what it doesn't have.
    fileprivate var isCorruption: Bool { code.primaryResultCode == .SQLITE_CORRUPT }
}
