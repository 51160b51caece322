import GRDB
import MigrationKitGRDB

/// The statements that give a table a new definition, by SQLite's procedure.
///
/// ```swift
/// let rebuild = try TableRebuild(of: "notes", in: db)
/// print(rebuild.statements.joined(separator: ";\n"))
/// ```
///
/// `Database.rebuild(_:as:columns:dropping:)` runs them and checks their effect. To run them
/// yourself, turn foreign keys off before the transaction begins.
/// <https://www.sqlite.org/lang_altertable.html#otheralter>
public struct TableRebuild: Sendable {
    /// The table's name.
    public let table: String

    /// The statements in order, without semicolons at their ends.
    public var statements: [String] { steps.map(\.sql) }

    let steps: [Step]
    /// The name of the new table until it takes the place of the old one.
    let temporaryName: String
    let copy: RowCopy
    let hanging: HangingObjects
    /// The schema as it must be afterwards.
    let schema: SchemaListing
    let keepsMark: Bool

    struct Step: Equatable, Sendable {
        enum Role: Equatable, Sendable {
            /// Creates the new table.
            case create
            /// Fills the new table from the old one.
            case copy
            /// Makes the new table take the place of the old one.
            case exchange
            /// Creates something that hangs on the table.
            case object(SchemaObject)
        }

        let sql: String
        let role: Role
    }

    /// Plans the rebuild of a table. The database isn't changed.
    ///
    /// - Parameters:
    ///   - table: The table's name.
    ///   - definition: One `CREATE TABLE` statement with this name; `nil` for the present one, so
    ///     that the rebuild changes nothing.
    ///   - columns: SQL expressions over the old row, by the names of new columns. The bare name of
    ///     an old column renames it.
    ///   - dropping: What the rebuild may lose.
    ///   - db: A connection that may write: the new table is created and taken back.
    /// - Throws: ``TableRebuildError``; a `DatabaseError` if the database can't be read or written.
    public init(
        of table: String,
        as definition: String? = nil,
        columns: [String: String] = [:],
        dropping: Set<RebuildLoss> = [],
        in db: Database
    ) throws {
        try self.init(
            table,
            definition: definition.map { TableDefinitionText(table: $0) },
            columns: columns,
            dropping: dropping,
            in: db
        )
    }

    /// - Parameter dropping: What the rebuild may lose; `nil` for all that the new definition lacks.
    init(
        _ givenName: String,
        definition: TableDefinitionText?,
        columns expressions: [String: String],
        dropping: Set<RebuildLoss>?,
        in db: Database
    ) throws {
        let present = try SchemaListing(of: db)
        let table = try present.rebuildableTable(givenName, in: db)
        let temporaryName = try present.unusedName(for: table, in: db)
        let createTable = try (definition ?? TableDefinitionText(table: present.sql(of: table)))
            .renamed(table, to: temporaryName)
        let problems = try present.problems(in: db)

        // What SQLite makes of the definition and of renamed columns is tried out and taken back.
        let (old, new, renames, renamed) = try db.undoing {
            let old = try SchemaModel.Table(of: table, in: db)
            try db.create(createTable, of: table, temporaryName, isOld: definition == nil)
            let new = try SchemaModel.Table(of: temporaryName, in: db)
            let renames = ColumnRenames(expressions, from: old, to: new)
            for statement in renames.statements(table) {
                try db.execute(statement, rebuilding: table)
            }
            return (old, new, renames, try SchemaListing(of: db).without(table: temporaryName))
        }

        let copy = try RowCopy(
            from: (table, old),
            to: (temporaryName, new),
            expressions: expressions,
            renames: renames
        )
        let losses = RebuildLosses(from: old, to: new, renames, dropping)
        let hanging = HangingObjects(of: table, in: renamed, problems: problems)
        try losses.check(table, hanging)
        let kept = try hanging.kept(losses, replacing: definition?.indexes ?? [])

        keepsMark = old.isAutoincrement && new.isAutoincrement
        var steps = [
            Step(sql: createTable, role: .create), Step(sql: copy.statement, role: .copy),
        ]
        steps += Self.exchange(
            table,
            with: temporaryName,
            present,
            renames: renames.statements(table),
            drops: hanging.dropStatements,
            keepsMark: keepsMark,
            droppedIndexes: hanging.indexes.filter { !kept.contains($0) }.map(\.name)
        ).map { Step(sql: $0, role: .exchange) }
        steps += kept.map { Step(sql: $0.sql, role: .object($0)) }

        self.table = table
        self.temporaryName = temporaryName
        self.steps = steps
        self.copy = copy
        self.hanging = hanging
        self.schema = renamed.replacing(hanging.all, with: kept)
    }

    /// The statements by which the new table takes the place of the old one, with its marks.
    private static func exchange(
        _ table: String,
        with newTable: String,
        _ present: SchemaListing,
        renames: [String],
        drops: [String],
        keepsMark: Bool,
        droppedIndexes: [String]
    ) -> [String] {
        let (name, newName) = (table.sqlString, newTable.sqlString)
        // <https://www.sqlite.org/autoinc.html>
        let mark = [
            "DELETE FROM sqlite_sequence WHERE name = \(newName)",
            """
            INSERT INTO sqlite_sequence (name, seq)
              SELECT \(newName), seq FROM sqlite_sequence WHERE name = \(name)
            """,
        ]
        // Dropping a table also drops the statistics that ANALYZE has gathered under its name.
        // <https://www.sqlite.org/fileformat2.html#the_sqlite_stat1_table>
        let statistics = ["sqlite_stat1", "sqlite_stat4"].filter { present.has(table: $0) }
        return renames + drops + (keepsMark ? mark : [])
            + statistics.map { "UPDATE \($0) SET tbl = \(newName) WHERE tbl = \(name)" }
            + [
                "DROP TABLE \(table.quotedName)",
                "ALTER TABLE \(newTable.quotedName) RENAME TO \(table.quotedName)",
            ]
            + statistics.map { "UPDATE \($0) SET tbl = \(name) WHERE tbl = \(newName)" }
            + statistics.flatMap { statistics in
                droppedIndexes.map {
                    "DELETE FROM \(statistics) WHERE tbl = \(name) AND idx = \($0.sqlString)"
                }
            }
    }
}

// MARK: - Definition

/// A new definition: the statement that creates the table, and those of indexes that come with it.
struct TableDefinitionText {
    let table: String
    var indexes: [SchemaObject] = []

    /// The definition that GRDB makes of a closure.
    ///
    /// It is made in the temporary schema, where the old table isn't in the way, and taken back.
    static func defined(
        by body: (TableDefinition) throws -> Void,
        _ options: TableOptions,
        _ name: String,
        in db: Database
    ) throws -> TableDefinitionText {
        try SchemaListing.checkNothingTemporary(names: name, in: db)
        return try db.undoing {
            let options = options.union(.temporary).subtracting(.ifNotExists)
            try db.create(table: name, options: options, body: body)
            let objects = try SchemaObject.temporary(of: db).filter {
                $0.table.isSameName(as: name)
            }
            guard let table = objects.first(where: { $0.kind == .table }) else {
                throw TableRebuildError.noSuchTable(name)
            }
            return TableDefinitionText(
                table: table.sql,
                indexes: objects.filter { $0.kind == .index }
            )
        }
    }

    /// The statement for a table with another name.
    func renamed(_ name: String, to newName: String) throws -> String {
        func unusable(_ reason: String) -> TableRebuildError {
            .unusableDefinition(table: name, reason: reason)
        }
        let text: TableText
        do {
            text = try TableText(table)
        } catch TableText.Problem.hasMoreStatements {
            throw unusable("it has more than one statement")
        } catch {
            throw unusable("it is not a CREATE TABLE statement with a list of columns")
        }
        guard text.name.isSameName(as: name) else {
            throw unusable("it creates \(text.name)")
        }
        return text.renamed(to: newName)
    }
}

// MARK: - Database

extension Database {
    /// Runs a block and takes back what it did.
    fileprivate func undoing<Value>(_ body: () throws -> Value) throws -> Value {
        var value: Result<Value, any Error>?
        try inSavepoint {
            value = Result { try body() }
            return .rollback
        }
        clearSchemaCache()
        guard let value else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        return try value.get()
    }

    /// Creates the new table.
    ///
    /// - Parameter isOld: Whether the definition is that of an existing table. SQLite then takes
    ///   strings in double quotes, as when it reads the schema.
    ///   <https://www.sqlite.org/quirks.html#double_quoted_string_literals_are_accepted>
    func create(_ sql: String, of table: String, _ temporaryName: String, isOld: Bool) throws {
        do {
            try withDoubleQuotedStrings(isOld) { try run(statement: sql) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw TableRebuildError.unusableDefinition(
                table: table,
                reason: error.message(about: temporaryName, as: table)
            )
        }
    }

    /// Runs a statement that SQLite may refuse because of another object of the schema.
    func execute(_ sql: String, rebuilding table: String) throws {
        do {
            try run(statement: sql)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw TableRebuildError.brokenReference(
                table: table,
                from: "the schema",
                reason: error.messageWithoutValues
            )
        }
    }
}

extension DatabaseError {
    /// SQLite's message, with the name of the table instead of that of the new one.
    func message(about temporaryName: String, as table: String) -> String {
        messageWithoutValues.replacing(temporaryName, with: table)
    }
}
