import ArgumentParser

/// The commands for keys in the Secret Service.
struct KeyCommand<Migrations: MigrationsOptions>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "key",
            abstract: "Create, store, find, check, rotate and export the keys of databases.",
            usage: "\(Migrations.programName) key <subcommand> [<options>]",
            discussion: """
                Keys live in the desktop's secret store, each under a service and an account. If \
                you lose a key, you lose the database. Keep a recovery copy in a safe place ('key \
                export').
                """,
            subcommands: [
                KeyGenerateCommand<Migrations>.self,
                KeySetCommand<Migrations>.self,
                KeyShowCommand<Migrations>.self,
                KeyDeleteCommand<Migrations>.self,
                KeyListCommand<Migrations>.self,
                KeyCheckCommand<Migrations>.self,
                KeyFindCommand<Migrations>.self,
                KeyDoctorCommand<Migrations>.self,
                KeyRotateCommand<Migrations>.self,
                KeyExportCommand<Migrations>.self,
                KeyImportCommand<Migrations>.self,
                KeyDeriveCommand<Migrations>.self,
            ]
        )
    }
}
