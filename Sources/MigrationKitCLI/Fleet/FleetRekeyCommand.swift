import ArgumentParser
import MigrationKitFleet
import MigrationKitRescue
import MigrationKitSQLCipher

struct FleetRekeyCommand: FleetJob {
    var deed: String { dryRun ? "rekey-\(FleetDocument.dryRun)" : "rekey" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rekey",
            _superCommandName: Program.name,
            abstract: "Give many databases other keys.",
            usage: """
                \(Program.name) fleet rekey --stores <pattern> --name-from <folder>
                  --master-key-file <path> --new-master-key-file <path> [<options>]
                """,
            discussion: """
                Each database gets its key from an option of 'New keys', as by 'rekey': at every \
                instant, one of the two keys opens the whole file. The new keys must exist; none is \
                made. Backups keep the old keys.

                After a kill, run the same command again: databases that the new key opens are \
                done. Keep the old keys until 'fleet verify' with the new ones opens all. For keys \
                in the desktop's secret store, use 'key rotate' on each database.
                """
        )
    }

    @Flag(
        name: [.customShort("n"), .long],
        help: "Only check that the old or the new key opens each database."
    )
    var dryRun = false

    @OptionGroup var limits: FleetLimitOptions
    @OptionGroup var waiting: LockTimeoutOptions
    @OptionGroup(title: "New keys") var new: NewFleetKeyOptions
    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Databases") var settings: SettingsOptions

    var newKeys: NewFleetKeyOptions? { new }
    var isReport: Bool { dryRun }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let timeout = try waiting.lockTimeout(in: context)
        let isDry = dryRun
        try runFleet(in: context, limits: limits) { visit, record in
            let (store, path) = (visit.store, visit.store.path)
            try EncryptedDatabase.check(path, is: .encrypted)
            guard let newKeys = visit.newKeys else { throw CommandError.noNewKeys }
            let new = try newKeys.durableKey(of: store)
            if try DatabaseConversion.isRekeyed(path, to: new) {
                if let old = try? visit.keys.key(of: store),
                    (try? DatabaseConversion.isRekeyed(path, to: old)) == true
                {
                    throw CommandError.sameKey(store: store.name)
                }
                return
            }
            guard let old = try visit.keys.key(of: store) else { throw CommandError.noKeys }
            guard try newKeys.key(of: store) == new else {
                throw CommandError.changingKey(store: store.name)
            }
            guard !isDry else {
                try DatabaseFile(path).prove(old)
                return try EncryptedDatabase.inspect(path, key: old, checksPages: false)
                    .checkJournals()
            }
            let report = try DatabaseConversion.rekey(
                path,
                from: old,
                to: new,
                options: visit.copyOptions(timeout: timeout)
            ).run()
            record.findings =
                (report.findings + notes(path, report.formerMode, report.otherNameCount)).nonEmpty
        }
    }
}
