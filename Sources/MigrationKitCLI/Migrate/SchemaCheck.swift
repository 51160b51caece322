import ArgumentParser
import Foundation
import GRDB
import MigrationKitSQL
import MigrationKitSchema

extension DriftOptions {
    /// How a command compares the schema of a database with that of its applied migrations.
    ///
    /// - Parameters:
    ///   - loaded: The migrations.
    ///   - names: The tables that the command line says to leave out.
    init(
        _ loaded: LoadedMigrations,
        ignoring names: [String],
        in context: CommandContext
    ) throws {
        self.init(ignoring: try context.ignoredTables(names))
        let folder = loaded.folder
        // What an app or another tool counts in is no drift: no migration makes it, and dropping it
        // would break that program.
        ignoredIn = { db in
            try MigrationTool.recordTables(in: db)
                + (folder?.counters(in: db).map(\.table) ?? [])
        }
        // The configuration of a program's own database has the functions that its steps use.
        if loaded.folder != nil { configuration = try context.configurationOfSteps }
    }

    /// For many stores: the migrations run once for each set of them that is applied in a store.
    init(
        sharedBy loaded: LoadedMigrations,
        ignoring names: [String],
        in context: CommandContext
    ) throws {
        try self.init(loaded, ignoring: names, in: context)
        guard let configuration else { return }
        let schemas = SharedSchemas(loaded.runner, configuration)
        shared = { try schemas.database(applying: $0) }
    }
}

extension ArgumentHelp {
    /// The help of `--ignore-table`.
    static var ignoredTable: ArgumentHelp {
        ArgumentHelp(
            """
            A table or view that no migration makes, left out of the check 'schema'; may be given \
            several times; '*' at the end stands for any characters.
            """,
            valueName: "name"
        )
    }
}
