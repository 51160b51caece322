import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL

/// The migrations of a folder as they are in a commit of git.
struct BaseFolder {
    let published: MigrationLint.Published

    /// The steps as they are there: databases may have them. Empty if they are unusable.
    let steps: [MigrationStep<Database>]

    /// The identifiers of the folder's migrations that the commit doesn't have, or has otherwise.
    let changed: Set<String>

    /// - Parameters:
    ///   - folder: The folder as it is on disk.
    ///   - reference: The branch, tag or commit.
    ///   - names: The names of the folder's files, if they are no known tool's.
    ///   - note: Receives a line if something can't be compared.
    /// - Throws: ``CommandError``.
    init(
        of folder: MigrationFolder,
        at reference: String,
        names: MigrationNamePattern?,
        note: (String) -> Void
    ) throws {
        let git = try GitFolder(folder.path)
        let commit = try git.commit(reference)
        guard let tip = try Former(of: git, in: commit, names) else {
            throw CommandError.noFolder(path: folder.path, inReference: reference)
        }
        if let reason = tip.unusable {
            note("nothing is compared with '\(reference)', which is unusable: \(reason)")
        }
        // What the other branch has changed since this one left it isn't this one's change.
        let common = try git.mergeBase(with: commit)
        if common == nil {
            note(
                "the histories of '\(reference)' and HEAD have no common commit here, so "
                    + "migrations that are missing aren't reported; if the clone is shallow, fetch "
                    + "more: 'git fetch --unshallow'"
            )
        }
        let fork = try common.flatMap { $0 == commit ? nil : try Former(of: git, in: $0, names) }
        let present = Set(folder.steps.map(\.identifier))
        // Without a common commit, what is missing here may as well be new there.
        let isContained = common != nil && fork == nil
        let migrations = tip.migrations.compactMap { migration in
            fork?.migrations.first { $0.identifier == migration.identifier }
                ?? (isContained || present.contains(migration.identifier) ? migration : nil)
        }
        published = MigrationLint.Published(source: reference, migrations: migrations)
        steps = tip.steps
        let scripts = tip.scripts.merging(fork?.scripts ?? [:]) { $1 }
        changed = present.filter { folder.scripts[$0] != scripts[$0] }
    }

    private struct Former {
        var steps: [MigrationStep<Database>] = []
        var scripts: [String: MigrationSQL] = [:]

        var migrations: [(identifier: String, checksum: String?)] {
            steps.map { ($0.identifier, $0.checksum) }
        }

        /// Why the files weren't usable then. They can't have been applied by this tool.
        var unusable: String?

        /// - Returns: `nil` if the commit doesn't have the folder.
        init?(of git: GitFolder, in commit: String, _ names: MigrationNamePattern?) throws {
            let files = try git.files(in: commit) {
                $0.lowercased().hasSuffix(".sql") || $0.hasSuffix("/metadata.toml")
            }
            guard let files else { return nil }
            do {
                let folder = try MigrationFolder(path: git.path, files: files, names: names)
                steps = folder.steps
                scripts = folder.scripts
            } catch MigrationFolderError.empty {
                return
            } catch let error as MigrationFolderError {
                unusable = error.localizedDescription
            }
        }
    }
}

extension MigrationsCommand {
    /// The migrations as they are in a commit of git.
    ///
    /// - Throws: ``CommandError``.
    func folder(
        at reference: String,
        of loaded: LoadedMigrations,
        in context: CommandContext
    ) throws -> BaseFolder {
        guard let folder = loaded.folder else { throw CommandError.baseWithoutFolder }
        return try BaseFolder(
            of: folder,
            at: reference,
            names: context.namePattern,
            note: { context.note($0) }
        )
    }
}

extension GRDBMigrationRunner {
    /// The identifiers of the migrations after one.
    ///
    /// - Parameter text: What was typed: its identifier, or the beginning of it.
    /// - Throws: As ``identifier(_:else:)``.
    func migrations(after text: String) throws -> Set<String> {
        let last = try identifier(text)
        return Set(migrationIdentifiers.drop { $0 != last }.dropFirst())
    }
}

extension CommandError {
    /// `--base` needs a folder of files, but the program has built-in migrations.
    fileprivate static let baseWithoutFolder = CommandError(
        ErrorCode("baseWithoutFolder", .usage),
        "--base needs a folder of migrations; this program's migrations are built in",
        "Give the last migration that was released with --since."
    )
}
