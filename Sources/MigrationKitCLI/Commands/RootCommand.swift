import ArgumentParser

/// All commands.
struct RootCommand<Migrations: MigrationsOptions>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Migrations.programName,
            abstract: Migrations.abstract,
            discussion: """
                The key comes from the desktop's secret store (--keychain-service), a file \
                (--password-file), a descriptor (--password-fd), a command (--password-command); \
                without one of these from a credential of systemd's, the environment, the \
                settings (migrationkit.toml), or a question on the terminal.

                Exit codes: 0 done, 1 a migration failed and was undone, 2 verification failed, \
                64 wrong usage, 65 unusable migrations, 66 no such file, 69 no secret store or no \
                such key in it, 73 output can't be created, 74 input/output error, 75 database \
                busy, 77 key or permission refused, 130 interrupted.
                """,
            version: MigrationCLI.version,
            subcommands: [
                MigrateCommand<Migrations>.self,
                PlanCommand<Migrations>.self,
                StatusCommand<Migrations>.self,
                HistoryCommand<Migrations>.self,
                RollbackCommand<Migrations>.self,
                RedoCommand<Migrations>.self,
                VerifyCommand<Migrations>.self,
                BaselineCommand<Migrations>.self,
                RepairCommand<Migrations>.self,
                SchemaDumpCommand<Migrations>.self,
                KeyCommand<Migrations>.self,
            ] + Migrations.ownCommands
        )
    }
}
