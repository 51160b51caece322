import GRDB

/// A table that is no known tool's, and may say which of a folder's migrations are applied: an app
/// counts there, or a tool that isn't known here keeps its record.
package struct VersionCounter: Sendable {
    /// Its name.
    package let table: String

    /// The latest version in it.
    package let version: String

    /// The step of the folder that the version names.
    package let identifier: String
}

extension MigrationFolder {
    /// The tables that may count this folder's migrations, and are no known tool's.
    ///
    /// Such a table speaks of migrations by its name, and one of its columns has nothing but versions or
    /// names of the folder's migrations.
    package func counters(in db: Database) throws -> [VersionCounter] {
        try TableColumn.ofAllTables(in: db).compactMap { table, columns in
            guard table.speaksOfVersions, !table.lowercased().hasPrefix("grdb_") else { return nil }
            if let tool = MigrationTool.owner(of: table, columns),
                try tool.table?.hasWritten(table, in: db) == true
            {
                return nil
            }
            for column in columns where column.mayCount {
                if let counter = try counter(table, column.name, in: db) { return counter }
            }
            return nil
        }
    }

    private func counter(_ table: String, _ column: String, in db: Database) throws
        -> VersionCounter?
    {
        // More rows than migrations are no record of them.
        let values = try DatabaseValue.fetchAll(
            db,
            sql: """
                SELECT \(ToolTable.quoted(column)) FROM \(ToolTable.source(table))
                LIMIT \(steps.count + 2)
                """
        )
        // A counter at 0, and a tool's row for its own table, count nothing.
        let counted = values.filter { !$0.isNull && $0.text != "0" }
        guard !counted.isEmpty, counted.count <= steps.count else { return nil }
        let indexes = counted.map { step(of: $0.text).map { (index: $0, text: $1) } }
        guard indexes.allSatisfy({ $0 != nil }),
            let latest = indexes.compactMap({ $0 }).max(by: { $0.index < $1.index })
        else { return nil }
        return VersionCounter(
            table: table,
            version: latest.text,
            identifier: steps[latest.index].identifier
        )
    }

    /// The place of the step that a value names: its version, its identifier or its file.
    private func step(of value: String) -> (Int, String)? {
        let index =
            format.implementation.version(of: value).flatMap(versions.firstIndex)
            ?? steps.firstIndex { step in
                value == step.identifier || value == step.sourceFile
                    || value == "\(step.identifier).sql"
            }
        return index.map { ($0, value) }
    }
}

extension String {
    /// Whether it is the name of a table that may count versions of the schema.
    fileprivate var speaksOfVersions: Bool {
        let name = lowercased()
        return speaksOfMigrations || ["version", "versions", "schema"].contains(name)
            || ["database_version", "schema_info", "version_history"].contains { name.contains($0) }
    }
}

extension TableColumn {
    /// Whether it may have versions or names of migrations.
    fileprivate var mayCount: Bool {
        name.lowercased().contains("version")
            || ["migration", "name", "filename", "script"].contains(name.lowercased())
            || definition.hasPrefix("value int") || definition.hasPrefix("number int")
    }
}

extension ToolTable {
    /// A column's name in SQL.
    fileprivate static func quoted(_ column: String) -> String {
        "\"\(column.escaping("\"", as: "\"\""))\""
    }
}

extension TableColumn {
    /// The columns of every table of a database, in the order in which the tables were made. Virtual
    /// tables have no root page: their columns are known only to their modules.
    static func ofAllTables(in db: Database) throws -> [(table: String, columns: [TableColumn])] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT object.name AS "table", info.name, info.type, info."notnull", info.pk
                FROM main.sqlite_master AS object, pragma_table_info(object.name, 'main') AS info
                WHERE object.type = 'table' AND object.rootpage > 0
                    AND object.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                ORDER BY object.rowid, info.cid
                """
        )
        var tables: [(table: String, columns: [TableColumn])] = []
        for row in rows {
            let table: String = row["table"]
            if tables.last?.table != table { tables.append((table, [])) }
            tables[tables.count - 1].columns.append(TableColumn(row: row))
        }
        return tables
    }
}
