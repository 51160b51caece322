import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// The source of a command's steps: a folder, with options, or a host's steps, without options.
protocol MigrationsOptions: ParsableArguments {
    /// The program's name in help texts.
    static var programName: String { get }

    /// What the program is, in one line.
    static var abstract: String { get }

    /// Whether they are files in a folder, to which new ones can be added.
    static var areFiles: Bool { get }

    /// The settings file that is named.
    var config: String? { get }

    /// The given options, for a command line that uses the same migrations.
    var given: [(option: String, value: String)] { get }

    /// Takes a plain argument for the folder.
    ///
    /// - Returns: Whether there can be one, and none was named.
    mutating func use(folder: String) -> Bool

    /// Loads the host's steps, or reads the folder. Afterwards the settings file is known.
    ///
    /// - Parameter ofStranger: Whether the settings and the files may be those of a change that is
    ///   checked. Nothing outside of the repository is read then that the user hasn't named.
    func load(
        from host: MigrationCLIHost,
        context: CommandContext,
        ofStranger: Bool
    ) throws -> LoadedMigrations
}

extension MigrationsOptions {
    func load(from host: MigrationCLIHost, context: CommandContext) throws -> LoadedMigrations {
        try load(from: host, context: context, ofStranger: false)
    }
}

/// The steps, ready to run.
struct LoadedMigrations {
    let runner: GRDBMigrationRunner
    /// Their folder, if there is one.
    var folder: MigrationFolder?

    /// The runner of the steps that can run.
    func runnerWithoutDrafts() throws -> GRDBMigrationRunner {
        guard let folder, !folder.drafts.isEmpty else { return runner }
        let drafts = Set(folder.drafts)
        return try GRDBMigrationRunner(
            steps: folder.steps.filter { !drafts.contains($0.identifier) },
            enforceLexicographicOrder: false
        )
    }
}

/// The steps are those of the host.
struct HostMigrations: MigrationsOptions {
    /// The name that the host gives itself, while its command runs.
    @TaskLocal static var commandName: String?

    static var programName: String {
        if let commandName { return commandName }
        return URL(fileURLWithPath: CommandLine.arguments.first ?? "migrationkit").lastPathComponent
    }
    static let abstract = "Migrates this program's database."
    static let areFiles = false

    @Option(help: .settingsFile)
    var config: String?

    var given: [(option: String, value: String)] { config.map { [("--config", $0)] } ?? [] }

    mutating func use(folder: String) -> Bool { false }

    func load(
        from host: MigrationCLIHost,
        context: CommandContext,
        ofStranger: Bool
    ) throws -> LoadedMigrations {
        guard case .runner(let runner) = host.migrations else {
            return try FolderMigrations()
                .load(from: host, context: context, ofStranger: ofStranger)
        }
        context.settingsSource.use(config)
        return LoadedMigrations(runner: runner)
    }
}

/// The steps are SQL files in a folder.
struct FolderMigrations: MigrationsOptions {
    static let programName = "migrationkit-cli"
    static let defaultFolder = "migrations"

    /// Those that exist of the folders in which dbmate and Rails, Flyway, refinery, and others look.
    static var foldersOfOtherTools: [String] {
        ["db/migrations", "db/migrate", "src/main/resources/db/migration", "src/migrations", "sql"]
            .filter { isFolder($0) }
    }
    static let abstract =
        "Migrates encrypted SQLite databases. A database is never left half migrated."
    static let areFiles = true

    @Option(
        help: ArgumentHelp(
            "The folder of SQL files (or MIGRATIONKIT_MIGRATIONS; default: migrations).",
            valueName: "folder"
        ),
        completion: .directory
    )
    var migrations: String?

    @Option(help: .settingsFile)
    var config: String?

    func load(
        from host: MigrationCLIHost,
        context: CommandContext,
        ofStranger: Bool
    ) throws -> LoadedMigrations {
        let path = try path(in: context)
        if ofStranger, migrations == nil { try context.checkPlace(ofFoundMigrations: path) }
        let names = try context.namePattern
        let folder =
            try ofStranger
            ? MigrationFolder(ofStranger: path, names: names)
            : MigrationFolder(path: path, names: names)
        // The folder has already sorted the steps by number.
        return LoadedMigrations(
            runner: try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false),
            folder: folder
        )
    }

    mutating func use(folder: String) -> Bool {
        guard migrations == nil else { return false }
        migrations = folder
        return true
    }

    var given: [(option: String, value: String)] {
        [("--migrations", migrations), ("--config", config)].compactMap { option, value in
            value.map { (option, $0) }
        }
    }

    /// The folder that is named by the option, the environment or the settings file.
    func path(in context: CommandContext) throws -> String {
        context.settingsSource.use(config)
        return try context.value(\.migrations, of: self) ?? context.defaultMigrations()
    }
}
