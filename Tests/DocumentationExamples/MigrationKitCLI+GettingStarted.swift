import MigrationKitCLI
import MigrationKitGRDB
import MigrationKitSQLCipher

// The code of Sources/MigrationKitCLI/MigrationKitCLI.docc/GettingStarted.md.

func runCommands(on store: EncryptedStore, with runner: GRDBMigrationRunner) -> Never {
    MigrationCLI.main(
        host: MigrationCLIHost(runner: runner, store: store, commandName: "notes db")
    )
}

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
