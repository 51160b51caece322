import GRDB
import MigrationKitGRDB

/// What a rebuild asks of a definition.
extension SchemaModel.Table {
    init(of table: String, in db: Database) throws {
        guard let table = try SchemaReader().table(table, in: db) else {
            throw TableRebuildError.noSuchTable(table)
        }
        self = table
    }

    /// The name of the column that is another name of the rowid.
    var rowIDAlias: String? { rowIDColumn?.name }

    /// A name for the rowid; `nil` if the table has none, or its columns have all the names.
    var rowID: String? {
        isWithoutRowID ? nil : rowidName(besides: columns.map(\.name))
    }

    /// The columns of the primary key and of each `UNIQUE` constraint.
    fileprivate var uniqueLists: [[String]] {
        ([key].compactMap(\.self) + uniques).map { $0.columns.map(\.text) }
    }
}

// MARK: - Column Renames

/// The columns that get new names. SQLite itself changes what names them.
/// <https://www.sqlite.org/lang_altertable.html#alter_table_rename_column>
struct ColumnRenames {
    private let pairs: [(old: String, new: String)]

    init(_ expressions: [String: String], from old: SchemaModel.Table, to new: SchemaModel.Table) {
        var pairs: [(old: String, new: String)] = []
        for (name, expression) in expressions.sorted(by: { $0.key < $1.key }) {
            let tokens = SQLTokens(expression).tokens
            guard tokens.count == 1, let token = tokens.first, !token.text.hasPrefix("'"),
                let column = old.columns.first(where: { $0.name.foldedName == token.name }),
                let newColumn = new.column(name),
                old.column(name) == nil, new.column(column.name) == nil
            else { continue }
            pairs.append((column.name, newColumn.name))
        }
        // A column that becomes two columns is not renamed.
        let counts = Dictionary(grouping: pairs, by: \.old).mapValues(\.count)
        self.pairs = pairs.filter { counts[$0.old] == 1 }
    }

    /// The new name of a column that keeps its name, or gets another one.
    func newName(of column: String) -> String {
        pairs.first { $0.old.isSameName(as: column) }?.new ?? column
    }

    func oldName(of column: String) -> String {
        pairs.first { $0.new.isSameName(as: column) }?.old ?? column
    }

    func renames(to column: String) -> Bool {
        pairs.contains { $0.new.isSameName(as: column) }
    }

    /// The old names that nothing has afterwards, in lower case.
    var oldNames: Set<String> { Set(pairs.map(\.old.foldedName)) }

    /// New names by old ones, in lower case.
    var folded: [String: String] {
        Dictionary(uniqueKeysWithValues: pairs.map { ($0.old.foldedName, $0.new.foldedName) })
    }

    func statements(_ table: String) -> [String] {
        pairs.map {
            """
            ALTER TABLE \(table.quotedName) \
            RENAME COLUMN \($0.old.quotedName) TO \($0.new.quotedName)
            """
        }
    }
}

// MARK: - Rebuild Losses

/// What a new definition lacks.
struct RebuildLosses {
    private let all: [RebuildLoss]
    private let dropping: Set<RebuildLoss>
    private let allowed: Set<RebuildLoss>
    /// The old columns that are gone, in lower case.
    let columns: Set<String>
    /// The names that no column has any more, in lower case.
    let names: Set<String>

    init(
        from old: SchemaModel.Table,
        to new: SchemaModel.Table,
        _ renames: ColumnRenames,
        _ dropping: Set<RebuildLoss>?
    ) {
        let gone = Set(
            old.columns.filter { new.column(renames.newName(of: $0.name)) == nil }
                .map(\.name.foldedName)
        )
        columns = gone
        names = gone.union(renames.oldNames)
        func isGone(_ columns: [String]) -> Bool {
            columns.contains { gone.contains($0.foldedName) }
        }
        func mapped(_ columns: [String]) -> [String] {
            columns.map { renames.newName(of: $0).foldedName }
        }

        var losses: [RebuildLoss] = []
        for column in old.columns {
            guard let successor = new.column(renames.newName(of: column.name)) else {
                losses.append(.column(column.name))
                continue
            }
            if column.isGenerated, !successor.isGenerated { losses.append(.generated(column.name)) }
            if column.defaultValue != nil, successor.defaultValue == nil, !successor.isGenerated {
                losses.append(.defaultValue(column.name))
            }
            if column.collation != successor.collation, column.collation != "BINARY" {
                losses.append(.collation(column.name))
            }
        }
        for key in old.foreignKeys where !isGone(key.columns) {
            let isKept = new.foreignKeys.contains {
                $0.table.isSameName(as: key.table)
                    && $0.columns.map(\.foldedName) == mapped(key.columns)
            }
            if !isKept { losses.append(.foreignKey(key.columns)) }
        }
        for key in old.uniqueLists where !isGone(key) {
            let isKept = new.uniqueLists.contains { Set($0.map(\.foldedName)) == Set(mapped(key)) }
            if !isKept { losses.append(.unique(key)) }
        }
        let oldChecks = old.checks.map(\.expression.text)
            .filter { !SQLTokens($0).names(any: gone) }
        if new.checks.count < oldChecks.count {
            let kept = Set(new.checks.map { SQLTokens($0.expression.text).meaning })
            losses += oldChecks.filter {
                !kept.contains(SQLTokens($0).meaning(renaming: renames.folded))
            }.map { .check($0) }
        }
        if old.isAutoincrement, !new.isAutoincrement { losses.append(.autoincrement) }
        if old.isStrict, !new.isStrict { losses.append(.strict) }
        if old.isWithoutRowID, !new.isWithoutRowID { losses.append(.withoutRowID) }
        all = losses
        self.dropping = dropping ?? Set(losses)
        allowed = Set(self.dropping.map(\.folded))
    }

    func allows(_ loss: RebuildLoss) -> Bool {
        allowed.contains(loss.folded)
    }

    /// Throws if something is lost that isn't allowed to be, or the other way round.
    func check(_ table: String, _ hanging: HangingObjects) throws {
        let refused = all.filter { !allows($0) }
        guard refused.isEmpty else {
            throw TableRebuildError.wouldLose(table: table, refused)
        }
        let lost = Set((all + hanging.all.compactMap(\.loss)).map(\.folded))
        let idle = dropping.filter { !lost.contains($0.folded) }
        guard idle.isEmpty else {
            throw TableRebuildError.notLost(
                table: table,
                idle.sorted { $0.description < $1.description }
            )
        }
    }
}
