import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSchema

// What several rules ask.

extension StepRecord {
    /// Whether all of its statements work on a database that has only the rows of earlier migrations.
    var succeeds: Bool { statements.allSatisfy { $0.failure == nil } }

    /// The table as it was before the migration, if a statement still means that one: it may have
    /// rows.
    func original(of name: String, at statement: StatementRecord) -> SchemaModel.Table? {
        (statement.renamed[name.foldedName] ?? name).flatMap(before.table)
    }

    /// The earlier statements of the migration that copy rows of a table into another one.
    func copies(ofRowsOf table: String, before statement: StatementRecord) -> [StatementRecord] {
        statements.prefix(statement.number).filter { earlier in
            guard earlier.failure == nil, earlier.parsed.writesWhatItReads(besides: table) else {
                return false
            }
            return earlier.actions.contains { $0.kind == .read && $0.name.isSameName(as: table) }
        }
    }

    /// Whether an earlier statement of the migration writes something that it reads from a column.
    func reads(_ column: String, of table: String, before statement: StatementRecord) -> Bool {
        !copies(of: column, in: table, before: statement).isEmpty
    }

    /// The earlier statements of the migration that write something that they read from a column.
    func copies(
        of column: String,
        in table: String,
        before statement: StatementRecord
    ) -> [StatementRecord] {
        statements.prefix(statement.number).filter { earlier in
            guard earlier.failure == nil, earlier.parsed.writesWhatItReads(besides: nil) else {
                return false
            }
            return earlier.actions.contains { action in
                action.kind == .read && action.name.isSameName(as: table)
                    && action.detail?.isSameName(as: column) ?? false
            }
        }
    }

    /// The last statement whose schemas before and after it satisfy a condition.
    func last(
        where isChange: (_ before: SchemaModel, _ after: SchemaModel) -> Bool
    ) -> StatementRecord? {
        statements.last { isChange($0.before, $0.after) }
    }

    /// The names that a table has during the migration, in lower case.
    func names(of table: String) -> Set<String> {
        let renames = statements.compactMap { statement -> [String]? in
            guard case .renameTable(let old, let new) = statement.kind else { return nil }
            return [old.foldedName, new.foldedName]
        }
        var names: Set<String> = [table.foldedName]
        while true {
            let count = names.count
            for rename in renames where !names.isDisjoint(with: rename) { names.formUnion(rename) }
            if names.count == count { return names }
        }
    }

    /// The tables that its statements themselves write, in lower case.
    var writtenTables: Set<String> {
        Set(
            statements.flatMap { statement in
                statement.actions.filter {
                    [.insert, .update, .delete].contains($0.kind) && $0.cause == nil
                }.map { $0.name.foldedName }
            }
        )
    }
}

extension ParsedStatement {
    /// Whether it writes rows into a table with the help of others.
    fileprivate func writesWhatItReads(besides table: String?) -> Bool {
        switch kind {
        case .insert(let target, _), .createTable(let target), .createTemporary(let target),
            .update(let target, _):
            table.map { !target.isSameName(as: $0) } ?? true
        default: false
        }
    }
}

extension SchemaModel {
    /// The tables whose rows are deleted or changed if rows of a table are deleted while foreign
    /// keys are on.
    func tablesReached(byDeletingFrom table: String) -> [String] {
        var reached: [String] = []
        var open = [table]
        while let parent = open.popLast() {
            for (child, key) in children(of: parent) where key.reachesChildren {
                guard !child.name.isSameName(as: table), !reached.contains(child.name) else {
                    continue
                }
                reached.append(child.name)
                if key.onDelete == "CASCADE" { open.append(child.name) }
            }
        }
        return reached.sorted()
    }

    /// Whether two rows of a table can conflict.
    func hasUniqueKey(_ name: String) -> Bool {
        guard let table = table(name) else { return false }
        return !table.primaryKey.isEmpty || !table.uniques.isEmpty
            || indexes(of: name).contains(where: \.isUnique)
    }
}

extension SchemaModel.Table {
    /// Whether it is a virtual table that only indexes the rows of another one.
    var holdsNoRowsOfItsOwn: Bool {
        isVirtual && SQLTokens(sql).meaning.contains("content =")
    }
}

extension MigrationFormat {
    /// The tools of the format, in a sentence.
    var otherTool: String {
        switch self {
        case .dbmate: "dbmate"
        case .goose: "goose"
        case .pairs: "golang-migrate or sqlx"
        case .upOnly: "sqlx or another tool"
        case .diesel: "diesel"
        case .flyway: "Flyway or refinery"
        }
    }
}
