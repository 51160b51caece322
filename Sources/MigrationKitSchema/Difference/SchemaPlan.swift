import GRDB
import MigrationKitGRDB

/// The statements that bring a database to another schema.
///
/// Each statement is executed as soon as it is planned, so that the next one is planned on the schema
/// that it will meet. The database has no rows.
struct SchemaPlan {
    /// The statements in order.
    private(set) var statements: [String] = []

    /// The tables that are rebuilt, and the virtual tables that are filled again, by new names in
    /// lower case.
    private(set) var rewritten: Set<String> = []

    private let db: Database
    private let reader: SchemaReader
    private let match: SchemaMatch
    private let target: SchemaModel
    /// Expressions for new values, over the tables as they are after the renames.
    private(set) var expressions = ColumnExpressions()
    /// Whether required columns without a value get a neutral one, as on the way back.
    private let fillsRequiredColumns: Bool

    /// Plans the way, and brings the database there.
    ///
    /// - Parameters:
    ///   - match: The present schema, which is that of the database, and the wanted one.
    ///   - backfills: Expressions over the present rows, by names in the wanted schema.
    ///   - fillsRequiredColumns: Whether required columns without a value get a neutral one.
    ///   - reader: Reads the schema.
    ///   - db: A database in memory, with foreign keys off.
    /// - Throws: ``SchemaDifferenceError``; a `DatabaseError` for something that ``MemoryDatabase``
    ///   replaces.
    init(
        _ match: SchemaMatch,
        backfills: ColumnExpressions,
        fillsRequiredColumns: Bool = false,
        reader: SchemaReader,
        in db: Database
    ) throws {
        self.match = match
        target = match.new
        self.fillsRequiredColumns = fillsRequiredColumns
        self.reader = reader
        self.db = db

        try rename(backfills)
        try dropObjects()
        try createTables()
        try changeTables()
        try dropTables()
        try createObjects()
        if let change = SchemaComparison(try reader.schema(of: db), target).changes.first {
            throw SchemaDifferenceError.notReached(change.description)
        }
    }

    // MARK: - Statements

    /// Executes a statement and adds it to the plan.
    ///
    /// `ALTER TABLE` compiles every view and trigger of the schema. One that doesn't compile is
    /// dropped first. If it is wanted, it is created again at the end.
    private mutating func run(_ sql: String, for object: String) throws {
        while true {
            do {
                try db.run(statement: sql)
                return statements.append(sql)
            } catch let error as DatabaseError {
                if MemoryDatabase.canReplace(error) { throw error }
                let message = error.message ?? "\(error.resultCode)"
                guard let drop = try dropStatement(for: message) else {
                    throw SchemaDifferenceError.refused(object: object, reason: message)
                }
                try db.execute(sql: drop)
                statements.append(drop)
            }
        }
    }

    /// The statement that drops the view or trigger that SQLite complains about, such as
    /// `error in view titles after rename: no such column: body`.
    private func dropStatement(for message: String) throws -> String? {
        let schema = try reader.schema(of: db)
        let names =
            schema.views.values.map { ("view", $0.name) }
            + schema.triggers.values.map { ("trigger", $0.name) }
        let found = names.filter { kind, name in
            let start = "error in \(kind) \(name)"
            return message.hasPrefix(start + ":") || message.hasPrefix(start + " after ")
        }
        return found.max { $0.1.count < $1.1.count }
            .map { "DROP \($0.uppercased()) \($1.quotedName)" }
    }

    /// Runs a block, and takes back what it did unless it returns `true`.
    private mutating func attempt(_ body: (inout SchemaPlan) throws -> Bool) throws -> Bool {
        var plan = self
        var isDone = false
        try db.inSavepoint {
            do {
                isDone = try body(&plan)
            } catch SchemaDifferenceError.refused {
                isDone = false
            }
            return isDone ? .commit : .rollback
        }
        if isDone { self = plan }
        return isDone
    }

    // MARK: - Renames

    private mutating func rename(_ backfills: ColumnExpressions) throws {
        let present = try reader.schema(of: db)
        let pending = target.tables.values.sorted { $0.name < $1.name }.flatMap { table in
            backfills[table.name].sorted { $0.key < $1.key }.map { (table, $0.key, $0.value) }
        }
        // SQLite changes the names in these views as in any other.
        var views: [(view: String, table: String, column: String)] = []
        for (table, column, expression) in pending {
            guard let old = match.oldTable(of: table) else { continue }
            let view = present.unusedName("backfill_\(views.count)")
            let object = "the backfill of \(table.name).\(column)"
            do {
                try db.execute(
                    sql: """
                        CREATE VIEW \(view.quotedName) AS SELECT (
                        \(expression)
                        ) FROM \(old.name.quotedName)
                        """
                )
                _ = try db.makeStatement(sql: "SELECT * FROM \(view.quotedName)")
                // Here SQLite refuses an aggregate, which would make one row of all.
                _ = try db.makeStatement(
                    sql: "SELECT 1 FROM \(old.name.quotedName) WHERE (\n\(expression)\n) IS NULL"
                )
            } catch let error as DatabaseError {
                throw SchemaDifferenceError.refused(
                    object: object,
                    reason: error.message ?? "\(error.resultCode)"
                )
            }
            views.append((view, table.name, column))
        }
        try renameTables()
        for table in match.old.tables.values.sorted(by: { $0.name < $1.name }) {
            try renameColumns(of: table)
        }
        for (view, table, column) in views {
            let sql = try String.fetchOne(
                db,
                sql: "SELECT sql FROM main.sqlite_schema WHERE name = ?",
                arguments: [view]
            )
            let lines = (sql ?? "").split(separator: "\n", omittingEmptySubsequences: false)
            expressions[table, column] = lines.dropFirst().dropLast().joined(separator: "\n")
            try db.execute(sql: "DROP VIEW \(view.quotedName)")
        }
    }

    private mutating func renameTables() throws {
        for rename in match.renames where rename.column == nil {
            if let index = try reader.schema(of: db).index(rename.newName) {
                try run("DROP INDEX \(index.name.quotedName)", for: "index \(index.name)")
            }
            try run(
                "ALTER TABLE \(rename.table.quotedName) RENAME TO \(rename.newName.quotedName)",
                for: "table \(rename.table)"
            )
        }
    }

    private mutating func renameColumns(of old: SchemaModel.Table) throws {
        guard let table = match.newTable(of: old)?.name else { return }
        for rename in match.columnRenames(of: old) {
            guard let column = rename.column else { continue }
            try run(
                """
                ALTER TABLE \(table.quotedName) \
                RENAME COLUMN \(column.quotedName) TO \(rename.newName.quotedName)
                """,
                for: "column \(table).\(column)"
            )
        }
    }

    // MARK: - Objects

    /// Drops triggers, views, indexes and virtual tables that change or go.
    private mutating func dropObjects() throws {
        let schema = try reader.schema(of: db)
        let views = schema.views.values.filter { target.view($0.name)?.definition != $0.definition }
        let tables = schema.tables.values.filter { table in
            guard let new = target.table(table.name) else { return table.isVirtual }
            return table.isVirtual
                ? !table.hasSameDefinition(as: new) : new.isVirtual
        }
        let gone = Set((views.map(\.name) + tables.map(\.name)).map(\.foldedName))
        /// Whether an object goes together with its table.
        func goes(_ name: String, with table: String) -> Bool {
            gone.contains(table.foldedName)
                || schema.table(table) != nil && target.table(table) == nil
                    && target.isUnused(name)
        }
        for trigger in schema.triggers.values.sorted(by: { $0.name < $1.name })
        where target.trigger(trigger.name)?.definition != trigger.definition
            && !goes(trigger.name, with: trigger.table)
        {
            try run("DROP TRIGGER \(trigger.name.quotedName)", for: "trigger \(trigger.name)")
        }
        for view in views.sorted(by: { $0.name < $1.name }) {
            try run("DROP VIEW \(view.name.quotedName)", for: "view \(view.name)")
        }
        for index in schema.indexes.values.sorted(by: { $0.name < $1.name })
        where target.index(index.name)?.hasSameDefinition(as: index) != true
            && !goes(index.name, with: index.table)
        {
            try run("DROP INDEX \(index.name.quotedName)", for: "index \(index.name)")
        }
        for table in tables.sorted(by: { $0.name < $1.name }) { try drop(table) }
    }

    /// Creates what the schema lacks, now that the tables are as wanted.
    private mutating func createObjects() throws {
        let schema = try reader.schema(of: db)
        for index in target.indexes.values.sorted(by: { $0.name < $1.name })
        where schema.index(index.name) == nil {
            try run(index.sql, for: "index \(index.name)")
        }
        let views = target.views.values.filter { schema.view($0.name) == nil }
        for view in Self.ordered(views, \.name, after: { SQLTokens($0.sql).allNames }) {
            try run(view.sql, for: "view \(view.name)")
        }
        for table in target.tables.values.sorted(by: { $0.name < $1.name })
        where table.isVirtual && schema.table(table.name) == nil {
            try run(table.sql, for: "table \(table.name)")
            try fill(table)
        }
        for table in target.tables.values.sorted(by: { $0.name < $1.name })
        where schema.table(table.name) != nil && isOutdated(table) {
            try fill(table)
        }
        for trigger in target.triggers.values.sorted(by: { $0.name < $1.name })
        where schema.trigger(trigger.name) == nil {
            try run(trigger.sql, for: "trigger \(trigger.name)")
        }
    }

    /// Fills the full-text index of a table that has its content elsewhere.
    /// <https://www.sqlite.org/fts5.html#the_rebuild_command>
    private mutating func fill(_ table: SchemaModel.Table) throws {
        guard let content = table.contentTable,
            target.view(content) != nil
                || target.table(content).map({ match.oldTable(of: $0) != nil }) ?? false
        else { return }
        let name = table.name.quotedName
        try run("INSERT INTO \(name) (\(name)) VALUES ('rebuild')", for: "table \(table.name)")
        rewritten.insert(table.name.foldedName)
    }

    /// Whether a full-text index that stays has other values, or other rowids, than the table with
    /// its content has by now.
    private func isOutdated(_ search: SchemaModel.Table) -> Bool {
        guard let content = search.contentTable.flatMap(target.table),
            let old = match.oldTable(of: content)
        else { return false }
        if !expressions[content.name].isEmpty { return true }
        let key = content.rowIDColumn.flatMap { match.oldColumn(of: $0.name, in: content) }
        if let key, !old.isRowID(key) { return true }
        return search.columns.contains { column in
            guard let after = content.column(column.name),
                let before = match.oldColumn(of: after.name, in: content)
            else { return false }
            return before.mayChangeValues(as: after) || before.generated != after.generated
        }
    }

    // MARK: - Tables

    private mutating func createTables() throws {
        let schema = try reader.schema(of: db)
        let tables = target.tables.values.filter { !$0.isVirtual && schema.table($0.name) == nil }
        for table in Self.ordered(tables, \.name, after: \.parents) {
            try run(table.sql, for: "table \(table.name)")
        }
    }

    private mutating func dropTables() throws {
        let schema = try reader.schema(of: db)
        let tables = schema.tables.values.filter { target.table($0.name) == nil }
        for table in Self.ordered(tables, \.name, after: \.parents).reversed() { try drop(table) }
    }

    private mutating func drop(_ table: SchemaModel.Table) throws {
        try run("DROP TABLE \(table.name.quotedName)", for: "table \(table.name)")
    }

    private mutating func changeTables() throws {
        let schema = try reader.schema(of: db)
        for table in target.tables.values.sorted(by: { $0.name < $1.name }) where !table.isVirtual {
            // A table that is created has no rows.
            guard let old = schema.table(table.name), match.oldTable(of: table) != nil,
                !old.hasSameDefinition(as: table)
            else { continue }
            for column in table.columns where old.column(column.name) == nil {
                try giveValue(to: column, of: table, old)
            }
            if try !alter(old, to: table, schema) { try rebuild(old, as: table) }
        }
    }

    /// Makes sure that existing rows have a value for a required column.
    private mutating func giveValue(
        to column: SchemaModel.Column,
        of table: SchemaModel.Table,
        _ old: SchemaModel.Table
    ) throws {
        guard table.requires(column), column.defaultValue == nil, column.generated == nil,
            !table.isRowID(column), expressions[table.name, column.name] == nil
        else { return }
        guard fillsRequiredColumns else {
            throw SchemaDifferenceError.needsBackfill(table: table.name, column: column.name)
        }
        expressions[table.name, column.name] = target.neutralValue(
            of: column,
            in: table,
            rowID: old.isWithoutRowID ? nil : rowidName(besides: old.columns.map(\.name))
        )
    }

    /// Changes a table by adding and dropping columns.
    ///
    /// - Returns: Whether that is enough. If not, nothing has changed.
    private mutating func alter(
        _ old: SchemaModel.Table,
        to table: SchemaModel.Table,
        _ schema: SchemaModel
    ) throws -> Bool {
        let added = table.columns.filter { old.column($0.name) == nil }
        let dropped = old.columns.filter { table.column($0.name) == nil }
        let kept = old.columns.filter { table.column($0.name) != nil }
        let values = expressions[table.name]
        guard !added.isEmpty || !dropped.isEmpty,
            table.columns.map(\.name.foldedName) == (kept + added).map(\.name.foldedName),
            added.allSatisfy({ table.canAdd($0) }), let text = try? TableText(table.sql),
            values.keys.allSatisfy({ name in added.contains { $0.name.isSameName(as: name) } })
        else { return false }
        // An UPDATE fires triggers. A rebuild doesn't.
        let fires = schema.triggers(of: table.name).contains { trigger in
            SQLTokens(trigger.sql).tokens.contains { $0.isWord("UPDATE") }
        }
        guard values.isEmpty || !fires else { return false }
        let name = table.name.quotedName
        return try attempt { plan in
            for column in added {
                guard let definition = text.source(ofColumn: column.name) else { return false }
                try plan.run(
                    "ALTER TABLE \(name) ADD COLUMN \(definition)",
                    for: "column \(table.name).\(column.name)"
                )
            }
            let assignments = added.compactMap { column in
                values[column.name.foldedName].map { "\(column.name.quotedName) = (\($0))" }
            }
            if !assignments.isEmpty {
                try plan.run(
                    "UPDATE OR ABORT \(name) SET \(assignments.joined(separator: ", "))",
                    for: "table \(table.name)"
                )
            }
            for column in dropped {
                try plan.run(
                    "ALTER TABLE \(name) DROP COLUMN \(column.name.quotedName)",
                    for: "column \(table.name).\(column.name)"
                )
            }
            return try plan.reader.schema(of: plan.db).table(table.name)?
                .hasSameDefinition(as: table) ?? false
        }
    }

    private mutating func rebuild(_ old: SchemaModel.Table, as table: SchemaModel.Table) throws {
        // The bare name of a column would rename it.
        let values = expressions[table.name].mapValues { "(\($0))" }
        let object = "table \(table.name)"
        let rebuild: TableRebuild
        do {
            rebuild = try TableRebuild(
                old.name,
                definition: TableDefinitionText(table: table.sql),
                columns: values,
                // The wanted schema lacks it.
                dropping: nil,
                in: db
            )
        } catch let error as TableRebuildError {
            if case .unusableDefinition(_, let reason) = error {
                let cause = DatabaseError(resultCode: .SQLITE_ERROR, message: reason)
                if MemoryDatabase.canReplace(cause) { throw cause }
            }
            throw SchemaDifferenceError.refused(
                object: object,
                reason: error.errorDescription ?? "\(error)"
            )
        }
        let converted = table.columns.filter { column in
            column.generated == nil && values[column.name.foldedName] == nil
                && old.column(column.name).map { $0.mayChangeValues(as: column) } ?? false
        }
        for step in rebuild.steps {
            try run(step.sql, for: object)
            guard step.role == .copy, !converted.isEmpty else { continue }
            for check in rebuild.copy.guardStatements(
                of: converted.map(\.name),
                name: try reader.schema(of: db).unusedName("check_\(table.name)")
            ) {
                try run(check, for: object)
            }
        }
        rewritten.insert(table.name.foldedName)
    }

    // MARK: - Order

    /// Sorts items by name, but each after those that it names.
    private static func ordered<Item>(
        _ items: [Item],
        _ name: (Item) -> String,
        after names: (Item) -> Set<String>
    ) -> [Item] {
        let sorted = items.sorted { name($0) < name($1) }
        let places = Dictionary(
            sorted.enumerated().map { (name($1).foldedName, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var result: [Item] = []
        var visited: Set<Int> = []
        func visit(_ place: Int) {
            guard visited.insert(place).inserted else { return }
            for before in names(sorted[place]).compactMap({ places[$0] }).sorted() { visit(before) }
            result.append(sorted[place])
        }
        for place in sorted.indices { visit(place) }
        return result
    }
}
