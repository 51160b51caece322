import MigrationKitSchema

/// A table before and after a migration, or a statement of it.
struct ChangedTable {
    let old: SchemaModel.Table
    let new: SchemaModel.Table
    let match: SchemaMatch
    var values = ColumnExpressions()
    /// What the change can demand.
    var requirements = Set(RowDemand.Requirement.allCases)
    /// The number of the statement that brings the demands.
    let statement: Int
    var rebuild: Rebuild?

    /// The tables that a migration rebuilds, those that refer to them, and those that get a unique index
    /// or a column, in this order.
    static func all(in step: StepRecord) -> [ChangedTable] {
        let rebuilt = step.rebuilds.map { ChangedTable($0, in: step) }
        let names = Set(rebuilt.map(\.old.name.foldedName))
        let children = rebuilt.flatMap { parent in
            step.after.children(of: parent.new.name).compactMap { child -> ChangedTable? in
                guard !names.contains(child.table.name.foldedName),
                    let old = step.before.table(child.table.name)
                else { return nil }
                var changed = ChangedTable(
                    old: old,
                    new: child.table,
                    match: parent.match,
                    statement: parent.statement
                )
                changed.values = parent.values
                changed.requirements = [.parent]
                return changed
            }
        }
        return rebuilt + children
            + step.statements.compactMap { ChangedTable($0, in: step) }
    }

    private init(
        old: SchemaModel.Table,
        new: SchemaModel.Table,
        match: SchemaMatch,
        statement: Int
    ) {
        (self.old, self.new, self.match, self.statement) = (old, new, match, statement)
    }

    private init(_ rebuild: Rebuild, in step: StepRecord) {
        let copied = rebuild.copiedValues
        self.init(
            old: rebuild.before,
            new: rebuild.after,
            match: SchemaMatch(step.before, step.after, copied.renames),
            statement: rebuild.creation.number
        )
        values = copied.values
        self.rebuild = rebuild
    }

    /// - Returns: `nil` if the statement demands nothing of old rows.
    private init?(_ statement: StatementRecord, in step: StepRecord) {
        let name: String
        var requirements = Set(RowDemand.Requirement.allCases)
        guard statement.failure == nil else { return nil }
        switch statement.kind {
        case .createIndex(_, let table, isUnique: true):
            name = table
            requirements = [.unique]
        case .addColumn(let table, _) where statement.failureWithRows == nil: name = table
        default: return nil
        }
        guard let old = step.original(of: name, at: statement),
            let new = statement.after.table(name)
        else { return nil }
        if case .addColumn(_, let column) = statement.kind {
            let isPlain =
                new.column(column)?.generated == nil && new.checks.count == old.checks.count
                && new.foreignKeys.count == old.foreignKeys.count
            guard !isPlain else { return nil }
        }
        let renames = step.renames(of: old, to: new, before: statement.number)
        self.init(
            old: old,
            new: new,
            match: SchemaMatch(step.before, statement.after, renames),
            statement: statement.number
        )
        self.requirements = requirements
    }

    /// The statement after which values are changed.
    var lastStatement: Int {
        (rebuild?.copies.last { $0.isIntoNew }?.statement ?? rebuild?.end)?.number ?? statement
    }

    /// Whether the values of a column are only converted: an expression says what becomes of them.
    func converts(_ column: String?) -> Bool {
        guard let rebuild, let column else { return false }
        let copy = rebuild.copies.last { $0.isIntoNew }?.statement ?? rebuild.end
        return copy.parsed.casts(column) || !copy.parsed.computes(with: column)
    }
}

extension StepRecord {
    /// The renames of a table and its columns by the first statements.
    fileprivate func renames(
        of old: SchemaModel.Table,
        to new: SchemaModel.Table,
        before number: Int
    ) -> [SchemaRename] {
        var columns: [(old: String, new: String)] = []
        for statement in statements.prefix(number) where statement.failure == nil {
            guard case .renameColumn(let table, let column, let name) = statement.kind,
                original(of: table, at: statement)?.name == old.name
            else { continue }
            if let place = columns.firstIndex(where: { $0.new.isSameName(as: column) }) {
                columns[place].new = name
            } else {
                columns.append((column, name))
            }
        }
        let table =
            old.name.isSameName(as: new.name)
            ? [] : [SchemaRename(table: old.name, newName: new.name)]
        return table
            + columns.map { SchemaRename(table: old.name, column: $0.old, newName: $0.new) }
    }
}
