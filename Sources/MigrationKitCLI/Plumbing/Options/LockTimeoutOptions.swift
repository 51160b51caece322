import ArgumentParser
import MigrationKitGRDB

/// How long a command waits for others who use the database.
struct LockTimeoutOptions: ParsableArguments {
    @Option(
        name: .customLong("lock-timeout"),
        // So that a negative number is parsed as the value.
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to wait for other processes that use the database; default: 30.",
            valueName: "seconds"
        )
    )
    var givenLockTimeout: Double?

    static let defaultLockTimeout = 30.0

    func validate() throws {
        // Capped at 24 h to avoid overflow.
        guard givenLockTimeout.map({ $0 >= 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--lock-timeout' must be at least 0 and at most 86400 seconds."
            )
        }
    }

    /// How long to wait, in seconds, by the option or the settings file.
    func lockTimeout(in context: CommandContext) throws -> Double {
        try context.value(\.givenLockTimeout, of: self) ?? Self.defaultLockTimeout
    }
}

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
