import GRDB

/// The schema of a database as data, for programs that draw or compare it.
///
/// ```swift
/// let schema = try queue.read(SchemaDescription.init(of:))
/// let picture = GraphvizDiagram(of: schema).text
/// ```
///
/// It has the same objects as ``GRDBSchemaSnapshotProvider``: internal tables of SQLite, GRDB or a
/// virtual table are left out. Objects are sorted by name, and columns have the table's order.
public struct SchemaDescription: Codable, Equatable, Sendable {
    /// The tables, including virtual ones, by name.
    public let tables: [Table]

    /// The views, by name.
    public let views: [View]

    /// The triggers, by name.
    public let triggers: [Trigger]

    /// A view.
    public struct View: Codable, Equatable, Sendable {
        /// The view's name.
        public let name: String

        /// Its columns; empty if the view reads from something missing.
        public let columns: [Column]

        /// The statement that creates it.
        public let sql: String
    }

    /// A trigger.
    public struct Trigger: Codable, Equatable, Sendable {
        /// The trigger's name.
        public let name: String

        /// The table or view that it belongs to.
        public let table: String

        /// The statement that creates it.
        public let sql: String
    }

    /// A column of a table or a view.
    public struct Column: Codable, Equatable, Sendable {
        /// The column's name.
        public let name: String

        /// The declared type, such as `TEXT` or `VARCHAR(20)`; empty if none was declared.
        public let type: String

        /// Whether the column is declared `NOT NULL`.
        public let notNull: Bool

        /// The column's position in the primary key, from 1; `nil` if it isn't part of it.
        public let primaryKey: Int?

        /// The default as an SQL expression; `nil` if there is none.
        public let defaultValue: String?

        /// How the column is generated; `nil` if it isn't.
        public let generated: Generated?

        /// Whether `SELECT *` leaves the column out, as with some columns of virtual tables.
        public let hidden: Bool

        private enum CodingKeys: String, CodingKey {
            case name, type, notNull, primaryKey
            case defaultValue = "default"
            case generated, hidden
        }
    }

    /// How a column is generated.
    public enum Generated: String, Codable, Equatable, Sendable {
        /// The value is computed when it is read.
        case virtual

        /// The value is computed when the row is written.
        case stored
    }
}
