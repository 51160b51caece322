import ArgumentParser
import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher

struct TablesCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "tables",
            _superCommandName: Program.name,
            abstract: "List the tables and views, with their rows.",
            usage: "\(Program.name) tables [<database>] [--quick] [<options>]",
            discussion: """
                Changes nothing. A view is counted by running it, which may take long: --quick \
                counts no rows.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Count no rows.")
    var quick = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var config: String? { settings.config }

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let (reader, path) = try context.open(
            database,
            for: .query,
            isPlaintext: encryption.noEncryption
        )
        let tables = try reader.read { try ListedTable.all(in: $0, countsRows: !quick) }
        if json { return try context.printJSON(fields: ["database": path, "tables": tables]) }
        guard !tables.isEmpty else { return context.output("The database has no tables.") }
        let rows = tables.map { table in
            [
                table.name, table.kind, table.rows.map(String.init) ?? "",
                String(table.columns), String(table.indexes),
            ]
        }
        context.output(
            MigrationKitCLI.table(["TABLE", "KIND", "ROWS", "COLUMNS", "INDEXES"], rows)
        )
        for table in tables {
            guard let problem = table.problem else { continue }
            context.note("\(table.name) can't be used: \(problem)")
        }
    }
}

/// A table or a view of `tables`.
private struct ListedTable: Encodable {
    let name: String
    /// `table`, `view`, `virtual`, or `shadow`: where a virtual table keeps its content.
    let kind: String
    private(set) var columns: Int
    let indexes: Int
    let strict: Bool
    let withoutRowid: Bool
    /// `nil` if they weren't or can't be counted.
    private(set) var rows: Int?
    /// Why a view can't be used.
    private(set) var problem: String?

    /// All of the database, by name, except SQLite's own.
    static func all(in db: Database, countsRows: Bool) throws -> [ListedTable] {
        // <https://www.sqlite.org/pragma.html#pragma_table_list>
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT list.name, list.type, list.ncol, list.strict, list.wr,
                    (SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = list.name)
                FROM pragma_table_list AS list
                WHERE list.schema = 'main' AND list.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                ORDER BY list.name
                """
        )
        return try rows.map { row in
            var table = ListedTable(
                name: row[0],
                kind: row[1],
                columns: row[2],
                indexes: row[5],
                strict: row[3],
                withoutRowid: row[4]
            )
            try table.count(in: db, countsRows: countsRows)
            return table
        }
    }

    private mutating func count(in db: Database, countsRows: Bool) throws {
        do {
            // The list knows the columns of a view only after SQLite has compiled it.
            if kind == "view" {
                columns =
                    try Int.fetchOne(
                        db,
                        sql: "SELECT count(*) FROM pragma_table_info(?, 'main')",
                        arguments: [name]
                    ) ?? 0
            }
            guard countsRows else { return }
            rows = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM main.\(name.quotedName)"
            )
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // A view of something that is gone, or of a function that only the app has.
            problem = error.message ?? "SQLite \(error.resultCode.rawValue)"
        }
    }
}
