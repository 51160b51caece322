import GRDB
import GRDBSQLite

/// What a definition says of a table, as SQLite has understood it.
struct TableShape: Sendable {
    struct Column: Sendable {
        let name: String
        let type: String
        let isRequired: Bool
        let hasDefault: Bool
        let isGenerated: Bool
        let collation: String
        let affinity: ColumnAffinity
    }

    let columns: [Column]
    let foreignKeys: [(columns: [String], table: String)]
    /// The columns of the primary key and of each `UNIQUE` constraint.
    let unique: [[String]]
    let primaryKey: [String]
    let checks: [String]
    let isStrict: Bool
    let isWithoutRowID: Bool
    let hasAutoincrement: Bool
    /// The column that is another name of the rowid.
    let rowIDAlias: String?

    init(of table: String, in db: Database) throws {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?",
            arguments: [table]
        )
        guard let row else { throw TableRebuildError.noSuchTable(table) }
        let description = try SchemaDescription.Table(row, of: db)
        let isStrict = description.strict
        columns = try description.columns.map { column in
            Column(
                name: column.name,
                type: column.type,
                isRequired: column.notNull
                    || description.withoutRowid && column.primaryKey != nil,
                hasDefault: column.defaultValue.map { $0.uppercased() != "NULL" } ?? false,
                isGenerated: column.generated != nil,
                collation: try db.collation(of: column.name, in: table),
                affinity: ColumnAffinity(of: column.type, isStrict: isStrict)
            )
        }
        foreignKeys = description.references.map { ($0.columns, $0.table) }
        primaryKey = description.primaryKey
        unique = (primaryKey.isEmpty ? [] : [primaryKey]) + description.unique
        checks = (try? TableText(description.sql))?.checks ?? []
        self.isStrict = isStrict
        isWithoutRowID = description.withoutRowid
        hasAutoincrement = SQLTokens(description.sql).tokens.contains { $0.isWord("AUTOINCREMENT") }
        // Any other primary key has an index. <https://www.sqlite.org/lang_createtable.html#rowid>
        let hasKeyIndex = try Bool.fetchOne(
            db,
            sql: "SELECT count(*) > 0 FROM pragma_index_list(?, 'main') WHERE origin = 'pk'",
            arguments: [table]
        )
        let isAlias = !isWithoutRowID && primaryKey.count == 1 && hasKeyIndex == false
        rowIDAlias = isAlias ? primaryKey.first : nil
    }

    func column(_ name: String) -> Column? {
        columns.first { $0.name.isSameName(as: name) }
    }

    /// A name for the rowid; `nil` if the table has none, or its columns have all the names.
    var rowID: String? {
        isWithoutRowID ? nil : rowidName(besides: columns.map(\.name))
    }
}

extension Database {
    /// No pragma lists the collation of a column without an index.
    fileprivate func collation(of column: String, in table: String) throws -> String {
        var collation: UnsafePointer<CChar>?
        let code = sqlite3_table_column_metadata(
            sqliteConnection,
            "main",
            table,
            column,
            nil,
            &collation,
            nil,
            nil,
            nil
        )
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        return collation.map { String(cString: $0).uppercased() } ?? "BINARY"
    }
}

// MARK: - Column Renames

/// The columns that get new names. SQLite itself changes what names them.
/// <https://www.sqlite.org/lang_altertable.html#alter_table_rename_column>
struct ColumnRenames {
    private let pairs: [(old: String, new: String)]

    init(_ expressions: [String: String], from old: TableShape, to new: TableShape) {
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
        from old: TableShape,
        to new: TableShape,
        _ renames: ColumnRenames,
        _ dropping: Set<RebuildLoss>
    ) {
        self.dropping = dropping
        allowed = Set(dropping.map(\.folded))
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
            if column.hasDefault, !successor.hasDefault, !successor.isGenerated {
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
        for key in old.unique where !isGone(key) {
            let isKept = new.unique.contains { Set($0.map(\.foldedName)) == Set(mapped(key)) }
            if !isKept { losses.append(.unique(key)) }
        }
        let oldChecks = old.checks.filter { !SQLTokens($0).names(any: gone) }
        if new.checks.count < oldChecks.count {
            let kept = Set(new.checks.map { SQLTokens($0).meaning })
            losses += oldChecks.filter {
                !kept.contains(SQLTokens($0).meaning(renaming: renames.folded))
            }
            .map { .check($0) }
        }
        if old.hasAutoincrement, !new.hasAutoincrement { losses.append(.autoincrement) }
        if old.isStrict, !new.isStrict { losses.append(.strict) }
        if old.isWithoutRowID, !new.isWithoutRowID { losses.append(.withoutRowID) }
        all = losses
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
