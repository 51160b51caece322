import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitCommon
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

    @Option(
        help: ArgumentHelp(
            """
            The folder of SQL checks (or MIGRATIONKIT_CHECKS; default: checks, beside the migrations).
            """,
            valueName: "folder"
        ),
        completion: .directory
    )
    var checks: String?

    @Option(help: .settingsFile)
    var config: String?

    /// The given options, for a command line that uses the same migrations.
    var given: [(option: String, value: String)] {
        [("--migrations", migrations), ("--checks", checks), ("--config", config)].compactMap {
            option,
            value in
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
        if ofStranger, migrations == nil { try context.checkPlace(ofFound: "migrations", path) }
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

    /// Reads the folder of checks. A program with its own steps has none.
    ///
    /// - Parameter ofStranger: As for the migrations.
    /// - Returns: None if no folder is named, and there is none beside the migrations.
    func loadChecks(in context: CommandContext, ofStranger: Bool) throws -> [CheckQuery] {
        guard case .folder = context.host.migrations else { return [] }
        let named = try context.value(\.checks, of: self)
        let path = try companion(
            "checks",
            named: named,
            isOption: checks != nil,
            in: context,
            ofStranger: ofStranger
        )
        guard let path else { return [] }
        let found = try CheckQuery.inFolder(path, ofStranger: ofStranger)
        if named != nil, found.isEmpty { throw MigrationFolderError.noChecks(path: path) }
        return found
    }

    /// The path of a folder that belongs to the migrations.
    ///
    /// - Parameters:
    ///   - name: Its setting, which is its name beside the migrations, too.
    ///   - named: The path that the option, the environment or the settings file names.
    ///   - isOption: Whether the option does.
    ///   - ofStranger: As for the migrations.
    /// - Returns: `nil` if none is named, and there is none beside the migrations.
    func companion(
        _ name: String,
        named: String?,
        isOption: Bool,
        in context: CommandContext,
        ofStranger: Bool
    ) throws -> String? {
        let path = try named ?? self.path(in: context).besides(name)
        // A link that leads nowhere is a folder that is missing.
        guard named != nil || isThere(path) else { return nil }
        if ofStranger, named == nil, Repository.isLeft(onTheWayTo: path) {
            throw MigrationFolderError.leavesRepository(file: path)
        }
        // Beside what is named, nothing else can lead elsewhere.
        if ofStranger, !isOption, named != nil || migrations == nil {
            try context.checkPlace(ofFound: name, path)
        }
        return path
    }

    /// The folder of the migrations; `nil` for a program with its own steps.
    func folder(in context: CommandContext) throws -> String? {
        context.host.hasFolder ? try path(in: context) : nil
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
        let folder: [(String, Any)] =
            Program.hasFolder ? [("_migrations", _migrations), ("_checks", _checks)] : []
        return Mirror(self, children: folder + [("_config", _config as Any)])
    }
}

/// The option of the command that runs the tests of a folder.
struct TestsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The folder of SQL tests (or MIGRATIONKIT_TESTS; default: tests, beside the migrations).
            """,
            valueName: "folder"
        ),
        completion: .directory
    )
    var tests: String?

    /// Reads the folder of tests.
    ///
    /// - Parameter migrations: The migrations, which may be a stranger's.
    /// - Returns: None if no folder is named, and there is none beside the migrations.
    func load(beside migrations: MigrationsOptions, in context: CommandContext) throws -> [TestFile]
    {
        let named = try context.value(\.tests, of: self)
        let path = try migrations.companion(
            "tests",
            named: named,
            isOption: tests != nil,
            in: context,
            ofStranger: true
        )
        guard let path else { return [] }
        let found = try TestFile.inFolder(path, ofStranger: true)
        if named != nil, found.isEmpty { throw CommandError.noTests(path: path) }
        return found
    }
}

extension CommandError {
    fileprivate static func noTests(path: String) -> CommandError {
        CommandError(
            ErrorCode("emptyFolder", .noInput),
            "there are no tests in '\(path)'",
            "Its .sql files are tests. Put one there, or name another folder."
        )
    }
}

/// Whether there is anything at a path, even a link that leads nowhere.
private func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
}

extension String {
    /// The path of another name in the folder in which a path is.
    fileprivate func besides(_ name: String) -> String {
        var path = self[...]
        while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        // Only the parts of such a path are known.
        guard let last = path.split(separator: "/").last, ![".", ".."].contains(last) else {
            return "\(path)/../\(name)"
        }
        return path.dropLast(last.count) + name
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
