import ArgumentParser
import Foundation
import MigrationKitSQL
import MigrationKitSQLCipher

struct InitCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "init",
            _superCommandName: Program.name,
            abstract: "Start a project: its settings, and a folder for migrations.",
            usage: """
                \(Program.name) init [--db-path <path>] [<options>]
                \(Program.name) init --from-user-version --db-path <path> [<options>]
                """,
            discussion: """
                Writes \(SettingsFile.defaultName) and the folder of migrations, and adds the \
                database to .gitignore. What exists is left as it is. Then it says how to make the \
                key, write a migration and create the database. No key is made here, and no \
                database.

                Without options, the database and its key are named after this folder. A folder of \
                another tool that has migrations, such as db/migrations, is used: on a terminal, it \
                asks.

                With --from-user-version, the database is there, and code has migrated it so far that \
                counts its version in PRAGMA user_version. Its schema becomes the first migration, \
                with that number, and is recorded as applied. If the folder has migrations, those up \
                to that number are recorded, if they give the schema that the database has.
                """
        )
    }

    @Option(
        help: ArgumentHelp(
            "The database; default: this folder's name and '.db'.",
            valueName: "path"
        ),
        completion: .file()
    )
    var dbPath: String?

    @Option(
        help: ArgumentHelp("The folder of SQL files; default: migrations.", valueName: "folder"),
        completion: .directory
    )
    var migrations: String?

    @Option(
        help: ArgumentHelp(
            "The key's service in the desktop's secret store; default: this folder's name.",
            valueName: "service"
        ),
        completion: .keychainServices
    )
    var keychainService: String?

    @Option(
        help: ArgumentHelp("The account under that service; default: main.", valueName: "account"),
        completion: .keychainAccounts
    )
    var keychainAccount: String?

    @Option(
        help: ArgumentHelp(
            "The file with the key, in place of the secret store.",
            valueName: "path"
        ),
        completion: .file()
    )
    var passwordFile: String?

    @Flag(help: "Take over a database whose version code counts in PRAGMA user_version.")
    var fromUserVersion = false

    @Flag(help: "With --from-user-version: the key is 64 hexadecimal digits, and no passphrase.")
    var rawKey = false

    @Flag(help: "With --from-user-version: the database is plaintext.")
    var noEncryption = false

    @Flag(name: [.customShort("n"), .long], help: "Only say what would be written.")
    var dryRun = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    var isReport: Bool { dryRun }

    var needsNoDatabase: Bool { !fromUserVersion }

    private var given: [(key: SettingsKey, value: String?)] {
        [
            (.dbPath, dbPath), (.migrations, migrations), (.keychainService, keychainService),
            (.keychainAccount, keychainAccount), (.passwordFile, passwordFile),
        ]
    }

    func validate() throws {
        for case (let key, let value?) in given {
            guard !value.isEmpty, !value.unicodeScalars.contains(where: \.isControl) else {
                throw ValidationError("The value of \(key.option) is empty or no plain text.")
            }
        }
        guard passwordFile == nil || keychainService == nil && keychainAccount == nil else {
            throw ValidationError(
                "The key is in the secret store or in a file. Leave out --password-file or the others."
            )
        }
        guard fromUserVersion || !rawKey && !noEncryption else {
            throw ValidationError("--raw-key and --no-encryption need --from-user-version.")
        }
        guard passwordFile != "-" else {
            throw ValidationError(
                "Settings can't name standard input. Give --password-file a file."
            )
        }
    }

    func run(in context: CommandContext) throws {
        let search = SettingsSearch(
            home: context.environment.nonEmpty("HOME"),
            keys: context.settingsKeys,
            acceptsOthers: true
        )
        let found = try search.file(in: "")
        if let found { try check(found) }
        var values = found.map(self.values) ?? defaults
        if found == nil, let folder = folderOfOtherTool(in: context) {
            values[.migrations] = folder
        }
        if found != nil, migrations == nil, let path = values[.migrations] {
            try context.checkPlace(ofFound: "migrations", path)
        }
        let files = try ProjectFiles(values, hasSettings: found != nil)
        let next = commands(values, files, besides: found, in: context)
        let project = try fromUserVersion ? userVersionProject(values, files, in: context) : nil
        // The settings come last: a run that was refused can be repeated with other options.
        let adopted = try dryRun ? nil : project?.adopt(in: context)
        if !dryRun { try files.write() }
        if json {
            return try context.printJSON(
                fields: [
                    "dryRun": dryRun, "created": files.created + (adopted?.files ?? []),
                    "changed": files.changed, "existing": files.existing,
                    "recorded": adopted?.recorded, "nextCommands": next,
                ]
            )
        }
        context.output(files.text(isDone: !dryRun))
        if let adopted {
            adopted.files.forEach { context.output("Created \($0.printable)") }
            context.output(adopted.recorded.baselineSummary)
        } else if let project {
            context.output(project.preview)
        }
        context.output("Next:\n" + next.map { "  \($0)" }.joined(separator: "\n"))
        if project == nil, hasDatabase(values), let path = values[.dbPath] {
            context.note(Self.note(onDatabase: path))
        } else if files.isFolderEmpty {
            context.output("Before 'migrate', write the SQL into the file that 'create' names.")
        }
        tellNotes(in: context)
    }

    /// The options that no settings file has.
    private var form: [String] {
        (rawKey ? ["--raw-key"] : []) + (noEncryption ? ["--no-encryption"] : [])
    }

    private func userVersionProject(
        _ values: [SettingsKey: String],
        _ files: ProjectFiles,
        in context: CommandContext
    ) throws -> UserVersionProject {
        guard let path = values[.dbPath], let folder = values[.migrations] else {
            throw MigrationCLIError.noDatabasePath
        }
        // The next commands are run in this environment, too.
        for (key, value) in given where value == nil {
            guard let variable = key.variable, context.environment.nonEmpty(variable) != nil else {
                continue
            }
            throw ValidationError("\(variable) is set: give \(key.option), or unset it.")
        }
        var keys: [SettingsKey] = [.dbPath, .migrations]
        if !noEncryption { keys += [.keychainService, .keychainAccount, .passwordFile] }
        return try UserVersionProject(
            of: path,
            folder,
            options: keys.flatMap { key in values[key].map { [key.option, $0] } ?? [] } + form,
            isFolderEmpty: files.isFolderEmpty,
            in: context
        )
    }

    // MARK: - Values

    private var defaults: [SettingsKey: String] {
        let folder = (FileManager.default.currentDirectoryPath as NSString).lastPathComponent
        let letters = folder.map { $0.isLetter || $0.isNumber || "._-".contains($0) ? $0 : "-" }
        let word = String(letters.drop { $0 == "." || $0 == "-" })
        let name = word.isEmpty ? "app" : word
        var values: [SettingsKey: String] = [
            .dbPath: dbPath ?? "\(name).db",
            .migrations: migrations ?? MigrationsOptions.defaultFolder,
        ]
        if let passwordFile {
            values[.passwordFile] = passwordFile
        } else {
            values[.keychainService] = keychainService ?? name
            values[.keychainAccount] = keychainAccount ?? "main"
        }
        return values
    }

    /// The folder in which another tool has migrations, if there is none of the usual name.
    private func folderOfOtherTool(in context: CommandContext) -> String? {
        let isNamed =
            migrations != nil || context.environment.nonEmpty("MIGRATIONKIT_MIGRATIONS") != nil
        guard !isNamed, !isFolder(MigrationsOptions.defaultFolder) else { return nil }
        let folder = MigrationsOptions.foldersOfOtherTools.first { path in
            guard (try? context.checkPlace(ofFound: "migrations", path)) != nil,
                let folder = try? MigrationFolder(path: path)
            else { return false }
            return !folder.steps.isEmpty
        }
        guard let folder else { return nil }
        if context.isWatched,
            let isWanted = context.ask("There are migrations in \(folder). Use that folder?")
        {
            return isWanted ? folder : nil
        }
        context.note("there are migrations in \(folder): --migrations names another folder")
        return folder
    }

    /// What the settings that exist say, and the defaults for what they leave to the command line.
    private func values(_ settings: SettingsFile) -> [SettingsKey: String] {
        var values = defaults
        let hasFile = settings.entries[.passwordFile] != nil
        for key in hasFile ? [SettingsKey.keychainService, .keychainAccount] : [.passwordFile] {
            values[key] = nil
        }
        for (key, _) in given {
            if let value: String = settings.value(key) { values[key] = value }
        }
        return values
    }

    /// Throws if an option says something else than the settings that exist.
    private func check(_ settings: SettingsFile) throws {
        for case (let key, let value?) in given {
            guard settings.value(key) != value else { continue }
            throw CommandError(
                ErrorCode("settingsExist", .usage),
                "\(settings.path) exists already, and does not have this \(key.option)",
                "Leave out \(key.option), or edit the file. Nothing was written."
            )
        }
    }

    // MARK: - What Is Said

    private func commands(
        _ values: [SettingsKey: String],
        _ files: ProjectFiles,
        besides settings: SettingsFile?,
        in context: CommandContext
    ) -> [String] {
        /// The options for what neither the settings nor the environment say.
        func options(_ keys: SettingsKey...) -> String {
            keys.map { key in
                let isSaid =
                    settings == nil || settings?.entries[key] != nil
                    || key.variable.flatMap(context.environment.nonEmpty) != nil
                guard !isSaid, let value = values[key] else { return "" }
                return " \(key.option) \(value.shellWord)"
            }.joined()
        }
        let program = Program.name
        let key =
            if let path = values[.passwordFile] {
                // A passphrase of 256 random bits. An existing file is not replaced.
                "(umask 077; set -C; openssl rand -base64 32 >\(path.shellWord))"
            } else {
                "\(program) key generate" + options(.keychainService, .keychainAccount)
            }
        let create = "\(program) create first_table"
        let opening = options(.dbPath, .keychainService, .keychainAccount, .passwordFile)
        // No new key opens a database that is there.
        guard !fromUserVersion else {
            let create = files.isFolderEmpty ? ["\(program) create add_tags"] : []
            let words = ["migrate", "--adopt", MigrationTool.userVersion.rawValue] + form
            return create + ["\(program) \(words.joined(separator: " "))" + opening]
        }
        guard !hasDatabase(values) else { return ["\(program) status" + opening] }
        let migrate = "\(program) migrate" + opening
        return [key] + (files.isFolderEmpty ? [create] : []) + [migrate]
    }

    private static func note(onDatabase path: String) -> String {
        guard (try? EncryptedDatabase.inspect(path, key: nil).kind) == .plaintext else {
            return "\(path) exists: if it is encrypted, only its own key opens it"
        }
        return """
            \(path) is not encrypted: 'encrypt' encrypts it, and with --no-encryption it is used as \
            it is
            """
    }

    private func hasDatabase(_ values: [SettingsKey: String]) -> Bool {
        values[.dbPath].map(EncryptedDatabase.hasContent) ?? false
    }

    private func tellNotes(in context: CommandContext) {
        if context.environment.nonEmpty("MIGRATIONKIT_CONFIG") != nil {
            context.note(
                "MIGRATIONKIT_CONFIG names another settings file, which is read in its place"
            )
        }
        for (key, _) in given {
            guard let variable = key.variable, context.environment.nonEmpty(variable) != nil else {
                continue
            }
            context.note("\(variable) is set, and overrides the settings")
        }
    }
}
