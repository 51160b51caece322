import ArgumentParser
import MigrationKit
import MigrationKitCommon
import MigrationKitFleet
import MigrationKitGRDB

struct FleetMigrateCommand: FleetJob, MigrationsCommand {
    var deed: String { dryRun ? FleetDocument.dryRun : "migrate" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            _superCommandName: Program.name,
            abstract: "Apply the pending migrations of many databases.",
            usage: """
                \(Program.name) fleet migrate --stores <pattern> --name-from <folder>
                  --master-key-file <path> [--canary <number>] [<options>]
                """,
            discussion: """
                Each database is migrated as by 'migrate': under its lock, each migration in a \
                transaction, verified before the last commit. Missing databases are not created. A \
                database that fails doesn't stop the others, unless it is a canary or \
                --max-failures is exceeded.

                --dry-run does the same in one transaction a database, and undoes it. With --adopt, \
                a database that has no record yet is taken over first.

                Ctrl-C undoes uncommitted changes. After a kill, run the same command again: \
                finished databases are only checked.
                """
        )
    }

    @Flag(
        name: [.customShort("n"), .long],
        help: "Run everything, report what would fail, and undo it."
    )
    var dryRun = false

    @OptionGroup var limits: FleetLimitOptions
    @OptionGroup var range: RangeOptions
    @OptionGroup var adopting: AdoptionOptions
    @OptionGroup var run: RunOptions

    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { dryRun }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context, allowsOutOfOrder: range.allowOutOfOrder)
        let runner = loaded.runner
        let range = try range.resolved(in: runner)
        let options = try run.options(in: context)
        let isDry = dryRun
        try runFleet(in: context, limits: limits) { visit, record in
            var options = options
            options.lockTimeout = visit.timeout(options.lockTimeout)
            try visit.withStore(
                loaded,
                for: .change(isTried: isDry),
                lockTimeout: options.lockTimeout
            ) { store in
                var applied = try runner.appliedMigrationIdentifiers(in: store.writer)
                let job = try MigrateJob(store, range, adopting, in: context)
                let adopted = job.adoption?.identifiers ?? []
                if applied.isEmpty, job.adoption == nil { try store.checkIsAdopted(in: context) }
                try job.checkForDrafts()
                // Whatever the run would refuse is refused here, before anything is recorded.
                if job.adoption != nil { _ = try job.check(options) }
                let recorded = isDry ? [] : try job.adopt(options, in: context)
                applied.formUnion(adopted)
                record.begin(with: applied, of: runner)
                if isDry {
                    guard record.pending == 0 || !store.writer.configuration.readonly else {
                        throw MigrationCLIError.cannotTryOut(path: visit.store.path)
                    }
                    _ = try visit.watch(store, options, adopts: job.adoption != nil, job.dryRun)
                    return
                }
                do {
                    let report = try visit.watch(store, options, adopts: job.adoption != nil) {
                        try job.run(after: recorded, $0)
                    }
                    record.applied = report.steps.count
                    record.pending = report.pending.count
                    let now = applied.union(report.steps.map(\.identifier))
                    record.to = runner.version(of: now)
                } catch {
                    // Steps before the one that failed stay. If there are none, the record is gone, too.
                    let now = try? runner.overview(of: store.writer)
                    record.to = now.map { runner.version(of: $0.applied) } ?? nil
                    record.applied = now?.applied.subtracting(applied).count
                    record.pending = now?.pending.count
                    throw error
                }
            }
        }
    }
}
