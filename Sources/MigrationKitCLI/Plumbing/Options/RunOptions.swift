import ArgumentParser
import MigrationKitGRDB

/// What the stores of a fleet are called.
struct StoreNamingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder from which each database's path is its name, whatever the pattern is.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var nameFrom: String?

    func validate() throws {
        try checkNotEmpty(nameFrom, "--name-from")
    }
}

// MARK: - Lock Timeout Options

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

    @Flag(help: "Go on although rows violate foreign keys already; none may be added.")
    var allowViolations = false

    @OptionGroup var waiting: LockTimeoutOptions

    /// How long to wait, in seconds, by the option or the settings file.
    func lockTimeout(in context: CommandContext) throws -> Double {
        try waiting.lockTimeout(in: context)
    }

    /// The options for the runner.
    func options(in context: CommandContext) throws -> MigrationOptions {
        var options = try MigrationOptions(
            transaction: allOrNothing ? .allOrNothing : .perStep,
            lockTimeout: lockTimeout(in: context)
        )
        options.allowsViolations = allowViolations
        // Who names a limit at the command line means it.
        options.waitsForProgress = false
        return options
    }
}

// MARK: - Range Options

/// The range of pending migrations for a forward command.
struct RangeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The last migration to apply; the beginning of its name is enough.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var to: String?

    @Option(help: ArgumentHelp("How many to apply at most.", valueName: "number"))
    var steps: Int?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            """
            Apply pending migrations that come before an applied one. With 'no', refuse them, even \
            if the settings allow them; default: refuse.
            """
        )
    )
    var allowOutOfOrder: Bool?

    func validate() throws {
        guard to == nil || steps == nil else {
            throw ValidationError("--to and --steps both set where to end. Use only one.")
        }
    }

    /// How far the run goes.
    func resolved(in runner: GRDBMigrationRunner) throws -> MigrationRange {
        if let steps, steps < 0 {
            throw MigrationKitError.stepCountMustBeNonNegative(steps)
        }
        let target = try to.map {
            try runner.identifier($0, else: MigrationKitError.unknownMigrationTarget)
        }
        return MigrationRange(upTo: target, steps: steps)
    }
}
