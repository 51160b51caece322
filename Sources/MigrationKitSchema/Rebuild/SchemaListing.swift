import GRDB
import GRDBSQLite
import MigrationKitGRDB

extension SchemaObject {
    /// How a rebuild is allowed to lose it; `nil` for a table.
    var loss: RebuildLoss? {
        switch kind {
        case .table: nil
        case .index: .index(name)
        case .view: .view(name)
        case .trigger: .trigger(name)
        }
    }

    /// When a trigger fires: on which event, and for `UPDATE OF`, on which columns.
    var event: (name: String, columns: [String])? {
        let tokens = SQLTokens(sql).tokens
        // The text in the schema is CREATE TRIGGER, the name, and then keywords.
        guard
            let place = tokens.indices.dropFirst(3).first(where: { place in
                ["INSERT", "UPDATE", "DELETE"].contains { tokens[place].isWord($0) }
            })
        else { return nil }
        let list = tokens[(place + 1)...].prefix { !$0.isWord("ON") }
        return (
            tokens[place].text.uppercased(),
            list.dropFirst().filter { $0.text != "," }.map(\.name)
        )
    }
}

/// The objects of a schema, in the order in which they were created.
struct SchemaListing: Sendable {
    let all: [SchemaObject]

    init(of db: Database) throws {
        all = try SchemaObject.all(of: db)
    }

    private init(_ all: [SchemaObject]) {
        self.all = all
    }

    func has(table: String) -> Bool {
        all.contains { $0.kind == .table && $0.name.isSameName(as: table) }
    }

    func sql(of table: String) -> String {
        all.first { $0.kind == .table && $0.name == table }?.sql ?? ""
    }

    func without(table: String) -> SchemaListing {
        SchemaListing(all.filter { !$0.table.isSameName(as: table) })
    }

    func replacing(_ old: [SchemaObject], with new: [SchemaObject]) -> SchemaListing {
        let gone = Set(old.filter { $0.kind != .table })
        return SchemaListing(all.filter { !gone.contains($0) } + new)
    }

    /// The name of a table as it was created.
    ///
    /// - Throws: ``TableRebuildError`` if it can't be rebuilt.
    func rebuildableTable(_ name: String, in db: Database) throws -> String {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT name, type FROM pragma_table_list
                WHERE schema = 'main' AND name = ? COLLATE NOCASE
                """,
            arguments: [name]
        )
        guard let row else { throw TableRebuildError.noSuchTable(name) }
        let table: String = row["name"]
        let type: String = row["type"]
        let isInternal = table.foldedName.hasPrefix("sqlite_")
        let reason: String? =
            switch type {
            case "table" where !isInternal: nil
            case "view": "it is a view"
            case "virtual": "it is a virtual table"
            default: "it is an internal table"
            }
        if let reason { throw TableRebuildError.notRebuildable(table, reason: reason) }
        try Self.checkNothingTemporary(names: table, in: db)
        return table
    }

    /// A temporary object with the table's name would be used instead of the table. A temporary
    /// trigger would be dropped with it.
    static func checkNothingTemporary(names table: String, in db: Database) throws {
        let object = try SchemaObject.temporary(of: db).first { object in
            object.name.isSameName(as: table)
                || [.view, .trigger].contains(object.kind)
                    && SQLTokens(object.sql).names(any: [table.foldedName])
        }
        if let object {
            throw TableRebuildError.temporaryObject(table: table, name: object.name)
        }
    }

    /// A name that nothing has and that no statement mentions: a foreign key to a missing table of
    /// this name would follow the new table when that is renamed.
    func unusedName(for table: String, in db: Database) throws -> String {
        // SQLite finds the few statements that may mention it.
        let statements = try String.fetchAll(
            db,
            sql: "SELECT sql FROM main.sqlite_schema WHERE sql LIKE '%new%'"
        )
        let names = statements.reduce(into: Set<String>()) { names, sql in
            names.formUnion(SQLTokens(sql).allNames)
        }
        var number = 1
        while true {
            let prefix = number == 1 ? "new" : "new\(number)"
            let name = "\(prefix)_\(table)"
            // Beside a virtual table named like the prefix, it could be taken for a shadow table.
            // <https://www.sqlite.org/vtab.html#the_xshadowname_method>
            guard names.contains(name.foldedName) || has(table: prefix) else { return name }
            number += 1
        }
    }
}

// MARK: - Compiling

extension SchemaListing {
    /// What is wrong with views and triggers already, by their titles.
    func problems(in db: Database) throws -> [String: String] {
        try all.reduce(into: [:]) { problems, object in
            guard let statement = try db.statement(using: object) else { return }
            problems[object.title] = db.problem(compiling: statement)
        }
    }
}

extension Database {
    /// A statement that SQLite can compile only if a view or a trigger is sound.
    ///
    /// - Returns: `nil` for other objects.
    func statement(using object: SchemaObject) throws -> String? {
        let target = object.table.quotedName
        switch object.kind {
        case .table, .index: return nil
        case .view: return "SELECT * FROM \(object.name.quotedName)"
        case .trigger:
            guard let event = object.event else { return nil }
            switch event.name {
            case "INSERT": return "INSERT INTO \(target) DEFAULT VALUES"
            case "DELETE": return "DELETE FROM \(target)"
            default:
                let columns = try String.fetchAll(
                    cachedStatement(
                        sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0"
                    ),
                    arguments: [object.table]
                )
                let wanted = columns.first { column in
                    event.columns.isEmpty || event.columns.contains(column.foldedName)
                }
                guard let name = wanted?.quotedName else { return nil }
                return "UPDATE \(target) SET \(name) = \(name)"
            }
        }
    }

    /// - Returns: SQLite's message, if it can't compile a statement.
    func problem(compiling sql: String) -> String? {
        do {
            _ = try makeStatement(sql: sql)
            return nil
        } catch {
            return (error as? DatabaseError)?.message ?? "\(error)"
        }
    }

    /// Runs a block during which SQLite takes double quotes for those of strings, if there is no
    /// such name, as it does when it reads a schema. Otherwise old statements couldn't be repeated.
    /// <https://www.sqlite.org/quirks.html#double_quoted_string_literals_are_accepted>
    func withDoubleQuotedStrings<Value>(_ wanted: Bool, _ body: () throws -> Value) rethrows
        -> Value
    {
        guard wanted, !configuration.acceptsDoubleQuotedStringLiterals else { return try body() }
        _enableDoubleQuotedStringLiterals(sqliteConnection)
        defer { _disableDoubleQuotedStringLiterals(sqliteConnection) }
        return try body()
    }
}

// MARK: - Hanging Objects

/// What must be created again after a rebuild: what goes with the old table, and what would keep
/// SQLite from renaming the new one, because it names a table that is missing at that moment.
struct HangingObjects: Sendable {
    let indexes: [SchemaObject]
    let views: [SchemaObject]
    let triggers: [SchemaObject]
    /// Virtual tables that name the table: those with its content. They stay.
    let virtualTables: [SchemaObject]

    private let table: String

    /// - Parameters:
    ///   - table: The table.
    ///   - objects: The schema.
    ///   - problems: The views and triggers that don't work anyway. Each of them would keep SQLite
    ///     from renaming a table.
    init(of table: String, in objects: SchemaListing, problems: [String: String]) {
        let others = objects.all.filter { $0.kind == .view || $0.isVirtualTable }
            .map { (object: $0, names: SQLTokens($0.sql).allNames) }
        var names: Set = [table.foldedName]
        var found: Set<SchemaObject> = []
        var hasGrown = true
        while hasGrown {
            hasGrown = false
            for (object, its) in others where !found.contains(object) {
                let isBroken = problems[object.title] != nil
                guard isBroken || !its.isDisjoint(with: names) else { continue }
                found.insert(object)
                names.insert(object.name.foldedName)
                hasGrown = true
            }
        }
        let allTriggers = objects.all.filter { $0.kind == .trigger }
        // SQLite fires the triggers of a table in the order in which they were created, so that
        // they are created again together.
        let owners = Set(
            allTriggers.filter {
                problems[$0.title] != nil || SQLTokens($0.sql).names(any: names)
            }.map(\.table.foldedName)
        )
        indexes = objects.all.filter { $0.kind == .index && $0.table.isSameName(as: table) }
        views = objects.all.filter { $0.kind == .view && found.contains($0) }
        virtualTables = objects.all.filter { $0.kind == .table && found.contains($0) }
        triggers = allTriggers.filter { owners.contains($0.table.foldedName) }
        self.table = table
    }

    /// Those that may be listed in `dropping`.
    var all: [SchemaObject] { indexes + views + triggers }

    /// The statements that drop what doesn't go with the table.
    var dropStatements: [String] {
        let owners = [table] + views.map(\.name)
        return triggers.filter { trigger in !owners.contains { $0.isSameName(as: trigger.table) } }
            .map { "DROP TRIGGER \($0.name.quotedName)" }
            + views.map { "DROP VIEW \($0.name.quotedName)" }
    }

    /// What is created again.
    ///
    /// - Parameter newIndexes: The indexes that come with the new definition.
    /// - Throws: ``TableRebuildError/brokenReference(table:from:reason:)`` if one names a column
    ///   that is gone, and SQLite wouldn't notice.
    func kept(_ losses: RebuildLosses, replacing newIndexes: [SchemaObject]) throws
        -> [SchemaObject]
    {
        let keptIndexes = indexes.filter { index in
            !losses.allows(.index(index.name))
                && !newIndexes.contains { $0.name.isSameName(as: index.name) }
        }
        let keptViews = views.filter { !losses.allows(.view($0.name)) }
        let droppedViews = Set(views.map(\.name.foldedName))
            .subtracting(keptViews.map(\.name.foldedName))
        let keptTriggers = triggers.filter {
            !losses.allows(.trigger($0.name)) && !droppedViews.contains($0.table.foldedName)
        }
        for index in keptIndexes {
            // CREATE INDEX name ON table, and then columns and expressions of this table.
            let tokens = SQLTokens(index.sql).tokens
            let start = tokens.firstIndex { $0.text == "(" } ?? tokens.count
            try check(index, names: tokens[start...].map(\.name), losses.columns)
        }
        for trigger in keptTriggers where trigger.table.isSameName(as: table) {
            try check(trigger, names: trigger.event?.columns ?? [], losses.columns)
        }
        for virtualTable in virtualTables {
            let names = SQLTokens(virtualTable.sql).tokens.dropFirst(3).map(\.name)
            try check(virtualTable, names: names, losses.names)
        }
        return keptIndexes + newIndexes + keptViews + keptTriggers
    }

    private func check(_ object: SchemaObject, names: [String], _ lost: Set<String>) throws {
        guard let name = names.first(where: { lost.contains($0) }) else { return }
        throw TableRebuildError.brokenReference(
            table: table,
            from: object.title,
            reason: "it names the column \(name)"
        )
    }
}
