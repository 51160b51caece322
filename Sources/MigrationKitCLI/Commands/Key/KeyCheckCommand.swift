import ArgumentParser
import KeyStore
import MigrationKitSQLCipher

struct KeyCheckCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check",
            abstract: "Tell whether a key opens a database, and with which settings.",
            usage: "\(Migrations.programName) key check --db-path <path> [<options>]",
            discussion: """
                Tries the settings of SQLCipher 4, then 3, 2 and 1; the other commands work on \
                the first of these only. Changes nothing. Exit code 77: the key opens it with none.
                """
        )
    }

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        context.warn(about: database.secret)
        let options = try database.resolved(in: context)
        context.keySource.note(options.keySource)
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        guard let key = try options.key() else { throw MigrationCLIError.noKey }

        let settings = try CipherSettings(of: path, key: key)
        if json {
            let document = Document(
                database: path,
                cipherCompatibility: settings.version,
                form: key.form.rawValue,
                keySource: options.keySource?.description
            )
            return try context.printJSON(document)
        }
        context.output("The key opens \(path).")
        context.output("Settings: SQLCipher \(settings.version), \(settings.description).")
        if settings.version < 4 {
            context.output("The other commands refuse this format; convert a copy of the file.")
        }
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let database: String
        let opens = true
        let cipherCompatibility: Int
        let form: String
        let keySource: String?
    }
}

/// The settings of a SQLCipher release, as files have them by default.
private struct CipherSettings {
    /// The release's major version.
    let version: Int

    /// Finds the settings with which a key opens a file.
    init(of path: String, key: DatabaseKey) throws {
        do {
            let options = EncryptedDatabase.Options(isReadOnly: true)
            try EncryptedDatabase.open(path, key: key, options: options).close()
            version = 4
        } catch EncryptedDatabaseError.olderFormat(_, let version) {
            self.version = version
        }
    }

    /// <https://www.zetetic.net/sqlcipher/design/>
    var description: String {
        switch version {
        case 4: "4096-byte pages, PBKDF2-HMAC-SHA512 256,000 times"
        case 3: "1024-byte pages, PBKDF2-HMAC-SHA1 64,000 times"
        case 2: "1024-byte pages, PBKDF2-HMAC-SHA1 4,000 times, HMAC-SHA1"
        default: "1024-byte pages, PBKDF2-HMAC-SHA1 4,000 times, no HMAC"
        }
    }
}
