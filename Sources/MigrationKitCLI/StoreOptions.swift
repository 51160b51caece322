import ArgumentParser
import GRDB
import MigrationKit
import MigrationKitGRDB

/// The options of every command that works on a database with migrations.
struct StoreOptions<Migrations: MigrationsOptions>: ParsableArguments {
    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: DatabaseOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    /// Reads the migrations, then opens the database.
    ///
    /// - Parameters:
    ///   - createsFile: Whether a database that doesn't exist is created.
    ///   - check: Refuses, before anything is opened, what the migrations don't allow.
    func open(
        in context: CommandContext,
        createsFile: Bool = false,
        check: (GRDBMigrationRunner) throws -> Void = { _ in }
    ) throws -> OpenStore {
        let runner = try migrations.runner(of: context.host, context: context)
        try check(runner)
        let (writer, path) = try context.open(database, createsFile: createsFile)
        return OpenStore(runner: runner, writer: writer, path: path)
    }
}

/// An open database with its migrations.
struct OpenStore {
    var runner: GRDBMigrationRunner
    let writer: any DatabaseWriter
    let path: String?
}
