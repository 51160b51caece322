import ArgumentParser
import MigrationKitSQLCipher

struct UpgradeCommand<Migrations: MigrationsOptions>: ConversionCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "upgrade",
            abstract: "Bring a database of SQLCipher 1, 2 or 3 to the format of 4.",
            usage: "\(Migrations.programName) upgrade --db-path <path> [<options>]",
            discussion: """
                The key stays, and which settings the file has is found out. Programs that are \
                built with an older SQLCipher can't open it any more.
                """
        )
    }

    @OptionGroup var conversion: ConversionOptions
    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func run(in context: CommandContext) throws {
        let (path, key, cipher) = try namedDatabase(in: context)
        let new = try newCipher(.current)
        try convert(path, in: context, deed: "Upgraded") {
            .upgrade(path, key: key, cipher: cipher, newCipher: new, options: $0)
        }
    }
}
