import ArgumentParser
import MigrationKit
import MigrationKitGRDB

/// The range of pending migrations for a forward command.
struct RangeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The last migration to apply; the beginning of its name is enough.",
            valueName: "identifier"
        )
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

    /// The last migration to apply, if one is named.
    func target(in runner: GRDBMigrationRunner) throws -> String? {
        if let steps, steps < 0 {
            throw MigrationKitError.stepCountMustBeNonNegative(steps)
        }
        return try to.map {
            try runner.identifier($0, else: MigrationKitError.unknownMigrationTarget)
        }
    }
}
