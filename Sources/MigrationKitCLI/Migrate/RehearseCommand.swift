import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitRescue
import MigrationKitSQLCipher
import MigrationKitSchema

struct RehearseCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rehearse",
            _superCommandName: Program.name,
            abstract: "Apply the pending migrations to a copy of the database.",
            usage: "\(Program.name) rehearse [<database>] [--to <identifier>] [<options>]",
            discussion: """
                Copies the database while other programs use it, applies the pending migrations to \
                the copy as 'migrate' would, checks the copy as 'verify --full' does, and removes \
                it. Reports how long each migration takes, how many rows it changes, and how much \
                room it needs on the disk. The database itself is only read.

                The exit code is that of 'migrate', or 2 if the verification finds something.
                """
        )
    }

    static var migrationOption: String? { "--to" }

    @OptionGroup var argument: DatabaseArgument

    @OptionGroup var range: RangeOptions

    @OptionGroup var adopting: AdoptionOptions

    @Option(
        name: .customLong("in"),
        help: ArgumentHelp(
            "The folder for the copy, which is encrypted; default: that of the database.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var folder: String?

    @Option(
        help: ArgumentHelp(
            """
            Write a report for the author of the migrations to this new file: times, sizes and \
            errors, but no values, no key and no paths.
            """,
            valueName: "file"
        ),
        completion: .file()
    )
    var report: String?

    @Option(help: .ignoredTable)
    var ignoreTable: [String] = []

    @OptionGroup var run: RunOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    func validate() throws {
        try checkNotEmpty(folder, "--in")
        try checkNotEmpty(report, "--report")
    }

    func run(in context: CommandContext) throws {
        // Nobody should wait for a report that can't be written.
        let file = try report.map(RehearsalFile.init)
        let loaded = try loadMigrations(in: context, allowsOutOfOrder: range.allowOutOfOrder)
        let range = try range.resolved(in: loaded.runner)
        let migration = try run.options(in: context)
        let store = try openStore(
            loaded,
            for: .rehearse,
            lockTimeout: migration.lockTimeout,
            in: context
        )
        if store.writer.configuration.readonly, let path = store.path {
            throw CommandError.unwritable(path)
        }
        let job = try MigrateJob(store, range, adopting, in: context)
        let adoption = job.adoption
        if adopting.adopt == nil { try store.checkIsAdopted(in: context) }
        try job.checkForDrafts()
        let notes = try json ? store.notes(with: adoption, in: context) : nil
        if !json {
            adoption?.notes.forEach { context.note($0) }
            try store.tellNotes(to: context)
        }
        let options = try RehearsalOptions(
            migration: migration,
            drift: DriftOptions(loaded, ignoring: ignoreTable, in: context)
        )
        let display = ProgressDisplay(RehearsalProgress(), in: context)
        let result = try display.watch(options) { options in
            try store.runner.rehearse(
                in: store.writer,
                upTo: range.target,
                steps: range.count,
                recording: adoption?.identifiers ?? [],
                copyInto: folder,
                options: options
            )
        }
        let failure = result.failure.map {
            store.explaining(
                $0,
                after: display.progress.run,
                migration,
                isRehearsal: true,
                adopts: adoption != nil
            )
        }
        try file?.write(
            RehearsalText(
                result,
                of: store.runner,
                options: migration,
                isEncrypted: !encryption.noEncryption,
                appVersion: context.appVersion,
                toolVersion: context.version
            ).text
        )
        if json {
            try context.printJSON(
                result,
                fields: [
                    "database": store.path, "recorded": adoption?.identifiers, "notes": notes,
                    "report": file?.path,
                ]
            )
        } else {
            context.tell(result, of: store, recording: adoption?.identifiers)
            if let file { context.output("Wrote the report: \(file.path.printable)") }
        }
        if let failure { throw failure }
        let failed = result.checks.filter { !$0.ok }
        guard failed.isEmpty else { throw CommandError.rehearsalFailed(failed.map(\.name)) }
    }
}

extension CommandError {
    /// 'migrate' would refuse the database, since it can't be written.
    fileprivate static func unwritable(_ path: String) -> CommandError {
        CommandError(
            ErrorCode("readOnly", .noPermission),
            "\(path) can't be written, so 'migrate' would refuse it",
            "Copy it with '\(Program.name) backup', and rehearse on that copy."
        )
    }

    /// The verification of the copy failed.
    ///
    /// - Parameter failed: The names of the failed checks.
    fileprivate static func rehearsalFailed(_ failed: [String]) -> CommandError {
        CommandError(
            ErrorCode("verificationFailed", .verificationFailed),
            "verification of the copy failed: \(failed.joined(separator: ", "))",
            """
            The report on standard output lists the findings. The database itself is unchanged: \
            '\(Program.name) verify --full' says which of them it has without the migrations.
            """
        )
    }
}

extension CommandContext {
    /// Prints how a rehearsal went.
    fileprivate func tell(
        _ report: RehearsalReport,
        of store: OpenStore,
        recording recorded: [String]?
    ) {
        let name = store.path.map(\.printable) ?? "the database"
        let isIdle = report.steps.isEmpty && report.failure == nil
        if isIdle, recorded == nil {
            return output("Nothing to rehearse; \(report.pending.count) pending.")
        }
        if let recorded { output(recorded.previewSummary) }
        let steps = report.steps.map(\.step)
        if !steps.isEmpty {
            let rooms = Dictionary(
                report.steps.map { ($0.step.identifier, $0.room.byteCount.byteCount) }
            ) { $1 }
            let width = rooms.values.map(\.count).max() ?? 0
            let summary = steps.summaryWithRows {
                "\((rooms[$0.identifier] ?? "").padded(to: width))  "
            }
            output("On a copy of \(name): \(summary)")
        }
        if let failed = report.failedStep { output("Failed: \(failed.printable)") }
        let room = report.room
        let facts = [
            ("copying", duration(report.copySeconds)),
            ("migrating", duration(report.migrationSeconds)),
            ("verifying", report.failure == nil ? duration(report.verificationSeconds) : nil),
            ("before", report.byteCountBefore.byteCount),
            ("after", report.byteCountAfter?.byteCount),
            ("room", "\(room.byteCount.byteCount) more at the peak"),
            (report.journalName, "\(room.journalByteCount.byteCount) of it at most"),
            ("temporary files", "\(room.temporaryByteCount.byteCount) of it at most"),
        ]
        for case (let name, let fact?) in facts {
            output("\(name.padded(to: 16))  \(fact)")
        }
        let failed = report.checks.filter { !$0.ok }
        if !report.checks.isEmpty {
            let count = counted(report.checks.count, "check")
            let rest = failed.isEmpty ? "all is well" : "\(failed.count) failed:"
            output("Verified the copy in full, with \(count): \(rest)")
        }
        for check in failed { output(check.text(hasTime: false)) }
        let pending =
            report.failure == nil && !report.pending.isEmpty
            ? " \(counted(report.pending.count, "migration")) would still be pending." : ""
        output("The copy is removed; \(name) is unchanged.\(pending)")
    }
}

extension RehearsalReport {
    var journalName: String { journalMode == "wal" ? "write-ahead log" : "rollback journal" }
}

/// How far a rehearsal is.
private struct RehearsalProgress: OperationProgress {
    static let endedState = "The database is unchanged, and the copy was removed."
    static let endedAtOnceState =
        "The database is unchanged. The next rehearsal removes the copy, which is encrypted."

    private(set) var run = RunProgress()
    private(set) var line: String?

    mutating func note(_ event: RehearsalEvent) {
        switch event {
        case .copying(let done, let total):
            line = "copying \(done.megabytes) of \(total.megabytes) MB"
        case .migrating(let event):
            run.note(event)
            line = run.line.map { "on the copy: \($0)" }
        case .verifying(.checkStarted(let name)):
            line = "checking the copy: \(name)"
        case .verifying(.checkContinues(let name, let seconds)):
            line = "checking the copy: \(name), \(duration(seconds))"
        case .verifying(.checkFinished):
            line = nil
        }
    }
}

/// The file of a report, which is new.
private struct RehearsalFile {
    let path: String

    /// - Throws: `DatabaseConversionError` if there is something at the path.
    init(_ path: String) throws {
        self.path = path
        var status = stat()
        guard lstat(path, &status) != 0 else { throw DatabaseConversionError.exists(path: path) }
    }

    func write(_ text: String) throws {
        do {
            try NewFile.write(text.utf8, to: path, mode: 0o600, replaces: false)
        } catch let error as NewFileError {
            throw error.explained
        }
    }
}
