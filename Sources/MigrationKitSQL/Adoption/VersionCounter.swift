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
    /// Names of migrations are unmistakable: such a table has nothing else in one column, and speaks of
    /// versions, migrations or changes by its name. A number says less: its table or its column is called
    /// what only a schema's version is called, or it is the only value of its table, or the key beside it
    /// says what it is.
    package func counters(in db: Database) throws -> [VersionCounter] {
        try TableColumn.ofAllTables(in: db).compactMap { table, columns in
            guard !table.lowercased().hasPrefix("grdb_") else { return nil }
            if let tool = MigrationTool.owner(of: table, columns),
                try tool.table?.hasWritten(table, in: db) == true
            {
                return nil
            }
            return try counterOfNames(table, columns, in: db)
                ?? counterOfVersions(table, columns, in: db)
                ?? counterByKey(table, columns, in: db)
        }
    }

    /// A column that has nothing but names of migrations, any number of times.
    private func counterOfNames(_ table: String, _ columns: [TableColumn], in db: Database) throws
        -> VersionCounter?
    {
        guard table.mayRecord else { return nil }
        for column in columns {
            // A look at one value spares the others.
            guard let first = try values(of: column, table, limit: 1, in: db).first,
                first.isNull || step(named: first.text) != nil
            else { continue }
            let names = try values(of: column, table, isDistinct: true, in: db)
                .filter { !$0.isNull }.map(\.text)
            if let counter = counter(table, names, step(named:)) { return counter }
        }
        return nil
    }

    /// A column that has nothing but versions of migrations, each in a row of its own.
    private func counterOfVersions(
        _ table: String,
        _ columns: [TableColumn],
        in db: Database
    ) throws -> VersionCounter? {
        let isOnlyColumn = columns.count == 1 && columns[0].name.lowercased() != "id"
        for column in columns
        where table.speaksOfVersions
            ? column.mayCount || isOnlyColumn : table.mayRecord && isOnlyColumn
        {
            let values = try values(of: column, table, in: db)
            guard table.speaksOfVersions || values.count == 1 else { return nil }
            // A counter at 0, and a tool's row for its own table, count nothing.
            let counted = values.filter { !$0.isNull && $0.text != "0" }.map(\.text)
            if let counter = counter(table, counted, step(of:)) { return counter }
        }
        return nil
    }

    /// The value of a key that says that it is the schema's version.
    private func counterByKey(_ table: String, _ columns: [TableColumn], in db: Database) throws
        -> VersionCounter?
    {
        guard let key = columns.first(where: \.isKey), let value = columns.first(where: \.isValue)
        else { return nil }
        let (keys, source) = (ToolTable.quoted(key.name), ToolTable.source(table))
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT \(keys), \(ToolTable.quoted(value.name)) FROM \(source)
                WHERE typeof(\(keys)) = 'text' AND \(keys) LIKE '%version%' LIMIT 100
                """
        )
        for row in rows where (row[0] as String).namesSchemaVersion(in: table) {
            let text = (row[1] as DatabaseValue).text
            if let counter = counter(table, [text], step(of:)) { return counter }
        }
        return nil
    }

    /// - Returns: One more value than there are migrations, if there are so many: more are no record of
    ///   them.
    private func values(
        of column: TableColumn,
        _ table: String,
        isDistinct: Bool = false,
        limit: Int? = nil,
        in db: Database
    ) throws -> [DatabaseValue] {
        try DatabaseValue.fetchAll(
            db,
            sql: """
                SELECT \(isDistinct ? "DISTINCT " : "")\(ToolTable.quoted(column.name))
                FROM \(ToolTable.source(table)) LIMIT \(limit ?? steps.count + 2)
                """
        )
    }

    /// - Parameter place: Finds the migration of a value.
    private func counter(_ table: String, _ values: [String], _ place: (String) -> Int?)
        -> VersionCounter?
    {
        guard !values.isEmpty, values.count <= steps.count else { return nil }
        let places = values.map { (text: $0, index: place($0)) }
        guard places.allSatisfy({ $0.index != nil }),
            let latest = places.max(by: { $0.index ?? 0 < $1.index ?? 0 }), let index = latest.index
        else { return nil }
        return VersionCounter(
            table: table,
            version: latest.text,
            identifier: steps[index].identifier
        )
    }

    /// The place of the step that a value names: its version, its identifier or its file.
    private func step(of value: String) -> Int? {
        let number = ["v", "V"].contains(value.first) ? String(value.dropFirst()) : value
        return [value, number].lazy.compactMap(format.implementation.version)
            .compactMap(versions.firstIndex).first ?? step(named: value)
    }

    /// The place of the step whose identifier or file a value is, with or without its folder. A number
    /// alone is no name.
    private func step(named value: String) -> Int? {
        guard value.contains(where: \.isLetter) else { return nil }
        let name = value.split(separator: "/").last.map(String.init) ?? value
        return steps.firstIndex { step in
            name == step.identifier || value == step.sourceFile || name == step.sourceFile
                || name == "\(step.identifier).sql"
        }
    }
}

extension String {
    /// Whether it is the name of a table that may count versions of the schema.
    fileprivate var speaksOfVersions: Bool {
        let name = lowercased()
        return speaksOfMigrations || ["version", "versions", "schema"].contains(name)
            || ["database_version", "schema_info", "version_history"].contains { name.contains($0) }
    }

    /// Whether it is the name of a table that may record what was done to the schema.
    fileprivate var mayRecord: Bool {
        let words: Set = [
            "version", "versions", "schema", "meta", "metadata", "revision", "revisions",
        ]
        let name = lowercased()
        return speaksOfVersions || !words.isDisjoint(with: self.words)
            || name.contains("changelog") || name.hasSuffix("version")
    }

    /// The words of a name, in small letters: `sequelize` and `meta` of `SequelizeMeta`.
    private var words: [String] {
        var words = [""]
        for (character, previous) in zip(self, " " + self) {
            if character.isUppercase, !previous.isUppercase { words.append("") }
            if character.isLetter {
                words[words.count - 1] += character.lowercased()
            } else {
                words.append("")
            }
        }
        return words
    }

    /// Whether it is a key beside which the schema's version is kept.
    fileprivate func namesSchemaVersion(in table: String) -> Bool {
        let key = lowercased().filter { $0.isLetter }
        return ["schemaversion", "dbversion", "databaseversion", "migrationversion", "userversion"]
            .contains(key) || key == "version" && (table.speaksOfVersions || table.mayRecord)
    }
}

extension TableColumn {
    /// Whether it may have versions or names of migrations.
    fileprivate var mayCount: Bool {
        name.lowercased().contains("version")
            || ["migration", "name", "filename", "script"].contains(name.lowercased())
            || definition.hasPrefix("value int") || definition.hasPrefix("number int")
    }

    /// Whether it may have the keys of a table of keys and values.
    fileprivate var isKey: Bool {
        ["key", "name", "k", "setting", "property", "option"].contains(name.lowercased())
    }

    /// Whether it may have the values of such a table.
    fileprivate var isValue: Bool { ["value", "val", "v", "data"].contains(name.lowercased()) }
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
