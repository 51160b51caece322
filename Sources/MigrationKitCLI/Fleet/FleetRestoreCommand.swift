import ArgumentParser
import MigrationKitCommon
import MigrationKitFleet
import MigrationKitSQLCipher

struct FleetRestoreCommand: FleetJob {
    var deed: String { dryRun ? "restore-\(FleetDocument.dryRun)" : "restore" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore",
            _superCommandName: Program.name,
            abstract: "Replace many databases with the copies in a folder.",
            usage: """
                \(Program.name) fleet restore --from-dir <folder> --stores <pattern>
                  --name-from <folder> --master-key-file <path> [--yes] [<options>]
                """,
            discussion: """
                Each database is replaced as by 'restore', with the copy that 'fleet backup' made \
                of it. The key options give the copies' keys, which the databases get, too. A \
                database may be missing or damaged; a missing one must be in --stores-file. One \
                without a copy is left as it is, and reported.

                What is in the databases is lost, unless --keep-originals is given. The command \
                asks once; without a terminal, it needs --yes.

                After a kill, run the same command again: databases that have the copy's content \
                are done.
                """
        )
    }

    @Option(
        help: ArgumentHelp(
            "The folder of the copies that 'fleet backup' has made.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var fromDir: String

    @Option(
        help: ArgumentHelp(
            "First copy each file that is replaced to a new file in this folder.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var keepOriginals: String?

    @Flag(
        name: [.customShort("n"), .long],
        help: "Only read the copies: whether each is there, and is whole."
    )
    var dryRun = false

    @Flag(name: .shortAndLong, help: "Replace the databases without asking.")
    var yes = false

    @OptionGroup var limits: FleetLimitOptions
    @OptionGroup var waiting: LockTimeoutOptions
    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Databases") var settings: SettingsOptions

    var isReport: Bool { dryRun }

    func validate() throws {
        try checkNotEmpty(fromDir, "--from-dir")
        try checkNotEmpty(keepOriginals, "--keep-originals")
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let timeout = try waiting.lockTimeout(in: context)
        let copies = FleetFolder(path: fromDir)
        try copies.check()
        let originals = keepOriginals.map(FleetFolder.init)
        let isDry = dryRun
        try runFleet(in: context, limits: limits) { count in
            guard !isDry else { return }
            try confirm(count, in: context)
        } _: { visit, record in
            let path = visit.store.path
            let copy = try copies.place(of: visit.store)
            let form = try visit.form()
            let restore = DatabaseRestore(
                path,
                from: copy,
                form: form,
                options: visit.copyOptions(timeout: timeout)
            )
            guard !isDry else { return try restore.checkBackup() }
            // Whatever is wrong with the database, it is replaced.
            if (try? restore.isDone()) == true { return }
            let original = try originals?.makeFreePlace(of: visit.store)
            let report = try restore.run(keptOriginalPath: original)
            record.original = report.originalPath
            record.findings =
                (report.findings + notes(path, report.formerMode, report.otherNameCount)).nonEmpty
        }
    }

    private func confirm(_ count: Int, in context: CommandContext) throws {
        let loss = keepOriginals == nil ? " Their current content is lost." : ""
        try context.confirm(
            "Replace \(counted(count, "database")) with the copies in \(fromDir)?\(loss)",
            isAnswered: yes,
            else: MigrationCLIError.needsConfirmation(deed: "replace the databases")
        )
    }
}
