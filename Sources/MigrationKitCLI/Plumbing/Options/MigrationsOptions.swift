import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// The options of a command that needs migrations. In a program with its own steps, there is no
/// folder and no option for one.
struct MigrationsOptions: ParsableArguments {
    static let defaultFolder = "migrations"

    /// Those that exist of the folders in which dbmate and Rails, Flyway, refinery, and others look.
    static var foldersOfOtherTools: [String] {
        ["db/migrations", "db/migrate", "src/main/resources/db/migration", "src/migrations", "sql"]
            .filter { isFolder($0) }
    }

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

    /// The given options, for a command line that uses the same migrations.
    var given: [(option: String, value: String)] {
        [("--migrations", migrations), ("--config", config)].compactMap { option, value in
            value.map { (option, $0) }
        }
    }

    /// Takes a plain argument for the folder.
    ///
    /// - Returns: Whether there can be one, and none was named.
    mutating func use(folder: String) -> Bool {
        guard Program.hasFolder, migrations == nil else { return false }
        migrations = folder
        return true
    }

    /// Loads the program's own steps, or reads the folder. Afterwards the settings file is known.
    ///
    /// - Parameter ofStranger: Whether the settings and the files may be those of a change that is
    ///   checked. Nothing outside of the repository is read then that the user hasn't named.
    func load(in context: CommandContext, ofStranger: Bool = false) throws -> LoadedMigrations {
        context.settingsSource.use(config)
        if case .runner(let runner) = context.host.migrations {
            return LoadedMigrations(runner: runner)
        }
        let path = try path(in: context)
        if ofStranger, migrations == nil { try context.checkPlace(ofFoundMigrations: path) }
        let names = try context.namePattern
        let folder =
            try ofStranger
            ? MigrationFolder(ofStranger: path, names: names)
            : MigrationFolder(path: path, names: names)
        // The folder has already sorted the steps by number.
        return LoadedMigrations(
            runner: try GRDBMigrationRunner(
                steps: folder.steps,
                enforceLexicographicOrder: false,
                appVersion: context.appVersion
            ),
            folder: folder
        )
    }

    /// The folder that is named by the option, the environment or the settings file. A program with
    /// its own steps has none.
    func path(in context: CommandContext) throws -> String {
        context.settingsSource.use(config)
        return try context.value(\.migrations, of: self) ?? context.defaultMigrations()
    }
}

extension MigrationsOptions: CustomReflectable {
    /// ArgumentParser declares the options that a mirror shows.
    var customMirror: Mirror {
        let folder = Program.hasFolder ? [("_migrations", _migrations as Any)] : []
        return Mirror(self, children: folder + [("_config", _config as Any)])
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
