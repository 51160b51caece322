import ArgumentParser
import MigrationKitGRDB

/// The options of every command that changes the migrations of a database.
struct RunOptions: ParsableArguments {
    @Flag(help: "One transaction for the whole run: all of it, or none.")
    var allOrNothing = false

    @Option(
        name: .customLong("lock-timeout"),
        // So that a negative number is told as that.
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to wait for another process that is migrating the database; default: 30.",
            valueName: "seconds"
        )
    )
    var givenLockTimeout: Double?

    func validate() throws {
        // A day is as good as for ever, and a number that can still be counted with.
        guard givenLockTimeout.map({ $0 >= 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--lock-timeout' must be at least 0 and at most 86400 seconds."
            )
        }
    }

    static let defaultLockTimeout = 30.0

    /// How long to wait, in seconds, by the option or the settings file.
    func lockTimeout(in context: CommandContext) throws -> Double {
        try givenLockTimeout ?? context.settings()?.seconds(.lockTimeout) ?? Self.defaultLockTimeout
    }

    /// What the runner is told.
    func options(in context: CommandContext) throws -> MigrationOptions {
        try MigrationOptions(
            transaction: allOrNothing ? .allOrNothing : .perStep,
            lockTimeout: lockTimeout(in: context)
        )
    }
}
