import ArgumentParser
import MigrationKitSQLCipher

struct RekeyCommand<Migrations: MigrationsOptions>: ConversionCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rekey",
            _superCommandName: Migrations.programName,
            abstract: "Give an encrypted database another key.",
            usage: """
                \(Migrations.programName) rekey [<database>]
                  [--new-password-file <path>] [<options>]
                """,
            discussion: """
                The new key comes from an option of 'New key'. Without one, it is asked for twice. \
                A raw key can replace a passphrase, and the other way round. At every instant, one \
                of the two keys opens the whole file. Backups keep the old key. For a key in the \
                desktop's secret store, use 'key rotate'.
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

    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func validate() throws {
        try checkInput(newKey)
    }

    func run(in context: CommandContext) throws {
        let (path, key, cipher) = try namedDatabase(in: context)
        let source = try newKey.source(for: path, beside: database, in: context)
        let new = try read(newKey, from: source, in: context)
        let newCipher = try newCipher(cipher)
        try convert(path, in: context, deed: "Gave another key to") {
            .rekey(
                path,
                from: key,
                to: new,
                cipher: cipher,
                newCipher: newCipher,
                options: $0
            )
        }
    }
}
