import ArgumentParser
import MigrationKitSQLCipher

struct EncryptCommand<Migrations: MigrationsOptions>: ConversionCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "encrypt",
            abstract: "Encrypt a plaintext database.",
            usage: "\(Migrations.programName) encrypt --db-path <path> [<options>]",
            discussion: """
                The key that the options name is the one that it gets; on a terminal a passphrase \
                is asked for twice. A new file is written beside the database, compared with it \
                and verified, and then takes its place at once. Others have to close it first.

                What was in the clear may still be found on the disk: in blocks that the old file \
                had, above all on flash memory and on file systems that copy on write, in \
                snapshots, in backups, in swap space. Nothing here can overwrite that.
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
        // What the options can't mean is refused before any file is looked at.
        _ = try newCipher(.current)
        let (path, key, cipher) = try namedDatabase(in: context, keyIsNew: true)
        let new = try newCipher(cipher)
        try convert(path, in: context, deed: "Encrypted", note: note) {
            .encrypt(path, key: key, cipher: new, options: $0)
        }
    }

    private var note: ConversionNote {
        let place =
            if conversion.output != nil {
                "the database itself is still there, in the clear, and so are its backups"
            } else if conversion.keepOriginal != nil {
                "the kept original is in the clear, and so are backups"
            } else {
                "backups and snapshots of the database are still in the clear"
            }
        let blocks =
            if conversion.output != nil {
                "When it is deleted, its blocks on the disk are free, not overwritten"
            } else {
                "The blocks on the disk that the old file had are free, not overwritten"
            }
        return ConversionNote(
            headline: place,
            explanation: """
                \(blocks): on flash memory and on file systems that journal data or copy on write \
                they can't be overwritten from here.
                """
        )
    }
}
