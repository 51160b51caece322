import ArgumentParser
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher

struct UpgradeCommand: ConversionCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "upgrade",
            _superCommandName: Program.name,
            abstract: "Convert a database of SQLCipher 1, 2 or 3 to the format of SQLCipher 4.",
            usage: "\(Program.name) upgrade [<database>] [<options>]",
            discussion: """
                The key stays the same, and so does a plaintext header. The file's settings are \
                detected. Programs built with an older SQLCipher can no longer open it.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @OptionGroup var conversion: ConversionOptions
    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(
        name: [.customShort("n"), .long],
        help: "Only check the database, and say what would change."
    )
    var dryRun = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var isReport: Bool { dryRun }

    func run(in context: CommandContext) throws {
        let (path, key, cipher) = try namedDatabase(in: context)
        let new = try newCipher(cipher.ofVersion(CipherSettings.current.compatibility))
        guard !dryRun else {
            return try preview(path, key: key, cipher: cipher, newCipher: new, in: context)
        }
        try convert(path, in: context, deed: "Upgraded") {
            .upgrade(path, key: key, cipher: cipher, newCipher: new, options: $0)
        }
    }

    private func preview(
        _ path: String,
        key: DatabaseKey,
        cipher: CipherSettings,
        newCipher: CipherSettings,
        in context: CommandContext
    ) throws {
        let report = try EncryptedDatabase.inspect(path, key: key, cipher: cipher)
        try report.checkIsSound()
        try report.checkJournals()
        guard let found = report.cipher, found != newCipher else {
            throw DatabaseConversionError.alreadyCurrent(
                path: EncryptedDatabase.absolutePath(of: path)
            )
        }
        guard !json else {
            return try context.printJSON(
                fields: [
                    "database": path, "dryRun": true, "bytes": report.size, "cipher": found,
                    "newCipher": newCipher,
                ]
            )
        }
        context.output(
            """
            Would upgrade \(path.printable), which has \(report.size.byteCount),
            from \(found),
            to \(newCipher).
            Nothing was changed.
            """
        )
    }
}
