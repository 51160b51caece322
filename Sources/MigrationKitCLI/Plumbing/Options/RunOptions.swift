import ArgumentParser
import MigrationKitGRDB

/// The options of every command that changes the migrations of a database.
struct RunOptions: ParsableArguments {
    @Flag(help: "Run everything in one transaction.")
    var allOrNothing = false

    @OptionGroup var waiting: LockTimeoutOptions

    /// How long to wait, in seconds, by the option or the settings file.
    func lockTimeout(in context: CommandContext) throws -> Double {
        try waiting.lockTimeout(in: context)
    }

    /// The options for the runner.
    func options(in context: CommandContext) throws -> MigrationOptions {
        try MigrationOptions(
            transaction: allOrNothing ? .allOrNothing : .perStep,
            lockTimeout: lockTimeout(in: context)
        )
    }
}
