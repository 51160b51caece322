import ArgumentParser

/// The commands for keys in the Secret Service.
struct KeyCommand<Migrations: MigrationsOptions>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "key",
            abstract: "Create, store, list, check and rotate the keys of databases.",
            usage: "\(Migrations.programName) key <subcommand> [<options>]",
            discussion: """
                Keys live in the desktop's secret store, each under a service and an account. If \
                you lose a key, you lose the database. Keep a copy in a safe place ('key show \
                --reveal' prints it).
                """,
            subcommands: [
                KeyGenerateCommand<Migrations>.self,
                KeySetCommand<Migrations>.self,
                KeyShowCommand<Migrations>.self,
                KeyDeleteCommand<Migrations>.self,
                KeyListCommand<Migrations>.self,
                KeyCheckCommand<Migrations>.self,
                KeyRotateCommand<Migrations>.self,
                KeyDeriveCommand<Migrations>.self,
            ]
        )
    }
}
