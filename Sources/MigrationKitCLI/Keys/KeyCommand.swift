import ArgumentParser

/// The commands for keys in the Secret Service.
struct KeyCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "key",
            abstract: "Create, store, find, check, rotate and export the keys of databases.",
            usage: "\(Program.name) key <subcommand> [<options>]",
            discussion: """
                Keys live in the desktop's secret store, each under a service and an account. If \
                you lose a key, you lose the database. Keep a recovery copy in a safe place ('key \
                export').
                """,
            subcommands: [
                KeyGenerateCommand.self,
                KeySetCommand.self,
                KeyShowCommand.self,
                KeyDeleteCommand.self,
                KeyListCommand.self,
                KeyCheckCommand.self,
                KeyFindCommand.self,
                KeyDoctorCommand.self,
                KeyRotateCommand.self,
                KeyExportCommand.self,
                KeyImportCommand.self,
                KeyDeriveCommand.self,
            ]
        )
    }
}
