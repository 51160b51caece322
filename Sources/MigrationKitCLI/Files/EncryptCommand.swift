import ArgumentParser
import MigrationKitSQLCipher

struct EncryptCommand: ConversionCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "encrypt",
            _superCommandName: Program.name,
            abstract: "Encrypt a plaintext database.",
            usage: "\(Program.name) encrypt [<database>] [<options>]",
            discussion: """
                The options name the database's new key. A passphrase is asked for twice on a \
                terminal. A new file is written beside the database, compared with it, and \
                renamed into its place. Other programs must close the database first.

                The old plaintext may remain on the disk: in freed blocks (above all on flash \
                memory and on file systems that copy on write), in snapshots, backups and swap \
                space. This command can't overwrite it.
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
        // Invalid options are refused before any file is read.
        _ = try newCipher(.current)
        let (path, key, cipher) = try namedDatabase(in: context, keyIsNew: true)
        let new = try newCipher(cipher)
        try convert(path, in: context, deed: "Encrypted", notes: [note]) {
            .encrypt(path, key: key, cipher: new, options: $0)
        }
    }

    private var note: ConversionNote {
        let place =
            if conversion.output != nil {
                "the plaintext database still exists, and so do its backups"
            } else if conversion.keepOriginal != nil {
                "the kept original is plaintext, and so are backups"
            } else {
                "backups and snapshots of the database are still plaintext"
            }
        let blocks =
            if conversion.output != nil {
                "When it is deleted, its blocks on the disk are free but not overwritten"
            } else {
                "The old file's blocks on the disk are free but not overwritten"
            }
        return ConversionNote(
            headline: place,
            explanation: """
                \(blocks). On flash memory and on file systems that journal data or copy on write, \
                this program can't overwrite them.
                """
        )
    }
}
