import ArgumentParser
import MigrationKitGRDB

/// The options of every command that changes the migrations of a database.
struct RunOptions: ParsableArguments {
    @Flag(help: "One transaction for the whole run: all of it, or none.")
    var allOrNothing = false

    @Option(
        help: ArgumentHelp(
            "How long to wait for another process that is migrating the database.",
            valueName: "seconds"
        )
    )
    var lockTimeout = 30.0

    func validate() throws {
        guard lockTimeout >= 0 else {
            throw ValidationError("The lock timeout is negative: \(lockTimeout.formatted()).")
        }
    }

    var options: MigrationOptions {
        MigrationOptions(
            transaction: allOrNothing ? .allOrNothing : .perStep,
            lockTimeout: lockTimeout
        )
    }
}
