import ArgumentParser
import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitSQLCipher

struct KeyExportCommand: DatabaseUsing {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export",
            _superCommandName: Program.name,
            abstract: "Write a recovery copy of a key.",
            usage: """
                \(Program.name) key export --keychain-service <service>
                  [--keychain-account <account>] --output <file> [<options>]
                """,
            discussion: """
                --output writes a PKCS#12 container that a passphrase protects. 'key import' \
                stores it again. Without this tool, OpenSSL prints a raw key:
                  openssl pkcs12 -in FILE | tail -n 1 | tr -d ' '

                If the database exists, the key must open it. The passphrase of the copy is asked \
                for twice, unless --recovery-password-file is given. Keep it elsewhere than the copy.
                """
        )
    }

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The new file, with mode 600. It must not exist.", valueName: "file"),
        completion: .file()
    )
    var output: String

    @OptionGroup var recovery: RecoveryPassphraseOptions

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func validate() throws {
        try checkNotEmpty(output, "--output")
        if database.secret.passwordFile == "-", recovery.recoveryPasswordFile == "-" {
            throw ValidationError("Standard input can give the key or the passphrase only.")
        }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let options = try database.resolved(in: context, for: .read)
        guard try options.onlyKeySource() != nil else { throw CommandError.noKeyToExport }
        context.keySource.note(options.namedKeySource)
        defer { context.release(options.keySource) }
        // Nobody should type a passphrase in vain.
        try checkFree(output)
        let source = try recovery.source(in: context, noPrompt: database.keychain.noPrompt)
        guard let key = try options.key() else { throw CommandError.noKeyToExport }
        let checked = try options.explainingFormerKey {
            try database.file.check(opensWith: key, in: context)
        }
        let container = try RecoveryContainer.seal(
            key,
            named: Self.name(of: options.namedKeySource),
            with: RecoveryPassphraseOptions.read(source, isNew: true)
        )
        do {
            try NewFile.write(container, to: output, mode: 0o600, replaces: false)
        } catch let error as NewFileError {
            throw error.explained
        }
        if json {
            return try context.printJSON(
                fields: [
                    "output": output, "form": key.form,
                    "keySource": options.namedKeySource?.description ?? "", "database": checked,
                ]
            )
        }
        context.output("Wrote a recovery copy of the key: \(output.printable)")
        if let checked { context.output("The key opens \(checked.printable).") }
        context.output("Keep it on another machine or medium, and its passphrase elsewhere.")
    }

    private func checkFree(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) != 0 else { throw DatabaseConversionError.exists(path: path) }
    }

    /// What the copy says that it is of.
    private static func name(of source: KeySource?) -> String {
        guard case .keyStore(let service, let account) = source else { return "a key" }
        return account.map { "\(service) (\($0))" } ?? service
    }
}
