import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitSchema

/// Databases in memory with a schema and generated rows.
struct ProofRows {
    /// Which rows there are.
    enum Content: CaseIterable {
        case all
        /// Those that a hazard concerns are as few as they can be without being refused for it: none
        /// without a value in a column that requires one, and one row in a table.
        case fewer
        /// Tables that a hazard concerns are empty.
        case none
        /// No rows, for an expression that doesn't suit generated values, such as one on JSON.
        case empty
    }

    private let scratch: ScratchDatabase
    private let empty: DatabaseQueue
    private let model: SchemaModel
    private let hazards: [SchemaHazard]

    /// - Throws: A `DatabaseError` if SQLite refuses a statement of the schema.
    init(
        of schema: DatabaseSchema,
        _ hazards: [SchemaHazard],
        _ configuration: Configuration
    ) throws {
        scratch = try ScratchDatabase(configuration, reader: SchemaReader())
        model = schema.model
        self.hazards = hazards
        for statement in schema.statements {
            guard let failure = scratch.run(statement).failure else { continue }
            throw DatabaseError(resultCode: failure.code, message: failure.message)
        }
        empty = try scratch.plainCopy()
        do {
            try RowFill(for: scratch, schema: model).fill(Set(model.tables.keys))
        } catch is RowsIncomplete {
            throw DatabaseError(
                resultCode: .SQLITE_INTERRUPT,
                message: "the generation of rows takes too long"
            )
        }
        scratch.execute("PRAGMA foreign_keys = OFF")
        for table in model.tables.values { vary(table) }
        let model = model
        scratch.read { try? Self.changing($0, model) { try Self.removeOrphans(in: $0, model) } }
    }

    func database(with content: Content) throws -> DatabaseQueue {
        guard content != .empty else { return empty }
        guard content != .all else { return try scratch.plainCopy() }
        let copy = try scratch.plainCopy()
        try copy.inDatabase { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try Self.changing(db, model) { db in
                for hazard in hazards {
                    let table = GRDBMigrationSQLHelpers.quoted(hazard.table)
                    let condition: String
                    switch (content, hazard.kind, hazard.column) {
                    case (.fewer, .mayViolateNotNull, let column?):
                        condition = "\(GRDBMigrationSQLHelpers.quoted(column)) IS NULL"
                    case (.fewer, _, _):
                        let rowID = model.rowID(of: hazard.table)
                        condition = "\(rowID) > (SELECT min(\(rowID)) FROM \(table))"
                    default:
                        condition = "true"
                    }
                    // A view of this name: then the rows stay.
                    try? db.execute(sql: "DELETE FROM main.\(table) WHERE \(condition)")
                }
                try Self.removeOrphans(in: db, model)
            }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
        return copy
    }

    /// Changes rows as no app does: without triggers, which may forbid it or bring the rows back, and so
    /// full-text tables are filled again.
    private static func changing(
        _ db: Database,
        _ model: SchemaModel,
        _ body: (Database) throws -> Void
    ) throws {
        let triggers = model.triggers.values.sorted { $0.name < $1.name }
        for trigger in triggers {
            try db.execute(
                sql: "DROP TRIGGER main.\(GRDBMigrationSQLHelpers.quoted(trigger.name))"
            )
        }
        try body(db)
        for index in model.tables.values where index.contentTable != nil {
            // A view may need a function of the app's.
            try? db.execute(sql: index.rebuildCommand)
        }
        for trigger in triggers { try db.execute(sql: trigger.sql) }
    }

    /// Gives one row a NULL in each column that allows it, and puts rows into the tables of a full
    /// text search that have content of their own.
    private func vary(_ table: SchemaModel.Table) {
        let name = "main." + GRDBMigrationSQLHelpers.quoted(table.name)
        let columns = table.columns.filter { !$0.isHidden && $0.generated == nil }
        if table.isVirtual {
            guard table.module?.hasPrefix("fts") == true, !table.sql.contains("content") else {
                return
            }
            let names = columns.map { GRDBMigrationSQLHelpers.quoted($0.name) }
            let values = columns.indices.map { "'word\($0)'" }
            scratch.execute(
                "INSERT INTO \(name) (\(names.joined(separator: ", "))) "
                    + "VALUES (\(values.joined(separator: ", ")))"
            )
        } else if !table.isWithoutRowID {
            for column in columns where !column.isNotNull {
                let column = GRDBMigrationSQLHelpers.quoted(column.name)
                scratch.execute(
                    "UPDATE OR IGNORE \(name) SET \(column) = NULL "
                        + "WHERE rowid = (SELECT max(rowid) FROM \(name))"
                )
            }
        }
    }

    /// A trigger may have written rows that refer to nothing, which a migration would be refused for.
    private static func removeOrphans(in db: Database, _ model: SchemaModel) throws {
        for _ in 0..<100 {
            let orphans = try Row.fetchAll(db, sql: "PRAGMA main.foreign_key_check")
            guard !orphans.isEmpty else { return }
            for orphan in orphans {
                let name: String = orphan["table"]
                let rowID: Int64? = orphan["rowid"]
                let condition = rowID.map { " WHERE \(model.rowID(of: name)) = \($0)" } ?? ""
                try db.execute(
                    sql: "DELETE FROM main.\(GRDBMigrationSQLHelpers.quoted(name))" + condition
                )
            }
        }
    }
}

extension SchemaModel {
    /// A name of the rowid that no column of the table has.
    fileprivate func rowID(of name: String) -> String {
        rowidName(besides: table(name)?.columns.map(\.name) ?? []) ?? "rowid"
    }
}
