import ArgumentParser
import MigrationKitSQLCipher

struct BackupCommand: CopyCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup",
            _superCommandName: Program.name,
            abstract: "Copy a database into a new file while other programs use it.",
            usage: """
                \(Program.name) backup [<database> [<path>]] [--output <path>]
                  [--new-password-file <path>] [<options>]
                """,
            discussion: """
                The copy is the database at one instant, including its write-ahead log. It is \
                encrypted with the same key, or with one from an option of 'New key', and compared \
                with the database before it gets its name. An existing file is never replaced.

                Other programs may go on using the database. If it is not in WAL mode, their \
                commits wait while the pages are copied.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Argument(
        help: ArgumentHelp("The backup, in place of --output.", valueName: "path"),
        completion: .file()
    )
    var copy: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The backup. The file must not exist.", valueName: "path"),
        completion: .file()
    )
    var namedOutput: String?

    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var backupFile: (option: String, named: String?, plain: String?)? {
        ("--output", namedOutput, copy)
    }
    private var output: String { backupPath }

    var files: [(option: String, path: String?)] { [("--output", output)] }

    func run(in context: CommandContext) throws {
        let (path, _, report) = try makeCopy(in: context) { path, form, newKey, options in
            try DatabaseBackup(
                path,
                to: output,
                form: form,
                newKey: newKey,
                options: options
            ).run()
        }
        if json { return try context.printJSON(report, fields: ["database": path]) }
        context.output(
            """
            Copied \(path.printable) into \(output.printable): \(report.byteCount.byteCount), \
            in \(duration(report.seconds)).
            The backup was compared with the database. \(soundness(report.findings))
            """
        )
        context.tell(findings: report.findings, of: path)
    }
}

extension CommandContext {
    /// Prints where a copied database breaks its own rules, and what to do.
    func tell(findings: [String], of path: String) {
        guard !findings.isEmpty else { return }
        for finding in findings {
            warning("\(path): \(finding); it was copied unchanged")
        }
        errorOutput(
            """
              'verify --full' checks everything. If the file is damaged, 'salvage' recovers
              what can be read.
            """
        )
    }
}
