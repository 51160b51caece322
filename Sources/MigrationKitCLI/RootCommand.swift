import ArgumentParser
import MigrationKitCommon

/// All commands.
struct RootCommand<Migrations: MigrationsOptions>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Migrations.programName,
            abstract: Migrations.abstract,
            discussion: """
                The key comes from an option: --keychain-service (the desktop's secret store), \
                --password-file, --password-fd or --password-command. Without one, it comes from a \
                systemd credential, the environment, the settings file (migrationkit.toml) or a \
                question on the terminal.

                \(ErrorCode.ExitStatus.summary)
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
                InspectCommand<Migrations>.self,
                BaselineCommand<Migrations>.self,
                RepairCommand<Migrations>.self,
                SchemaDumpCommand<Migrations>.self,
                SchemaLoadCommand<Migrations>.self,
                EncryptCommand<Migrations>.self,
                DecryptCommand<Migrations>.self,
                RekeyCommand<Migrations>.self,
                UpgradeCommand<Migrations>.self,
                BackupCommand<Migrations>.self,
                RestoreCommand<Migrations>.self,
                SalvageCommand<Migrations>.self,
                KeyCommand<Migrations>.self,
                CompletionsCommand<Migrations>.self,
                ManualCommand<Migrations>.self,
            ] + (Migrations.areFiles ? [CreateCommand.self] : [])
        )
    }
}
