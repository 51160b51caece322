import ArgumentParser
import Foundation
import MigrationKitCommon
import MigrationKitFleet
import MigrationKitSQLCipher

struct FleetBackupCommand: FleetJob {
    var deed: String { "backup" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup",
            _superCommandName: Program.name,
            abstract: "Copy many databases into a folder while other programs use them.",
            usage: """
                \(Program.name) fleet backup --stores <pattern> --name-from <folder>
                  --master-key-file <path> --output-dir <folder> [<options>]
                """,
            discussion: """
                Each copy is made and compared as by 'backup', and has its database's key. Its \
                name is the store's, with the database's extension. An existing file is never \
                replaced, so start with an empty folder. After an interrupted run, --skip-existing \
                makes only the missing copies.
                """
        )
    }

    @Option(
        help: ArgumentHelp(
            "The folder of the copies. Folders that are missing are made.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var outputDir: String

    @Flag(help: "Leave out databases whose copy exists.")
    var skipExisting = false

    @OptionGroup var waiting: LockTimeoutOptions

    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Databases") var settings: SettingsOptions

    func validate() throws {
        try checkNotEmpty(outputDir, "--output-dir")
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let timeout = try waiting.lockTimeout(in: context)
        let copies = FleetFolder(path: outputDir)
        try runFleet(in: context) { visit, record in
            let output = try copies.makePlace(of: visit.store)
            record.output = output
            if skipExisting, access(output, F_OK) == 0 { return }
            try EncryptedDatabase.check(visit.store.path, is: .file)
            let report = try DatabaseBackup(
                visit.store.path,
                to: output,
                form: visit.form(),
                options: visit.copyOptions(timeout: timeout)
            ).run()
            record.findings = report.findings.nonEmpty
        }
    }
}
