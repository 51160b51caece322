import MigrationKitGRDB

/// Compares two schemas, whose tables and columns correspond by their names.
struct SchemaComparison {
    private let from: SchemaModel
    private let to: SchemaModel

    init(_ from: SchemaModel, _ to: SchemaModel) {
        self.from = from
        self.to = to
    }

    /// What differs, by table.
    var changes: [SchemaChange] {
        let kinds = Dictionary(
            uniqueKeysWithValues: SchemaChange.Kind.allCases.enumerated().map { ($1, $0) }
        )
        let all = tables + views + indexes + triggers
        let sorted = all.enumerated().sorted { one, other in
            let tables = (one.element.table.foldedName, other.element.table.foldedName)
            guard tables.0 == tables.1 else { return tables.0 < tables.1 }
            let order = (kinds[one.element.kind] ?? 0, kinds[other.element.kind] ?? 0)
            return order.0 == order.1 ? one.offset < other.offset : order.0 < order.1
        }
        return sorted.map(\.element)
    }

    // MARK: - Objects

    private var tables: [SchemaChange] {
        pairs(from.tables, to.tables).flatMap { old, new -> [SchemaChange] in
            guard let old, let new else {
                return change(
                    .table,
                    in: (new ?? old)?.name,
                    old?.name,
                    new?.name,
                    old?.sql,
                    new?.sql
                )
            }
            return TableComparison(old, of: from, new, of: to).changes
        }
    }

    private var views: [SchemaChange] {
        pairs(from.views, to.views).flatMap { old, new -> [SchemaChange] in
            guard old?.definition != new?.definition else { return [] }
            return change(.view, in: (new ?? old)?.name, old?.name, new?.name, old?.sql, new?.sql)
        }
    }

    private var indexes: [SchemaChange] {
        pairs(from.indexes, to.indexes).flatMap { old, new -> [SchemaChange] in
            if let old, let new, old.hasSameDefinition(as: new) { return [] }
            let table = (new ?? old)?.table
            return change(.index, in: table, old?.name, new?.name, old?.sql, new?.sql)
        }
    }

    private var triggers: [SchemaChange] {
        pairs(from.triggers, to.triggers).flatMap { old, new -> [SchemaChange] in
            guard old?.definition != new?.definition else { return [] }
            let table = (new ?? old)?.table
            return change(.trigger, in: table, old?.name, new?.name, old?.sql, new?.sql)
        }
    }

    /// The objects by name, each with the other schema's object of the same name.
    private func pairs<Object>(
        _ old: [String: Object],
        _ new: [String: Object]
    ) -> [(Object?, Object?)] {
        Set(old.keys).union(new.keys).sorted().map { (old[$0], new[$0]) }
    }

    private func change(
        _ kind: SchemaChange.Kind,
        in table: String?,
        _ oldName: String?,
        _ newName: String?,
        _ before: String?,
        _ after: String?
    ) -> [SchemaChange] {
        [
            SchemaChange(
                action: before == nil ? .added : after == nil ? .dropped : .changed,
                kind: kind,
                table: table ?? "",
                name: newName ?? oldName ?? "",
                before: before,
                after: after
            )
        ]
    }

    // MARK: - Renames

    /// The dropped tables and columns with the shape of an added one.
    var possibleRenames: [SchemaRename] {
        let all = pairs(from.tables, to.tables)
        let dropped = all.compactMap { $1 == nil ? $0 : nil }
        let added = all.compactMap { $0 == nil ? $1 : nil }
        let tables = dropped.flatMap { old in
            added.filter { old.hasSameDefinition(as: $0) }.map {
                SchemaRename(table: old.name, newName: $0.name)
            }
        }
        let columns = all.flatMap { old, new -> [SchemaRename] in
            guard let old, let new, !old.isVirtual, !new.isVirtual else { return [] }
            return old.columns.filter { new.column($0.name) == nil }.flatMap { column in
                new.columns.filter {
                    old.column($0.name) == nil && $0.meaning == column.meaning
                }.map { SchemaRename(table: old.name, column: column.name, newName: $0.name) }
            }
        }
        return tables + columns
    }
}

// MARK: - Tables

/// Compares two tables of the same name.
private struct TableComparison {
    private let old: SchemaModel.Table
    private let oldSchema: SchemaModel
    private let new: SchemaModel.Table
    private let newSchema: SchemaModel

    init(
        _ old: SchemaModel.Table,
        of oldSchema: SchemaModel,
        _ new: SchemaModel.Table,
        of newSchema: SchemaModel
    ) {
        (self.old, self.oldSchema, self.new, self.newSchema) = (old, oldSchema, new, newSchema)
    }

    var changes: [SchemaChange] {
        guard !old.isVirtual, !new.isVirtual else {
            return pair(.option, "module", old.moduleText, new.moduleText)
        }
        return columns + key
            + constraints(
                .unique,
                old.uniques.map { Part(unique: $0, in: old) },
                new.uniques.map { Part(unique: $0, in: new) }
            )
            + constraints(.check, old.checks.map(Part.init), new.checks.map(Part.init))
            + constraints(
                .foreignKey,
                old.foreignKeys.map { Part($0, in: old, of: oldSchema) },
                new.foreignKeys.map { Part($0, in: new, of: newSchema) }
            )
            + options
    }

    private var columns: [SchemaChange] {
        let dropped = old.columns.filter { new.column($0.name) == nil }
        return dropped.map { change(.column, $0.name, $0.shown, nil) }
            + new.columns.compactMap { column in
                let former = old.column(column.name)
                guard former?.meaning != column.meaning else { return nil }
                return change(.column, column.name, former?.shown, column.shown)
            }
    }

    private var key: [SchemaChange] {
        let isSame =
            old.key?.meaning == new.key?.meaning && old.hasRowIDColumn == new.hasRowIDColumn
        guard !isSame else { return [] }
        func text(_ table: SchemaModel.Table) -> String? {
            table.key.map { key in
                "PRIMARY KEY " + key.definition(in: table)
                    + (table.hasRowIDColumn ? ", the rowid" : "")
            }
        }
        return [change(.primaryKey, "PRIMARY KEY", text(old), text(new))]
    }

    private var options: [SchemaChange] {
        var changes: [SchemaChange] = []
        for option in ["STRICT", "WITHOUT ROWID", "AUTOINCREMENT"] {
            let (had, has) = (old.options.contains(option), new.options.contains(option))
            changes += pair(.option, option, had ? option : nil, has ? option : nil)
        }
        // Where ADD COLUMN and DROP COLUMN would lead.
        let kept = old.columns.compactMap { new.column($0.name)?.name }
        let added = new.columns.map(\.name).filter { old.column($0) == nil }
        if kept + added != new.columns.map(\.name) {
            changes += pair(
                .option,
                SchemaChange.orderOfColumns,
                old.columns.map(\.name).joined(separator: ", "),
                new.columns.map(\.name).joined(separator: ", ")
            )
        }
        return changes
    }

    // MARK: Constraints

    /// A constraint, for a comparison.
    private struct Part {
        let text: String
        let meaning: String
        /// Constraints with the same subject are one that has changed.
        let subject: String

        init(unique key: SchemaModel.Key, in table: SchemaModel.Table) {
            text = "UNIQUE " + key.definition(in: table)
            meaning = key.meaning
            subject = key.columns.map(\.text.foldedName).joined(separator: ", ")
        }

        init(_ check: SchemaModel.Check) {
            text = check.definition
            meaning = check.meaning
            subject = check.expression.meaning
        }

        init(
            _ key: SchemaModel.ForeignKey,
            in table: SchemaModel.Table,
            of schema: SchemaModel
        ) {
            text = key.definition
            meaning = key.meaning(in: table, of: schema)
            subject = key.columns.map(\.foldedName).joined(separator: ", ")
        }
    }

    /// The constraints of which one table has more than the other. Their order is no difference.
    private func constraints(
        _ kind: SchemaChange.Kind,
        _ old: [Part],
        _ new: [Part]
    ) -> [SchemaChange] {
        var added = new
        var dropped: [Part] = []
        for part in old {
            if let place = added.firstIndex(where: { $0.meaning == part.meaning }) {
                added.remove(at: place)
            } else {
                dropped.append(part)
            }
        }
        let removed = dropped.map { part in
            let place = added.firstIndex { $0.subject == part.subject }
            let successor = place.map { added.remove(at: $0) }
            return change(kind, successor?.text ?? part.text, part.text, successor?.text)
        }
        return removed + added.map { change(kind, $0.text, nil, $0.text) }
    }

    // MARK: Changes

    private func pair(
        _ kind: SchemaChange.Kind,
        _ name: String,
        _ before: String?,
        _ after: String?
    ) -> [SchemaChange] {
        before == after ? [] : [change(kind, name, before, after)]
    }

    private func change(
        _ kind: SchemaChange.Kind,
        _ name: String,
        _ before: String?,
        _ after: String?
    ) -> SchemaChange {
        SchemaChange(
            action: before == nil ? .added : after == nil ? .dropped : .changed,
            kind: kind,
            table: new.name,
            name: name,
            before: before,
            after: after
        )
    }
}

extension SchemaModel.Column {
    fileprivate var shown: String { definition.isEmpty ? "no type" : definition }
}
