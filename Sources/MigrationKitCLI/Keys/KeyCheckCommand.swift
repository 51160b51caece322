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
                Tries the settings given by options, those of SQLCipher 4, 3, 2 and 1, then those \
                that programs have chosen, which takes up to ten seconds. Changes nothing. Exit code \
                77: the key doesn't open it.
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
        let options = try database.resolved(in: context, for: .inspect)
        _ = try options.onlyKeySource()
        context.keySource.note(options.namedKeySource)
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        if options.keySource != nil {
            try EncryptedDatabase.check(path, is: .encrypted, cipher: options.cipher)
        }
        let settings: CipherSettings
        let form: DatabaseKey.Form
        do {
            (settings, form) = try options.open { key in
                guard let key else { throw MigrationCLIError.noKey }
                return (try options.cipher(of: path, key: key, in: context), key.form)
            }
        } catch let error as EncryptedDatabaseError where error.isOfSettings {
            throw CommandError.noSettingsOpen(path, error)
        }
        if json {
            return try context.printJSON(
                fields: [
                    "database": path, "opens": true,
                    "cipherCompatibility": settings.compatibility,
                    "options": settings.options, "form": form,
                    "keySource": options.namedKeySource?.description,
                ]
            )
        }
        context.output("The key opens \(path.printable).")
        context.output("Settings: SQLCipher \(settings.compatibility).")
        context.output("  \(settings)")
        if let advice = settings.advice { context.output(advice) }
    }
}
