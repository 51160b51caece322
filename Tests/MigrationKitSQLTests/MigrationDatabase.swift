import Foundation
import GRDB
import MigrationKit

/// A database in memory on which steps run the way the runner runs them: foreign keys off before
/// the transaction, a check of them before its commit.
struct MigrationDatabase {
    let queue: DatabaseQueue

    init() throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.add(
                function: DatabaseFunction("uuid", argumentCount: 0) { _ in
                    UUID().uuidString.lowercased()
                }
            )
        }
        queue = try DatabaseQueue(configuration: configuration)
    }

    func apply(_ step: MigrationStep<Database>) throws {
        try run(step.apply)
    }

    func run(_ body: @escaping @Sendable (Database) throws -> Void) throws {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try db.inTransaction {
                try body(db)
                try db.checkForeignKeys()
                return .commit
            }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
    }

    /// The SQL of everything in the database, exactly as SQLite keeps it.
    func schema() throws -> [String] {
        try queue.read { db in
            try Row.fetchAll(
                db,
                sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
            ).map(\.description)
        }
    }

    func integers(_ sql: String) throws -> [Int] {
        try queue.read { try Int.fetchAll($0, sql: sql) }
    }

    func strings(_ sql: String) throws -> [String] {
        try queue.read { try String.fetchAll($0, sql: sql) }
    }

    /// One line a row.
    func rows(_ sql: String) throws -> [String] {
        try queue.read { try Row.fetchAll($0, sql: sql).map(\.description) }
    }
}
