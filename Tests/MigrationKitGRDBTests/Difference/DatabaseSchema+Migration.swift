import GRDB
import MigrationKitSchema

extension DatabaseSchema {
    /// Whether nothing is left to do on the way to another schema.
    func leads(to other: DatabaseSchema) throws -> Bool {
        try SchemaMigration(SchemaDifference(from: self, to: other)).up.isEmpty
    }
}

extension SchemaMigration {
    init(
        from: String,
        to: String,
        renames: [SchemaRename] = [],
        backfills: [String: String] = [:]
    ) throws {
        try self.init(
            SchemaDifference(
                from: DatabaseSchema(sql: from),
                to: DatabaseSchema(sql: to),
                renames: renames
            ),
            backfills: backfills
        )
    }
}

extension DatabaseQueue {
    /// A database in memory.
    convenience init(sql: String) throws {
        try self.init()
        try inDatabase { try $0.execute(sql: sql) }
    }

    /// Runs statements as a step of the runner does.
    func run(_ statements: [String]) throws {
        try writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            defer { try? db.execute(sql: "PRAGMA foreign_keys = ON") }
            try db.inTransaction {
                for statement in statements { try db.execute(sql: statement) }
                try db.checkForeignKeys()
                return .commit
            }
        }
    }
}
