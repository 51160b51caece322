import GRDB

/// The schema of a database as a value, to be compared with another one.
///
/// Tables of SQLite, of GRDB and of virtual tables' modules aren't part of it.
public struct DatabaseSchema: Sendable {
    /// The objects as SQLite understands them.
    package let model: SchemaModel

    /// The statements that create the objects, in an order in which they can run.
    public let statements: [String]

    /// Reads the schema of an open database.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the schema can't be read.
    public init(of db: Database) throws {
        model = try SchemaReader().schema(of: db)
        statements = try GRDBSchemaSnapshotProvider.objects(of: db).map { $0["sql"] }
    }
}
