import MigrationKitSchema

/// The rules about what a rebuilt table itself no longer has: constraints, options, properties of
/// columns.
///
/// A rebuild has a reason. If the new table differs from the old one in nothing else, the loss is
/// that reason, and no finding.
enum RebuiltTable {
    private struct Loss {
        let rule: LintRule
        /// What is lost, as the end of a sentence.
        let what: String
    }

    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for rebuild in step.rebuilds where !rebuild.isAnew {
            let losses =
                constraints(rebuild, step.after) + options(rebuild) + columnProperties(rebuild)
            if losses.count > 1 || rebuild.hasOtherChanges(besides: losses.count) {
                for loss in losses {
                    findings.add(
                        loss.rule,
                        at: rebuild.creation,
                        "the new table '\(rebuild.table)' no longer has \(loss.what)",
                        fix: "If the loss isn't meant, write it into the new CREATE TABLE, too."
                    )
                }
            }
            losesNumbers(rebuild, &findings)
            losesMark(rebuild, step, &findings)
            renamesOldFirst(rebuild, step, &findings)
        }
    }

    // MARK: - Constraints

    private static func constraints(_ rebuild: Rebuild, _ schema: SchemaModel) -> [Loss] {
        let (old, new) = (rebuild.before, rebuild.after)
        func loss(_ what: String) -> Loss { Loss(rule: .rebuildLosesConstraint, what: what) }
        var losses: [Loss] = []
        let (oldChecks, allChecks) = (old.checks.map(\.expression), new.checks.map(\.expression))
        let newChecks = allChecks.filter { !oldChecks.contains($0) }
        for check in oldChecks where !allChecks.contains(check) {
            let columns = old.columns.map(\.name).filter(check.meaning.names)
            // A CHECK on the same column is a changed one.
            let isChanged = newChecks.contains { other in
                columns.contains(where: other.meaning.names)
            }
            guard !isChanged, !columns.contains(where: { new.column($0) == nil }) else { continue }
            losses.append(loss("the CHECK on \(columns.isEmpty ? "its rows" : listed(columns))"))
        }
        for unique in old.uniques {
            let columns = unique.columns.map(\.text)
            guard columns.allSatisfy({ new.column($0) != nil }),
                !new.isUnique(anyOf: columns, in: schema)
            else { continue }
            losses.append(loss("UNIQUE on \(listed(columns))"))
        }
        for column in old.columns where column.isNotNull && column.generated == nil {
            guard let other = new.column(column.name), !other.isNotNull, other.generated == nil,
                !new.primaryKey.contains(where: { $0.isSameName(as: column.name) })
            else { continue }
            losses.append(loss("NOT NULL on '\(column.name)'"))
        }
        if !old.primaryKey.isEmpty, new.primaryKey.isEmpty,
            old.primaryKey.allSatisfy({ new.column($0) != nil })
        {
            losses.append(loss("a primary key"))
        }
        for key in old.foreignKeys {
            guard key.columns.allSatisfy({ new.column($0) != nil }),
                schema.table(key.table) != nil || key.table.isSameName(as: old.name)
            else { continue }
            guard let other = new.foreignKeys.first(where: { $0.hasSameColumns(as: key) }) else {
                losses.append(loss("the foreign key of \(listed(key.columns)) to '\(key.table)'"))
                continue
            }
            if key.onDelete != "NO ACTION", other.onDelete == "NO ACTION" {
                losses.append(loss("ON DELETE \(key.onDelete) on \(listed(key.columns))"))
            }
        }
        return losses
    }

    // MARK: - Options

    private static func options(_ rebuild: Rebuild) -> [Loss] {
        let (old, new) = (rebuild.before, rebuild.after)
        var losses: [String] = []
        if old.isStrict, !new.isStrict { losses.append("STRICT") }
        if old.isWithoutRowID, !new.isWithoutRowID { losses.append("WITHOUT ROWID") }
        if old.isAutoincrement, !new.isAutoincrement { losses.append("AUTOINCREMENT") }
        return losses.map { Loss(rule: .rebuildLosesOption, what: $0) }
    }

    /// Only `INTEGER PRIMARY KEY`, in these words, gives new rows a number. With `INT`, the key of a
    /// row without one is NULL. <https://www.sqlite.org/lang_createtable.html#rowid>
    private static func losesNumbers(_ rebuild: Rebuild, _ findings: inout FindingList) {
        guard let old = rebuild.before.rowIDColumn, rebuild.after.rowIDColumn == nil,
            let new = rebuild.after.column(old.name), new.affinity == .integer,
            rebuild.after.primaryKey.count == 1,
            rebuild.after.primaryKey[0].isSameName(as: new.name),
            !rebuild.after.isWithoutRowID
        else { return }
        findings.add(
            .rebuildLosesConstraint,
            at: rebuild.creation,
            "with type \(new.type), column '\(new.name)' of table '\(rebuild.table)' is no longer the "
                + "rowid: rows that are inserted without it get NULL",
            fix: "Write INTEGER PRIMARY KEY."
        )
    }

    /// The largest rowid that the table ever had is in `sqlite_sequence`, and goes with the table.
    /// The new one knows only of the copied rows. <https://www.sqlite.org/autoinc.html>
    private static func losesMark(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard rebuild.before.isAutoincrement, rebuild.after.isAutoincrement, !rebuild.isAnew,
            step.data?.rows(in: rebuild.table) != 0, rebuild.drop != nil,
            !step.statements.contains(where: { statement in
                statement.actions.contains {
                    [.insert, .update].contains($0.kind) && $0.name == "sqlite_sequence"
                        && statement.parsed.target?.foldedName == "sqlite_sequence"
                }
            })
        else { return }
        findings.add(
            .rebuildLosesOption,
            level: .note,
            at: rebuild.end,
            "the rebuild of table '\(rebuild.table)' resets the counter of AUTOINCREMENT: "
                + "numbers of deleted rows may be reused",
            fix:
                "Before the old table is dropped, copy its row of `sqlite_sequence` to the new table."
        )
    }

    // MARK: - Columns

    private static func columnProperties(_ rebuild: Rebuild) -> [Loss] {
        rebuild.before.columns.flatMap { old -> [Loss] in
            guard let new = rebuild.after.column(old.name) else { return [] }
            var losses: [String] = []
            if old.defaultValue != nil, new.defaultValue == nil, new.generated == nil {
                losses.append("the default of '\(old.name)'")
            }
            if old.collation != "BINARY", new.collation == "BINARY" {
                losses.append("the collation \(old.collation) of '\(old.name)'")
            }
            if old.generated != nil, new.generated == nil {
                losses.append("how '\(old.name)' is generated")
            }
            return losses.map { Loss(rule: .rebuildLosesColumnProperty, what: $0) }
        }
    }

    // MARK: - The old table first

    private static func renamesOldFirst(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard let rename = rebuild.renameOfOld, case .renameTable(_, let oldName) = rename.kind
        else { return }
        // Only what still refers to the other name at the end is wrong.
        let children = step.after.children(of: oldName).map(\.table.name).filter { name in
            step.before.table(name).map {
                $0.foreignKeys.contains { $0.table.isSameName(as: rebuild.table) }
            } ?? false
        }
        let views = step.after.views.values.filter { view in
            view.definition.names(oldName)
                && step.before.view(view.name)?.definition.names(rebuild.table) ?? false
        }.map(\.name)
        // In a trigger, OLD and NEW are rows.
        let isRow = ["old", "new"].contains(oldName.foldedName)
        let triggers = step.after.triggers.values.filter { trigger in
            (!isRow && trigger.definition.names(oldName) || trigger.table.isSameName(as: oldName))
                && step.before.trigger(trigger.name) != nil
        }.map(\.name)
        let followers = Set(children).sorted() + views.sorted() + triggers.sorted()
        guard !followers.isEmpty else { return }
        findings.add(
            .renamesOldTableFirst,
            at: rename,
            "references follow a rename: \(listed(followers)) followed table '\(rebuild.table)' "
                + "to '\(oldName)', "
                + (rebuild.drop == nil
                    ? "and \(followers.count == 1 ? "doesn't" : "don't") refer to the new table"
                    : "which no longer exists at the end"),
            fix: "Create the new table under another name, copy the rows, drop the old table, and "
                + "rename the new one."
        )
    }
}

extension Rebuild {
    /// Whether the tables differ in more than a number of losses.
    fileprivate func hasOtherChanges(besides losses: Int) -> Bool {
        var changes = 0
        let names = Set((before.columns + after.columns).map { $0.name.foldedName })
        for name in names {
            guard let old = before.column(name), let new = after.column(name) else {
                changes += 1
                continue
            }
            changes += [
                old.type.lowercased() != new.type.lowercased(), old.isNotNull != new.isNotNull,
                old.defaultValue != new.defaultValue, old.collation != new.collation,
                old.generated != new.generated,
            ].count { $0 }
        }
        changes += [
            before.primaryKey != after.primaryKey, before.isStrict != after.isStrict,
            before.isWithoutRowID != after.isWithoutRowID,
            before.isAutoincrement != after.isAutoincrement,
        ].count { $0 }
        changes += Self.difference(before.checks.map(\.meaning), after.checks.map(\.meaning))
        changes += Self.difference(before.uniques.map(\.meaning), after.uniques.map(\.meaning))
        changes += Self.difference(
            before.foreignKeys.map { $0.meaning(in: before) },
            after.foreignKeys.map { $0.meaning(in: after) }
        )
        return changes > losses
    }

    /// How many elements were removed, added or replaced.
    private static func difference(_ old: [String], _ new: [String]) -> Int {
        max(Set(old).subtracting(new).count, Set(new).subtracting(old).count)
    }
}

extension SchemaModel.Table {
    /// Whether a key has only columns of a list, or all of them.
    fileprivate func isUnique(anyOf columns: [String], in schema: SchemaModel) -> Bool {
        let columns = Set(columns.map { $0.foldedName })
        let keys =
            uniqueKeys
            + schema.indexes(of: name).filter(\.isUnique).map { $0.columns.map(\.text) }
        return keys.contains { key in
            let key = Set(key.map { $0.foldedName })
            return !key.isEmpty && (key.isSubset(of: columns) || columns.isSubset(of: key))
        }
    }
}

extension SchemaModel.ForeignKey {
    fileprivate func hasSameColumns(as other: SchemaModel.ForeignKey) -> Bool {
        columns.map { $0.foldedName } == other.columns.map { $0.foldedName }
            && table.isSameName(as: other.table)
    }
}
