import ArgumentParser

/// How long a command waits that copies a database's file.
struct LockTimeoutOptions: ParsableArguments {
    @Option(
        name: .customLong("lock-timeout"),
        // So that a negative number is told as that.
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to wait for others who are in the way; default: 30.",
            valueName: "seconds"
        )
    )
    var givenLockTimeout: Double?

    func validate() throws {
        if let givenLockTimeout, !(givenLockTimeout >= 0) {
            throw ValidationError("The lock timeout is negative: \(givenLockTimeout.formatted()).")
        }
    }

    /// How long to wait, in seconds, by the option or the settings file.
    func lockTimeout(in context: CommandContext) throws -> Double {
        try givenLockTimeout ?? context.settings()?.seconds(.lockTimeout)
            ?? RunOptions.defaultLockTimeout
    }
}
