import ArgumentParser
import Foundation

/// What a command works on, as a plain argument.
protocol PlainArgument: ParsableArguments {
    var path: String? { get }
}

/// The database as a plain argument.
struct DatabaseArgument: PlainArgument {
    @Argument(
        help: ArgumentHelp("The database, in place of --db-path.", valueName: "database"),
        completion: .file()
    )
    var path: String?
}

/// The folder of migrations or the database as a plain argument, for a command that mostly needs no
/// database.
struct MigrationsArgument: PlainArgument {
    @Argument(
        help: ArgumentHelp(
            Program.hasFolder
                ? "The folder of migrations or the database, in place of its option."
                : "The database, in place of --db-path.",
            valueName: Self.name
        ),
        completion: .file()
    )
    var path: String?

    static var name: String { Program.hasFolder ? "path" : "database" }
}

/// The options of a command that name its database.
protocol DatabaseNaming: ParsableArguments {
    var file: DatabaseFileOptions { get set }
}

extension KeyedDatabaseOptions: DatabaseNaming {}

extension DatabaseFileOptions: DatabaseNaming {
    var file: DatabaseFileOptions {
        get { self }
        set { self = newValue }
    }
}

/// A command with the options that name a database.
protocol DatabaseUsing: ExtensionUsing {
    associatedtype DatabaseOptions: DatabaseNaming

    var database: DatabaseOptions { get }
}

extension DatabaseUsing {
    var extensions: ExtensionOptions { database.file.extensions }
}

/// A command whose only object is a database, which may be a plain argument.
protocol DatabaseCommand: DatabaseUsing {
    associatedtype Subject: PlainArgument

    var argument: Subject { get }
    var database: DatabaseOptions { get set }

    /// The settings file that an option names.
    var config: String? { get }

    /// Whether the command makes a database that is missing, or shows what would be made.
    static var createsDatabase: Bool { get }

    /// The option that names a migration.
    static var migrationOption: String? { get }
}

extension DatabaseCommand {
    static var createsDatabase: Bool { false }

    static var migrationOption: String? { nil }
}

extension DatabaseCommand where Self: MigrationsCommand {
    var config: String? { migrations.config }
}

extension DatabaseCommand {
    /// The same command with the plain argument in the place of `--db-path`.
    ///
    /// - Throws: A `ValidationError`; ``CommandError`` for a word that is no database's name, and for
    ///   a database that isn't made because of a plain argument.
    func withArgument(in context: CommandContext) throws -> Self {
        guard let path = argument.path else { return self }
        // A folder is no database, but may have the migrations.
        if isFolder(path), let command = (self as? any MigrationsCommand)?.using(folder: path),
            let command = command as? Self
        {
            return command
        }
        if let option = database.file.dbPath, option != path {
            throw ValidationError(
                "The database is given twice: '\(path)' and --db-path '\(option)'. Leave one out."
            )
        }
        try PlainWord(path, of: self, in: context).checkNamesDatabase()
        var command = self
        command.database.file.dbPath = path
        return command
    }
}

extension MigrationsCommand {
    /// The same command with another folder of migrations.
    ///
    /// - Returns: `nil` if one is named already, or the migrations are in none.
    fileprivate func using(folder: String) -> Self? {
        var command = self
        return command.migrations.use(folder: folder) ? command : nil
    }
}

/// Whether there is a folder at a path.
func isFolder(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}
