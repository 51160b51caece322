import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitSQL
import MigrationKitSQLCipher

/// A plain argument in the place of a database.
///
/// People type the words of other tools by habit: `migrate up`, `migrate 0002`. A database of that name
/// must not be made of them while the project's own stays behind.
struct PlainWord<Command: DatabaseCommand> {
    private let word: String
    private let command: Command
    private let context: CommandContext

    init(_ word: String, of command: Command, in context: CommandContext) {
        self.word = word
        self.command = command
        self.context = context
    }

    private var name: String { Command.configuration.commandName ?? "" }

    /// The last part of it, if it is a path.
    private var last: String { word.split(separator: "/").last.map(String.init) ?? word }

    /// What comes before that, without the slash at its end.
    private var folder: String {
        let folder = String(word.dropLast(last.count))
        return folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    }

    /// - Throws: ``CommandError`` if the word isn't the name of a database, or if the command would make
    ///   one of that name where another is named already.
    func checkNamesDatabase() throws {
        // An empty file counts as missing: a database would be made in it.
        let isThere = hasContent
        guard !isThere || word.hasSuffix(".sql") else { return }
        if let migration = try migration() {
            throw refusal("is a migration", advice(on: migration))
        }
        guard !isThere else { return }
        if let meaning = Program.meaning.of(word, name) {
            throw refusal("isn't a database", "\(meaning)\n\(file)")
        }
        if Command.createsDatabase { try checkCreates() }
    }

    private var hasContent: Bool {
        var status = stat()
        return stat(word, &status) == 0
            && (status.st_size > 0 || status.st_mode & S_IFMT != S_IFREG)
    }

    // MARK: - Migrations

    /// The migration that the word is: its name, the beginning of it, its number, or its file.
    private func migration() throws -> String? {
        context.settingsSource.use(command.config)
        let options =
            try (command as? any MigrationsCommand)?.migrations ?? MigrationsOptions.parse([])
        defer { context.settingsSource.use(command.config) }
        // What is wrong with the migrations is said by the commands that need them.
        guard let runner = try? options.load(in: context, ofStranger: true).runner else {
            return nil
        }
        let file = runner.migrationManifest.first { _, file in
            last.hasSuffix(".sql") && (file == last || file.hasSuffix("/\(last)"))
        }
        if let file { return file.identifier }
        var text = word
        if !folder.isEmpty, let migrations = try? options.path(in: context) {
            let paths = [folder, migrations].map { EncryptedDatabase.absolutePath(of: $0) }
            if paths[0] == paths[1] { text = last }
        }
        for ending in [".sql", ".up", ".down"] where text.hasSuffix(ending) {
            text = String(text.dropLast(ending.count))
        }
        do {
            return try runner.identifier(text)
        } catch MigrationCLIError.ambiguousMigration(_, let candidates) {
            return candidates.first
        } catch {
            return nil
        }
    }

    private func advice(on migration: String) -> String {
        guard let option = Command.migrationOption else {
            return "'\(name)' takes none: leave it out. 'status' shows the state of each.\n\(file)"
        }
        let isCount = Int(word).map(String.init) == word && ["migrate", "rollback"].contains(name)
        return """
            To go as far as that one: '\(name) \(option) \(migration.shellWord)'.\
            \(isCount ? " To go so many steps: '\(name) --steps \(word)'." : "")
            \(file)
            """
    }

    // MARK: - New Databases

    /// Refuses to make a database because of a plain argument where another one is named, or that looks
    /// like a word.
    private func checkCreates() throws {
        // A host may open another file.
        guard !context.host.opensItself else { return }
        context.settingsSource.use(command.config)
        var options = command.database.file
        options.dbPath = nil
        if let named = try options.path(in: context) {
            let paths = [named, word].map { EncryptedDatabase.absolutePath(of: $0) }
            guard paths[0] != paths[1] else { return }
            throw CommandError(
                ErrorCode("usage", .usage),
                "there is no database '\(word)', and the settings name another: \(named)",
                """
                Nothing was created. '\(name)' alone works on \(named.printable). To create a database \
                at the other path, name it with --db-path.
                """
            )
        }
        guard looksLikeDatabase else {
            throw CommandError(
                ErrorCode("usage", .usage),
                "there is no database '\(word)'",
                "Nothing was created. \(file)"
            )
        }
    }

    /// Whether it has the ending of a database, or is a path to a name without one. Versions, words and
    /// other files have dots, too: `1.2`, `migrate.all`, `migrationkit.toml`.
    private var looksLikeDatabase: Bool {
        guard !word.hasPrefix("file:") else { return false }
        guard let dot = last.lastIndex(of: ".") else {
            return !folder.isEmpty && Program.meaning.of(last, name) == nil
        }
        return Self.endings.contains(last[last.index(after: dot)...].lowercased())
    }

    private static var endings: Set<String> {
        [
            "db", "db2", "db3", "sdb", "s3db", "sqlite", "sqlite2", "sqlite3", "sqlitedb", "sl2",
            "sl3",
            "sqlcipher", "cipher", "store", "storedata", "database", "data", "dat", "enc",
            "encrypted",
            "crypt", "vault",
        ]
    }

    // MARK: - Answers

    private var file: String {
        "For a database of that name, give '--db-path \(word.shellWord)'."
    }

    private func refusal(_ what: String, _ advice: String) -> CommandError {
        CommandError(ErrorCode("usage", .usage), "'\(word)' \(what)", advice)
    }
}
