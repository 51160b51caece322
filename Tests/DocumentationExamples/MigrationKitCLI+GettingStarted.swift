import MigrationKitCLI
import MigrationKitGRDB

// The code of Sources/MigrationKitCLI/MigrationKitCLI.docc/GettingStarted.md.

func runMigrationCommands(with runner: GRDBMigrationRunner) -> Never {
    MigrationCLI.main(
        host: MigrationCLIHost(runner: runner, openWriter: MigrationCLIHost.openDatabase)
    )
}

func runDatabaseCommand(_ arguments: [String], with runner: GRDBMigrationRunner) -> Never {
    MigrationCLI.main(
        arguments: arguments,
        host: MigrationCLIHost(runner: runner, openWriter: MigrationCLIHost.openDatabase)
    )
}

func status(of path: String, runner: GRDBMigrationRunner) throws {
    try MigrationCLI.run(
        arguments: ["status", "--db-path", path, "--no-encryption"],
        host: MigrationCLIHost(runner: runner, openWriter: MigrationCLIHost.openDatabase),
        output: { print($0) }
    )
}
