import MigrationKitSchema

/// The rule about foreign keys, views and triggers that refer to something that no longer exists.
enum DanglingReferences {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        // A migration that fails leaves everything as it was.
        guard step.statements.allSatisfy({ $0.failure == nil || $0.failureIsExplained }) else {
            return
        }
        foreignKeys(step, &findings)
        fullTextTables(step, &findings)
        for object in step.broken where !findings.explains(object.name) {
            let what = object.isView ? "view" : "trigger"
            let isMended = !step.finallyBroken.contains { $0.name == object.name }
            findings.add(
                .danglingReference,
                level: isMended ? .warning : nil,
                at: step.statements.lastBreaking(object.name),
                "the \(what) '\(object.name)' doesn't work any more: "
                    + SQLiteMessage(object.message).withoutValues,
                fix: "Drop it, or create it again for the changed tables."
            )
        }
    }

    /// A full-text table without content of its own reads rows by their rowids from another one.
    /// <https://www.sqlite.org/fts5.html#external_content_tables>
    private static func fullTextTables(_ step: StepRecord, _ findings: inout FindingList) {
        for table in step.after.tables.values.sorted(by: { $0.name < $1.name }) {
            guard let name = table.contentTable, let old = step.before.table(name),
                step.before.table(table.name)?.sql == table.sql
            else { continue }
            guard let now = step.after.table(name) else {
                findings.add(
                    .danglingReference,
                    level: step.final.table(name) != nil || step.final.table(table.name) == nil
                        ? .warning : nil,
                    at: step.last { $0.table(name) != nil && $1.table(name) == nil },
                    "the full-text table '\(table.name)' reads from table '\(name)', which no longer "
                        + "exists",
                    fix: "Drop '\(table.name)' as well, or create it again for the new table."
                )
                continue
            }
            let lost = table.columns.filter { column in
                !column.isHidden && old.column(column.name) != nil && now.column(column.name) == nil
            }.map(\.name)
            if !lost.isEmpty {
                findings.add(
                    .danglingReference,
                    level: step.final.table(table.name)?.sql != table.sql ? .warning : nil,
                    at: step.last { before, after in
                        lost.contains { before.table(name)?.column($0) != nil }
                            && lost.allSatisfy { after.table(name)?.column($0) == nil }
                    },
                    "the full-text table '\(table.name)' reads \(listed(lost)) of table '\(name)', "
                        + "which no longer has \(lost.count == 1 ? "it" : "them")",
                    fix: "Create '\(table.name)' again for the changed table, and rebuild it: "
                        + "`INSERT INTO fts (fts) VALUES ('rebuild')`."
                )
            }
            let rebuild = step.rebuilds.first { $0.table.isSameName(as: name) && !$0.isAnew }
            if let rebuild, old.rowIDColumn == nil, !old.isWithoutRowID,
                let copy = rebuild.copies.last(where: { $0.isIntoNew })?.statement,
                !(copy.parsed.insertedColumns ?? []).contains(where: {
                    rowidNames.contains($0.foldedName)
                }), !step.statements.contains(where: { $0.fills(table.name) })
            {
                findings.add(
                    .rebuildLosesColumn,
                    at: copy,
                    "the rebuild of table '\(name)' gives its rows other rowids, by which the full-text "
                        + "table '\(table.name)' finds them",
                    fix: "Copy the rowid, too: `INSERT INTO new (rowid, ...) SELECT rowid, ...`."
                )
            }
        }
    }

    private static func foreignKeys(_ step: StepRecord, _ findings: inout FindingList) {
        for child in step.after.tables.values.sorted(by: { $0.name < $1.name }) {
            for key in child.foreignKeys where step.after.table(key.table) == nil {
                // A table may refer to one that a later migration creates.
                guard step.existed(key.table), !findings.explains(child.name) else { continue }
                let drop = step.statements.last { statement in
                    switch statement.kind {
                    case .dropTable(let name), .renameTable(let name, _):
                        name.isSameName(as: key.table)
                    default: false
                    }
                }
                let isMended =
                    step.final.table(key.table) != nil
                    || !(step.final.table(child.name)?.foreignKeys.contains(key) ?? false)
                findings.add(
                    .danglingReference,
                    level: isMended ? .warning : nil,
                    at: drop,
                    "table '\(child.name)' has a foreign key to '\(key.table)', which no longer "
                        + "exists: with foreign keys on, every change of '\(child.name)' fails",
                    fix: "Rebuild '\(child.name)' without the foreign key, or drop it, too."
                )
            }
        }
    }
}

extension FindingList {
    /// Whether the rule about renaming the old table first has named an object.
    fileprivate func explains(_ name: String) -> Bool {
        findings.contains { $0.rule == .renamesOldTableFirst && $0.message.contains("'\(name)'") }
    }
}

extension [StatementRecord] {
    /// The last statement that drops or renames something.
    fileprivate func lastBreaking(_ name: String) -> StatementRecord? {
        last { statement in
            statement.failure == nil
                && statement.actions.contains { [.drop, .alter].contains($0.kind) }
        }
    }
}

extension StatementRecord {
    /// Whether it writes into a full-text table, as its command `rebuild` does.
    func fills(_ table: String) -> Bool {
        guard case .insert(let name, _) = kind else { return false }
        return name.isSameName(as: table)
    }
}
