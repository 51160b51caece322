import ArgumentParser

/// The commands for many stores.
struct FleetCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "fleet",
            abstract: "Migrate, check, copy and rekey many databases, each with its own key.",
            usage: "\(Program.name) fleet <subcommand> [<options>]",
            discussion: """
                Works on several databases at the same time. Each has the same guarantees as with \
                the command of that name for one database. A database that is busy, damaged or has \
                no key is reported, and the others continue.
                """,
            subcommands: [
                FleetMigrateCommand.self,
                FleetRollbackCommand.self,
                FleetStatusCommand.self,
                FleetVerifyCommand.self,
                FleetBackupCommand.self,
                FleetRestoreCommand.self,
                FleetRekeyCommand.self,
                FleetReportCommand.self,
            ]
        )
    }
}
