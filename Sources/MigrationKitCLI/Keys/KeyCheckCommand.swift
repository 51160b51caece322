import ArgumentParser
import MigrationKitKeys
import MigrationKitSQLCipher

struct KeyCheckCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check",
            _superCommandName: Program.name,
            abstract: "Check whether a key opens a database, and with which settings.",
            usage: "\(Program.name) key check [<database>] [<options>]",
            discussion: """
                Tries the settings given by options, then those of SQLCipher 4, 3, 2 and 1. \
                Changes nothing. Exit code 77: the key doesn't open it.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var config: String? { settings.config }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let options = try database.resolved(in: context)
        context.keySource.note(try options.onlyKeySource())
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        if options.keySource != nil {
            try EncryptedDatabase.check(path, is: .encrypted, cipher: options.cipher)
        }
        let (settings, form) = try options.open(isReadOnly: true) { key in
            guard let key else { throw MigrationCLIError.noKey }
            return (try options.cipher(of: path, key: key), key.form)
        }
        if json {
            return try context.printJSON(
                fields: [
                    "database": path, "opens": true,
                    "cipherCompatibility": settings.compatibility, "form": form,
                    "keySource": options.keySource?.description,
                ]
            )
        }
        context.output("The key opens \(path.printable).")
        context.output("Settings: SQLCipher \(settings.compatibility).")
        context.output("  \(settings)")
        if settings.compatibility < CipherSettings.current.compatibility {
            context.output(
                """
                The other commands need --cipher-compatibility \(settings.compatibility); \
                'upgrade' converts the file.
                """
            )
        }
    }
}

extension MigrationDatabaseOpenOptions {
    /// The settings with which a key opens a file: these, or those of an older format.
    ///
    /// - Throws: `EncryptedDatabaseError`.
    func cipher(of path: String, key: DatabaseKey) throws -> CipherSettings {
        do {
            let options = EncryptedDatabase.Options(isReadOnly: true, cipher: cipher)
            try EncryptedDatabase.open(path, key: key, options: options).close()
            return cipher
        } catch EncryptedDatabaseError.olderFormat(_, let version) {
            return try cipher.ofVersion(version)
        }
    }
}
