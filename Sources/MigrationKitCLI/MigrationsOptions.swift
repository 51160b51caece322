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

    /// Takes the steps of the host, or reads the folder.
    func load(from host: MigrationCLIHost, context: CommandContext) throws -> LoadedMigrations
}

/// The steps, ready to run.
struct LoadedMigrations {
    let runner: GRDBMigrationRunner
    /// What is worth knowing about them.
    var notes: [MigrationNote] = []
}

/// The steps are those of the host.
struct HostMigrations: MigrationsOptions {
    static var programName: String {
        URL(fileURLWithPath: CommandLine.arguments.first ?? "migrationkit").lastPathComponent
    }
    static let abstract = "Brings this program's database to the version that it needs."

    func load(from host: MigrationCLIHost, context: CommandContext) throws -> LoadedMigrations {
        guard case .runner(let runner) = host.migrations else {
            return try FolderMigrations().load(from: host, context: context)
        }
        return LoadedMigrations(runner: runner)
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
        ),
        completion: .directory
    )
    var migrations: String?

    func load(from host: MigrationCLIHost, context: CommandContext) throws -> LoadedMigrations {
        let path = migrations ?? context.environment["MIGRATIONKIT_MIGRATIONS"] ?? "migrations"
        let folder = try MigrationFolder(path: path)
        // The folder has put the steps in the order of their numbers.
        return LoadedMigrations(
            runner: try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false),
            notes: folder.notes
        )
    }
}
