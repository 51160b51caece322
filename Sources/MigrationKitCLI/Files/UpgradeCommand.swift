import ArgumentParser
import MigrationKitSQLCipher

struct UpgradeCommand<Migrations: MigrationsOptions>: ConversionCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "upgrade",
            _superCommandName: Migrations.programName,
            abstract: "Convert a database of SQLCipher 1, 2 or 3 to the format of SQLCipher 4.",
            usage: "\(Migrations.programName) upgrade [<database>] [<options>]",
            discussion: """
                The key stays the same, and so does a plaintext header. The file's settings are \
                detected. Programs built with an older SQLCipher can no longer open it.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @OptionGroup var conversion: ConversionOptions
    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func run(in context: CommandContext) throws {
        let (path, key, cipher) = try namedDatabase(in: context)
        let new = try newCipher(cipher.ofVersion(CipherSettings.current.compatibility))
        try convert(path, in: context, deed: "Upgraded") {
            .upgrade(path, key: key, cipher: cipher, newCipher: new, options: $0)
        }
    }
}
