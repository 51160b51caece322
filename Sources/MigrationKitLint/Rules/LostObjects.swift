import MigrationKitSchema

/// The rules about indexes, triggers and views that a rebuild loses, and about the pragmas with
/// which it goes wrong.
enum LostObjects {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for rebuild in step.rebuilds {
            losesIndexes(rebuild, step, &findings)
            losesTriggers(rebuild, step, &findings)
            losesViews(rebuild, step, &findings)
        }
        for statement in step.statements {
            losesViewsTriggers(statement, step, &findings)
            pragma(statement, &findings)
        }
    }

    // MARK: - Indexes

    private static func losesIndexes(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        let kept = step.after.indexes(of: rebuild.table)
        for index in step.before.indexes(of: rebuild.table) {
            let index = index.renaming(columns: rebuild.columnRenames)
            guard !kept.contains(where: { $0.hasSameDefinition(as: index) }),
                !rebuild.isAboutLostColumn(index),
                !step.drops({ $0.drops(index: index.name) })
            else { continue }
            let names = index.columns.map(\.text)
            let same =
                kept.first { $0.name.isSameName(as: index.name) }
                ?? kept.first { $0.columns.map(\.text) == names }
            guard let same else {
                guard !rebuild.after.serves(index), !kept.contains(where: { $0.serves(index) })
                else { continue }
                // The new table may have the column under another name, a new index may take its
                // place, and a unique index may be the reason for the rebuild.
                let isDoubtful =
                    rebuild.isAnew || index.isUnique
                    || index.columns.contains {
                        !$0.isExpression && rebuild.after.column($0.text) == nil
                    }
                    || kept.contains { other in
                        step.before.index(other.name) == nil && other.mayReplace(index)
                    }
                findings.add(
                    .rebuildLosesIndex,
                    level: isDoubtful ? .warning : nil,
                    at: rebuild.end,
                    "the rebuild of table '\(rebuild.table)' loses the index '\(index.name)'",
                    fix: "Create it again after the rebuild:\n\(index.sql.withoutLiterals);"
                )
                continue
            }
            let losses = index.losses(in: same)
            guard !losses.isEmpty else { continue }
            findings.add(
                .rebuildLosesIndex,
                level: .warning,
                at: step.creation(ofIndex: same.name) ?? rebuild.end,
                "the rebuild of table '\(rebuild.table)' creates the index '\(same.name)' without its "
                    + listedPlainly(losses),
                fix: "Create it as it was:\n\(index.sql.withoutLiterals);"
            )
        }
    }

    // MARK: - Triggers and views

    private static func losesTriggers(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        for trigger in step.before.triggers.values.sorted(by: { $0.name < $1.name }) {
            let isOwn = trigger.table.isSameName(as: rebuild.table)
            guard isOwn || trigger.definition.names(rebuild.table),
                step.after.trigger(trigger.name) == nil,
                // Its own table may be dropped on purpose, and its triggers with it.
                isOwn || step.after.table(trigger.table) != nil
                    || step.after.view(trigger.table) != nil,
                !rebuild.lostColumns.contains(where: trigger.definition.names),
                !step.after.triggers.values.contains(where: {
                    $0.body == trigger.body && $0.table.isSameName(as: trigger.table)
                })
            else { continue }
            let isExplicit = step.drops { $0.drops(trigger: trigger.name) }
            // Dropping a trigger is no loss, unless it was to be created again.
            if isExplicit, isOwn { continue }
            findings.add(
                .rebuildLosesTrigger,
                level: isExplicit || rebuild.isAnew ? .warning : nil,
                at: rebuild.end,
                isOwn
                    ? "the rebuild of table '\(rebuild.table)' loses the trigger '\(trigger.name)'"
                    : "the rebuild of table '\(rebuild.table)' drops the trigger '\(trigger.name)' of "
                        + "'\(trigger.table)', and doesn't create it again",
                fix: "Create it again after the rebuild, as it was."
            )
        }
    }

    /// A view that is created anew has none of the `INSTEAD OF` triggers that it had.
    private static func losesViewsTriggers(
        _ statement: StatementRecord,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        guard statement.failure == nil, case .dropView(let name) = statement.kind,
            step.after.view(name) != nil
        else { return }
        for trigger in step.before.triggers(of: name) {
            guard statement.before.trigger(trigger.name) != nil,
                !step.after.triggers(of: name).contains(where: {
                    $0.name.isSameName(as: trigger.name) || $0.body == trigger.body
                })
            else { continue }
            findings.add(
                .rebuildLosesTrigger,
                level: .warning,
                at: statement,
                "the view '\(name)' is created again without its trigger '\(trigger.name)', which goes with "
                    + "the old view",
                fix: "Create it again after the view, as it was."
            )
        }
    }

    /// Dropping a table drops no view. But a view that reads from it has to be dropped before the
    /// new table can be renamed, and is easily forgotten then.
    private static func losesViews(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        for view in step.before.views.values.sorted(by: { $0.name < $1.name })
        where view.definition.names(rebuild.table) && step.after.view(view.name) == nil
            && step.after.table(view.name) == nil
        {
            let drop = step.statements.first {
                $0.failure == nil && $0.kind.drops(view: view.name)
            }
            findings.add(
                .rebuildLosesView,
                at: drop ?? rebuild.end,
                "the view '\(view.name)' reads from table '\(rebuild.table)'; it is dropped for the "
                    + "rebuild, and not created again",
                fix: "Create it again after the rebuild."
            )
        }
    }

    // MARK: - Pragmas

    private static func pragma(_ statement: StatementRecord, _ findings: inout FindingList) {
        guard case .pragma(let name, let value?) = statement.kind,
            ["on", "1", "yes", "true", "reset"].contains(value.lowercased())
        else { return }
        switch name {
        case "legacy_alter_table":
            findings.add(
                .legacyAlterTable,
                at: statement,
                "with legacy_alter_table, a renamed table loses the triggers, views and foreign keys "
                    + "that refer to it",
                fix:
                    "Create the new table under another name, copy the rows, drop the old table, and "
                    + "rename the new one. That needs no pragma."
            )
        case "writable_schema" where value.lowercased() != "reset":
            findings.add(
                .writableSchema,
                at: statement,
                "with writable_schema, a mistake makes the database unreadable",
                fix: "Rebuild the table instead."
            )
        default:
            return
        }
    }
}

extension ParsedStatement.Kind {
    fileprivate func drops(index: String) -> Bool {
        guard case .dropIndex(let name) = self else { return false }
        return name.isSameName(as: index)
    }

    fileprivate func drops(trigger: String) -> Bool {
        guard case .dropTrigger(let name) = self else { return false }
        return name.isSameName(as: trigger)
    }

    fileprivate func drops(view: String) -> Bool {
        guard case .dropView(let name) = self else { return false }
        return name.isSameName(as: view)
    }
}

extension StepRecord {
    /// Whether a statement drops something by its name, and not as a part of a table.
    fileprivate func drops(_ isMeant: (ParsedStatement.Kind) -> Bool) -> Bool {
        statements.contains { $0.failure == nil && isMeant($0.kind) }
    }

    fileprivate func creation(ofIndex index: String) -> StatementRecord? {
        statements.last { statement in
            guard case .createIndex(let name, _, _) = statement.kind else { return false }
            return name.isSameName(as: index)
        }
    }
}

extension Rebuild {
    /// The columns that the new table doesn't have, not even under another name.
    fileprivate var lostColumns: [String] {
        before.columns.map(\.name).filter { after.column($0) == nil && !carries($0) }
    }

    fileprivate func isAboutLostColumn(_ index: SchemaModel.Index) -> Bool {
        let texts =
            index.columns.map { ($0.isExpression, $0.text) } + [(true, index.condition ?? "")]
        return lostColumns.contains { column in
            texts.contains { isExpression, text in
                isExpression ? text.names(column) : text.isSameName(as: column)
            }
        }
    }
}

extension SchemaModel.Table {
    /// Whether a key or `UNIQUE` of the table itself does what an index does.
    fileprivate func serves(_ index: SchemaModel.Index) -> Bool {
        guard index.condition == nil else { return false }
        let columns = index.columns.map { $0.text.foldedName }
        return uniqueKeys.contains { $0.prefix(columns.count).map { $0.foldedName } == columns }
    }
}

extension SchemaModel.Index {
    /// Whether it begins with all columns of another one.
    fileprivate func serves(_ other: SchemaModel.Index) -> Bool {
        condition == other.condition && (!other.isUnique || columns.count == other.columns.count)
            && Array(columns.prefix(other.columns.count)) == other.columns
    }

    /// Whether it begins with the same column as another one, or has all of its columns.
    fileprivate func mayReplace(_ other: SchemaModel.Index) -> Bool {
        let texts = Set(columns.map { $0.text.foldedName })
        return columns.first?.text == other.columns.first?.text
            || other.columns.allSatisfy { texts.contains($0.text.foldedName) }
    }

    /// What another index with the same name or columns lacks.
    fileprivate func losses(in other: SchemaModel.Index) -> [String] {
        let texts = Set(other.columns.map { $0.text.foldedName })
        guard columns.allSatisfy({ texts.contains($0.text.foldedName) }) else {
            return ["columns"]
        }
        guard other.columns.map(\.text) == columns.map(\.text) else { return [] }
        var losses: [String] = []
        if isUnique, !other.isUnique { losses.append("UNIQUE") }
        let pairs = zip(columns, other.columns)
        if pairs.contains(where: { $0.isDescending && !$1.isDescending }) { losses.append("DESC") }
        if pairs.contains(where: { $0.collation != "BINARY" && $1.collation == "BINARY" }) {
            losses.append("collation")
        }
        if condition != nil, other.condition == nil { losses.append("WHERE") }
        return losses
    }
}

extension SchemaModel.Trigger {
    /// Its statement without its name, and without `FOR EACH ROW`, which every trigger is.
    /// <https://www.sqlite.org/lang_createtrigger.html>
    fileprivate var body: String {
        let words = definition.split(separator: " ")
        guard
            let start = words.firstIndex(where: {
                ["before", "after", "instead", "insert", "update", "delete"].contains($0)
            })
        else { return definition }
        return words[start...].joined(separator: " ").replacing(" for each row ", with: " ")
    }
}

extension String {
    /// Whether a canonical text has a name as a token.
    func names(_ name: String) -> Bool {
        split(separator: " ").contains {
            $0.first != "'" && String($0).unquotedName.isSameName(as: name)
        }
    }

    /// A statement whose strings and blobs are left out: a fix never repeats a value.
    var withoutLiterals: String {
        let words = SQLTokens(self).tokens
        guard words.contains(where: \.isLiteral) else { return self }
        var text = Array(utf8)
        for word in words.reversed() where word.isLiteral && word.text.last == "'" {
            text.replaceSubrange(
                word.range,
                with: Array((word.kind == .blob ? "x'…'" : "'…'").utf8)
            )
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// "a, b and c".
func listedPlainly(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " and " + last
}
