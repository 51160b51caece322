import ArgumentParser
import Foundation
import MigrationKitGRDB
import MigrationKitSQL

/// Where the commands take the steps from: with options of its own for a folder, without for the
/// steps of a host.
protocol MigrationsOptions: ParsableArguments {
    /// The name of the program in help texts.
    static var programName: String { get }

    /// What the program is, in one line.
    static var abstract: String { get }

    func runner(of host: MigrationCLIHost, context: CommandContext) throws -> GRDBMigrationRunner
}

/// The steps are those of the host.
struct HostMigrations: MigrationsOptions {
    static var programName: String {
        URL(fileURLWithPath: CommandLine.arguments.first ?? "migrationkit").lastPathComponent
    }
    static let abstract = "Brings this program's database to the version that it needs."

    func runner(of host: MigrationCLIHost, context: CommandContext) throws -> GRDBMigrationRunner {
        guard case .runner(let runner) = host.migrations else {
            return try FolderMigrations().runner(of: host, context: context)
        }
        return runner
    }
}

/// The steps are SQL files in a folder.
struct FolderMigrations: MigrationsOptions {
    static let programName = "migrationkit-cli"
    static let abstract = "Migrates encrypted SQLite databases, and never leaves one in between."

    @Option(
        help: ArgumentHelp(
            "The folder of SQL files (or MIGRATIONKIT_MIGRATIONS; default: migrations).",
            valueName: "folder"
        )
    )
    var migrations: String?

    func runner(of host: MigrationCLIHost, context: CommandContext) throws -> GRDBMigrationRunner {
        let path = migrations ?? context.environment["MIGRATIONKIT_MIGRATIONS"] ?? "migrations"
        return try GRDBMigrationRunner(steps: MigrationFolder(path: path).steps)
    }
}
