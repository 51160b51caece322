import Foundation
import GRDB
import GRDBSQLite
import MigrationKitGRDB

/// The schema of a database as a value, to be compared with another one.
///
/// Tables of SQLite, of GRDB and of virtual tables' modules aren't part of it.
public struct DatabaseSchema: Sendable {
    /// The objects as SQLite understands them.
    package private(set) var model: SchemaModel

    /// The statements that create the objects, in an order in which they can run.
    public var statements: [String] { objects.map(\.sql) }

    /// The objects as they stand in the schema.
    private var objects: [SchemaObject]

    /// Reads the schema of an open database.
    ///
    /// Functions, collations and modules that the schema uses may be missing.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the schema can't be read.
    public init(of db: Database) throws {
        model = try SchemaReader().schema(of: db)
        objects = try SchemaObject.own(of: db)
    }

    /// Runs a dump on a database in memory, and reads its schema.
    ///
    /// Functions and collations that the configuration doesn't have are replaced.
    ///
    /// - Parameters:
    ///   - sql: The statements, such as those of `GRDBSchemaSnapshotProvider`.
    ///   - configuration: The configuration of the database in memory.
    /// - Throws: A `DatabaseError` if SQLite refuses a statement; what `prepareDatabase` throws.
    public init(sql: String, configuration: Configuration = Configuration()) throws {
        self = try MemoryDatabase.run(configuration) { db in
            let bytes = Array(sql.utf8)
            for range in SQLStatementBoundary.statements(in: bytes) {
                try db.run(statement: String(decoding: bytes[range], as: UTF8.self))
            }
            return try DatabaseSchema(of: db)
        }
    }

    /// The schema without some tables and views, and without their indexes and triggers.
    ///
    /// - Parameter tables: The names. SQLite ignores the case of ASCII letters. A `*` at the end of
    ///   one stands for any characters.
    public func ignoring(tables: [String]) -> DatabaseSchema {
        let patterns = tables.map(\.foldedName)
        func isIgnored(_ name: String) -> Bool {
            let name = name.foldedName
            return patterns.contains {
                $0 == name || $0.hasSuffix("*") && name.hasPrefix($0.dropLast())
            }
        }
        var rest = self
        rest.model = model.removing(isIgnored)
        rest.objects.removeAll { isIgnored($0.table) }
        return rest
    }
}

extension SchemaModel {
    /// The schema without some tables and views, and what belongs to them.
    fileprivate func removing(_ isRemoved: (String) -> Bool) -> SchemaModel {
        var rest = self
        rest.tables = tables.filter { !isRemoved($0.key) }
        rest.views = views.filter { !isRemoved($0.key) }
        rest.indexes = indexes.filter { !isRemoved($0.value.table) }
        rest.triggers = triggers.filter { !isRemoved($0.value.table) }
        return rest
    }
}

// MARK: - Memory Database

/// Runs statements on a new database in memory, which touches no file.
enum MemoryDatabase {
    /// - Parameters:
    ///   - configuration: The configuration. What it lacks is replaced: a function by one that
    ///     returns its first argument, and a collation by one that compares bytes.
    ///   - body: It runs again on another database for each function or collation that it lacks.
    static func run<Value>(
        _ configuration: Configuration,
        _ body: (Database) throws -> Value
    ) throws -> Value {
        var configuration = configuration
        configuration.allowsUnsafeTransactions = true
        configuration.readonly = false
        var standIns: Set<SchemaNeed> = []
        while true {
            do {
                return try DatabaseQueue(configuration: configuration).inDatabase { db in
                    // Neither ATTACH nor VACUUM INTO can write a file.
                    sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_ATTACHED, 0)
                    for need in standIns { need.addStandIn(to: db) }
                    return try body(db)
                }
            } catch let error as DatabaseError {
                guard let need = replaceable(error), standIns.insert(need).inserted else {
                    throw error
                }
            }
        }
    }

    /// Whether an error is about something that can be replaced.
    static func canReplace(_ error: DatabaseError) -> Bool {
        replaceable(error) != nil
    }

    private static func replaceable(_ error: DatabaseError) -> SchemaNeed? {
        switch error.message.flatMap(SchemaNeed.init) {
        case .function(let name): .function(name)
        case .collation(let name): .collation(name)
        case .module, .tokenizer, nil: nil
        }
    }
}
