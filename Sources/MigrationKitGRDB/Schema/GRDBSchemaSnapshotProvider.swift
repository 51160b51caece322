import GRDB
import MigrationKit

/// Writes down, as SQL, the schema to which a list of migrations leads.
///
/// ```swift
/// let provider = GRDBSchemaSnapshotProvider(migrate: { try runner.migrate(in: $0) })
/// let sql = try provider.generateCanonicalSnapshot()
/// ```
///
/// The migrations run on a new database in memory. The snapshot keeps the text of every `CREATE`
/// statement as its author wrote it. Tables come first, then indexes, views and triggers, each
/// kind by name, so that the text can be loaded again. Tables that SQLite, GRDB or a virtual
/// table keep for themselves are left out.
public struct GRDBSchemaSnapshotProvider: SchemaSnapshotProvider, Sendable {
    private let configuration: Configuration
    private let migrate: @Sendable (DatabaseQueue) throws -> Void
    private let postProcess: @Sendable (String) -> String

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the database in memory. Register in its
    ///     `prepareDatabase` the functions and collations that the migrations use.
    ///   - migrate: Brings the empty database that it gets to the schema to write down.
    ///   - postProcess: Has the last word on the text.
    public init(
        configuration: Configuration = Configuration(),
        migrate: @escaping @Sendable (DatabaseQueue) throws -> Void,
        postProcess: @escaping @Sendable (String) -> String = { $0 }
    ) {
        self.configuration = configuration
        self.migrate = migrate
        self.postProcess = postProcess
    }

    /// Migrates an empty database in memory and writes down its schema.
    ///
    /// - Returns: SQL that creates the schema; empty where there is none.
    /// - Throws: What a migration throws.
    public func generateCanonicalSnapshot() throws -> String {
        let queue = try DatabaseQueue(configuration: configuration)
        try migrate(queue)
        return postProcess(try queue.read(Self.snapshot(of:)))
    }

    /// Writes down the schema of an open database.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: SQL that creates the schema; empty where there is none.
    /// - Throws: A `DatabaseError` if the schema can't be read.
    public static func snapshot(of db: Database) throws -> String {
        try objects(of: db).map { terminated($0["sql"]) + "\n" }.joined(separator: "\n")
    }

    /// The type, name and SQL of every object, in the order of the snapshot.
    package static func objects(of db: Database) throws -> [Row] {
        // A virtual table creates its shadow tables, and SQLite and GRDB create theirs.
        // <https://www.sqlite.org/pragma.html#pragma_table_list>
        try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, sql FROM sqlite_master
                WHERE sql IS NOT NULL
                AND tbl_name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                AND tbl_name NOT LIKE 'grdb\\_%' ESCAPE '\\'
                AND tbl_name NOT IN (
                    SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'
                )
                ORDER BY
                    CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 WHEN 'view' THEN 3 ELSE 4 END,
                    name
                """
        )
    }

    private static func terminated(_ statement: String) -> String {
        // The text of a view may end in a comment, which would swallow the semicolon.
        let lastLine = statement.split(separator: "\n").last ?? ""
        return statement + (lastLine.contains("--") ? "\n;" : ";")
    }
}
