import GRDB
import MigrationKitSQL
import MigrationKitSchema

/// Copies of databases in memory, with generated rows in the tables that a step can reach.
package final class GeneratedRows {
    /// What the rows of a table are like.
    package enum Kind: String, Sendable {
        /// They have a value wherever they can, each another one.
        case different
        case equal = "rows that are equal"
        case withNulls = "rows with NULLs"
    }

    private let scratch: ScratchDatabase

    /// - Parameter configuration: That of the copies.
    package init(_ configuration: Configuration) throws {
        scratch = try ScratchDatabase(configuration, reader: SchemaReader())
    }

    /// The further kinds of rows that a step may leave out.
    package static func kinds(leftOutBy sql: MigrationSQL) -> [Kind] {
        let parsed = sql.upStatements.map { ParsedStatement($0.text) }
        let copies = parsed.contains { statement in
            statement.hasKeywordAnywhere("SELECT")
                && (statement.mayLeaveOutRows || statement.hasConflictClause)
        }
        return copies ? [.equal, .withNulls] : []
    }

    /// - Parameters:
    ///   - database: The database as it is before the step.
    ///   - sql: The step. What takes it back can reach tables, too.
    ///   - others: Further tables, by their names in lower case.
    ///   - kind: What the rows are like, as far as the constraints allow it.
    /// - Returns: The copy; the tables that the step can reach, by their names in lower case; and those
    ///   that it names and that have no row, since none fits their constraints. `nil` if it meets no rows.
    /// - Throws: ``RowsIncomplete``; a `DatabaseError`.
    package func copy(
        of database: DatabaseQueue,
        for sql: MigrationSQL,
        and others: Set<String>,
        _ kind: Kind = .different
    ) throws -> (database: DatabaseQueue, tables: Set<String>, empty: [String])? {
        let up = sql.upStatements.map(SourceStatement.init)
        let sources = up + sql.downStatements.map(SourceStatement.init)
        guard !others.isEmpty || sources.contains(where: \.parsed.mayMeetRows) else { return nil }
        try scratch.replaceContent(with: database)
        let schema = try scratch.schema()
        let tables = schema.reachable(from: sources, and: others)
        guard !tables.isEmpty else { return nil }
        try RowFill(for: scratch, schema: schema).fill(tables)
        for name in tables.sorted() {
            if let change = schema.table(name)?.change(kind) { scratch.execute(change) }
        }
        let counts = scratch.rowCounts(of: tables)
        let empty = schema.named(in: up).filter {
            counts[$0] == 0 && schema.tables[$0]?.isVirtual == false
        }
        guard !empty.isEmpty || counts.contains(where: { $0.value > 0 }) else { return nil }
        return (try scratch.plainCopy(), tables, empty.sorted())
    }
}

extension SchemaModel.Table {
    /// The statement that makes generated rows equal, or gives them NULLs, as far as no key refuses it.
    func change(_ kind: GeneratedRows.Kind) -> String? {
        let unique = Set(
            (primaryKey + uniques.flatMap { $0.columns.map(\.text) }).map(\.foldedName)
        )
        let name = "main.\(GRDBMigrationSQLHelpers.quoted(name))"
        let values = columns.filter { column in
            column.generated == nil && !column.isHidden && !unique.contains(column.name.foldedName)
                && (kind == .equal || !column.isNotNull)
        }.map { column in
            let column = GRDBMigrationSQLHelpers.quoted(column.name)
            let value = kind == .equal ? "(SELECT \(column) FROM \(name) LIMIT 1)" : "NULL"
            return "\(column) = \(value)"
        }
        guard kind != .different, !values.isEmpty else { return nil }
        return "UPDATE OR IGNORE \(name) SET \(values.joined(separator: ", "))"
    }
}
