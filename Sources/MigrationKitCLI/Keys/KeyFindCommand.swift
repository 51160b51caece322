import ArgumentParser
import Foundation
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQLCipher

struct KeyFindCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "find",
            _superCommandName: Program.name,
            abstract: "Find the key that opens a database.",
            usage:
                "\(Program.name) key find [<database>] [--key-file <path>]... [<options>]",
            discussion: """
                Tries every item of the secret store, whichever program stored it, and the files of \
                --key-file. Reports the item or file, and the options that name it for the other \
                commands; never the key. Each passphrase is tried with the settings given by \
                options, then those of SQLCipher 4, 3, 2 and 1. Locked collections are unlocked \
                only if no other key opens it. Then the settings that programs have chosen are tried, \
                which takes up to ten seconds a passphrase. A secret of another program is also tried \
                in other notations: x'…', 0x…, bytes, base64, the fields of JSON, and with or without \
                white space, quotes and a line feed around it. --keychain-service limits the search to a service, with its \
                previous and pending keys.

                Changes nothing. Exit code 69: no key opens it. 77: no key does, but a collection \
                is locked.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Option(
        help: ArgumentHelp(
            "A file with a key, or a folder of such files. May be repeated.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keyFile: [String] = []

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: DatabaseFileOptions
    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    var config: String? { settings.config }

    var isReport: Bool { true }

    func validate() throws {
        guard keychain.keychainAccount == nil else {
            throw ValidationError("Leave out --keychain-account: every account is searched.")
        }
        for path in keyFile { try checkNotEmpty(path, "--key-file") }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        guard let path = try database.path(in: context) else {
            throw MigrationCLIError.noDatabasePath
        }
        let hunt = KeyHunt(
            path: path,
            cipher: try database.cipher(in: context),
            service: keychain.keychainService,
            keychain: keychain,
            files: keyFile,
            context: context
        )
        let (candidates, match) = try hunt.run()
        let matches = candidates.compactMap { candidate in
            candidate.readings.first { $0.key == match.key }.map {
                FoundKey(candidate, $0, match.cipher, path: path, among: candidates)
            }
        }
        if json {
            return try context.printJSON(
                fields: [
                    "database": path, "form": match.key.form,
                    "cipherCompatibility": match.cipher.compatibility,
                    "settings": match.cipher.options, "candidates": candidates.count,
                    "found": matches.map(\.document),
                ]
            )
        }
        context.output(
            matches.count == 1
                ? "A key opens \(path.printable):"
                : "A key opens \(path.printable). It is stored \(matches.count) times:"
        )
        for found in matches { context.output(found.text()) }
    }
}
