import ArgumentParser
import MigrationKitSQLCipher

struct DecryptCommand: ConversionCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "decrypt",
            _superCommandName: Program.name,
            abstract: "Decrypt a database.",
            usage: "\(Program.name) decrypt [<database>] [--yes] [<options>]",
            discussion: """
                Asks first. Anyone who can read the file, the disk or a backup can then read the \
                content, even after you encrypt it again.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(name: .shortAndLong, help: "Decrypt without asking.")
    var yes = false

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
        try context.confirm(
            """
            Decrypt \(path)? Anyone who can read the file, the disk or a backup can then read all \
            of it, even after you encrypt it again.
            """,
            isAnswered: yes,
            noPrompt: database.keychain.noPrompt,
            else: MigrationCLIError.needsConfirmation(deed: "decrypt the database")
        )
        try convert(path, in: context, deed: "Decrypted") {
            .decrypt(
                path,
                key: key,
                cipher: cipher,
                pageSize: conversion.pageSize,
                options: $0
            )
        }
    }
}
