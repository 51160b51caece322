import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitSchema

struct StatusCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status",
            _superCommandName: Program.name,
            abstract: "Show which migrations are applied.",
            usage: "\(Program.name) status [<database>] [<options>]",
            discussion: """
                'up' is applied, 'down' is pending, 'draft' has no SQL yet. 'begun' is pending, and \
                some of its batches are done. 'late' is pending although a later one is applied. \
                'changed' was edited after it was applied, or after its batches had begun. \
                'missing' was applied and no longer exists, although later ones do. 'unknown' was \
                applied and comes after all that exist: a newer program applied it, or its file \
                was renamed or deleted.

                Below, it lists where the database's schema differs from that of its applied \
                migrations, which run on an empty database in memory.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Exit with 3 if a migration is pending, with 2 if the schema differs.")
    var exitCode = false

    @Option(help: .ignoredTable)
    var ignoreTable: [String] = []

    @Flag(help: "Show every setting and where it comes from, without opening the database.")
    var showSettings = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        if showSettings { return try context.showSettings(of: self, json: json) }
        let loaded = try loadMigrations(in: context)
        let options = try DriftOptions(loaded, ignoring: ignoreTable, in: context)
        let store = try openStore(loaded, for: .read, in: context)
        let other = try store.noteOtherRecord(in: context, json: json)
        let report = try StatusReport(
            of: store,
            store.runner.drift(in: store.writer, options),
            otherRecord: other
        )
        if json {
            try context.printJSON(report)
        } else {
            context.output(report.text(context.style))
        }
        if exitCode {
            // If 'migrate' would refuse the database, this throws, too.
            if other != nil { try store.checkIsAdopted(in: context) }
            _ = try store.runner.plannedSteps(in: store.writer)
            let pending = report.pending.identifiers
            guard pending.isEmpty else { throw MigrationCLIError.pending(pending) }
            guard report.drift.changes.isEmpty else {
                throw CommandError.verificationFailed(["schema"])
            }
        }
    }
}

/// The state of each migration of a database.
private struct StatusReport {
    struct Row {
        let identifier: String
        let source: String?
        /// `up`, `down`, or a more important mark.
        let state: String
        let mark: String?
        let record: MigrationRecord?
        var begun: BegunMigration?
    }

    let path: String?
    let rows: [Row]
    let pending: PendingMigrations
    let drift: SchemaDrift
    private let otherRecord: OtherRecord?
    /// Whether 'migrate' accepts the unknown migrations.
    private let worksWithNewer: Bool
    private let oldestWorking: NewerMigration?
    /// The missing applied migrations for which a pending one has the same text.
    private let renamed: [(old: String, new: String)]

    init(
        of store: OpenStore,
        _ drift: SchemaDrift,
        otherRecord: OtherRecord?
    ) throws {
        let overview = try store.runner.overview(of: store.writer)
        let changed = Set(overview.changed)
        let missing = Set(overview.missing)
        let known = store.runner.migrationManifest
        let identifiers = Set(known.map(\.identifier))
        let strangers = overview.applied.filter { !identifiers.has($0) }.sorted {
            $0.compare($1, options: .numeric) == .orderedAscending
        }
        path = store.path
        let newer = try store.runner.newerMigrations(in: store.writer)
        worksWithNewer =
            !newer.isEmpty && overview.pending.isEmpty && newer.allSatisfy { $0.older == .work }
        oldestWorking = try store.runner.oldestWorking(in: store.writer)
        let pending = PendingMigrations(overview, of: store, isAdopted: otherRecord == nil)
        self.pending = pending
        self.drift = drift
        self.otherRecord = otherRecord
        renamed = strangers.compactMap { old in
            guard let checksum = overview.records[old]?.checksum else { return nil }
            let new = store.runner.steps.filter {
                $0.checksum == checksum && overview.pending.contains($0.identifier)
            }
            return new.count == 1 ? (old, new[0].identifier) : nil
        }
        rows =
            known.map { identifier, source in
                let isApplied = overview.applied.has(identifier)
                return Row(
                    identifier: identifier,
                    source: source,
                    state: (isApplied ? MigrationState.up : .down).rawValue,
                    mark: changed.contains(identifier)
                        ? "changed"
                        : pending.drafts.contains(identifier)
                            ? "draft"
                            : pending.late.contains(identifier)
                                ? "late" : overview.begun[identifier].map { _ in "begun" },
                    record: isApplied ? overview.records[identifier] : nil,
                    begun: overview.begun[identifier]
                )
            }
            + strangers.map { identifier in
                Row(
                    identifier: identifier,
                    source: nil,
                    state: "unknown",
                    mark: missing.contains(identifier) ? "missing" : nil,
                    record: overview.records[identifier]
                )
            }
            + overview.begun.filter { !identifiers.has($0.key) }.sorted { $0.key < $1.key }
            .map { identifier, begun in
                Row(
                    identifier: identifier,
                    source: nil,
                    state: "unknown",
                    mark: "begun",
                    record: nil,
                    begun: begun
                )
            }
    }

    // MARK: - For People

    func text(_ style: Style) -> String {
        let lines = rows.map { row in
            [
                row.mark ?? row.state,
                row.record?.appliedAt?.localMinute ?? "",
                row.record?.seconds.map(duration) ?? "",
                row.identifier + (row.isSourceTold ? "" : "  (\(row.source ?? ""))"),
            ]
        }
        let text = table(["STATE", "APPLIED", "TOOK", "MIGRATION"], lines)
        guard style.isOn else { return text + "\n\n" + closing }
        let heading = text.prefix { $0 != "\n" }
        let colored = zip(rows, text.split(separator: "\n").dropFirst()).map { row, line in
            let state = row.mark ?? row.state
            return style.text(state, row.color) + line.dropFirst(state.count)
        }
        return ([String(heading)] + colored).joined(separator: "\n") + "\n\n" + closing
    }

    private var closing: String {
        var lines = [pending.summary]
        func count(_ isCounted: (Row) -> Bool, _ text: (Int) -> String) {
            let count = rows.count(where: isCounted)
            if count > 0 { lines.append(text(count)) }
        }
        count({ $0.mark == "changed" && $0.begun == nil }) {
            "\($0) changed since \($0 == 1 ? "it was" : "they were") applied: 'migrate' refuses, 'repair' accepts."
        }
        for row in rows {
            guard let begun = row.begun else { continue }
            let changed = counted(begun.rowsChanged, "row")
            let then =
                switch (row.state, row.mark) {
                case ("unknown", _):
                    ":\n  'migrate' goes on if its file is back, 'downgrade' takes it back."
                case (_, "changed"):
                    """
                    , and was changed since: 'migrate' refuses.
                      Put its old text back, or take it back with 'rollback'.
                    """
                default: pending.isRefused ? "." : ": 'migrate' goes on."
                }
            lines.append("\(row.identifier.printable) is begun, \(changed) so far\(then)")
        }
        count({ $0.mark == "missing" }) {
            "\($0) missing: 'migrate' refuses until \($0 == 1 ? "it is" : "they are") restored."
        }
        count({ $0.state == "unknown" && $0.mark == nil }) {
            worksWithNewer
                ? "\($0) unknown: applied by a newer version; this one works with the result."
                : "\($0) unknown: applied by a newer program, or renamed or deleted: 'migrate' refuses."
        }
        if let oldestWorking, let older = oldestWorking.older {
            let version = oldestWorking.appVersion.map { " (version \($0))" } ?? ""
            lines.append(
                "Versions without \(oldestWorking.identifier)\(version) may fail:".printable
            )
            lines += older.reasons.map { "  - \($0.printable)" }
        }
        for (old, new) in renamed {
            lines.append(
                "\(old.printable) has the text of \(new.printable): was it renamed?\n"
                    + "  repair --rename \("\(old)=\(new)".shellWord)"
            )
        }
        return (lines + driftLines).joined(separator: "\n")
    }

    private var driftLines: [String] {
        switch drift {
        case .same, .sameInOtherOrder: return []
        case .notCompared(let reason):
            // A database without migrations has nothing to be compared with.
            let isMigrated = rows.contains { $0.state != MigrationState.down.rawValue }
            return isMigrated ? ["The schema is not compared: \(reason.printable)."] : []
        case .differs(let difference):
            return ["The schema differs from that of the applied migrations:"]
                + difference.changes.map { "  - \($0.driftText.printable)" }
                + ["'repair --schema' writes the SQL that brings it back."]
        }
    }
}

extension StatusReport: Encodable {
    func encode(to encoder: any Encoder) throws {
        let migrations = rows.map { row -> JSONFields in
            [
                "identifier": row.identifier, "source": row.source, "state": row.state,
                "appliedAt": row.record?.appliedAt?.iso8601, "seconds": row.record?.seconds,
                "changed": row.mark == "changed", "missing": row.mark == "missing",
                "draft": pending.drafts.contains(row.identifier),
                "late": pending.late.contains(row.identifier), "older": row.record?.older,
                "appVersion": row.record?.appVersion,
                "begun": row.begun.map { begun -> JSONFields in
                    ["since": begun.since?.iso8601, "rowsChanged": begun.rowsChanged]
                },
            ]
        }
        let fields: JSONFields = [
            "database": path, "migrations": migrations, "pending": pending.identifiers,
            "oldestWorking": oldestWorking.map(\.versionFields),
            "otherTools": otherRecord?.tools, "counter": otherRecord?.counter,
        ]
        try encoder.encode(JSONFields(drift, fields))
    }
}

extension NewerMigration {
    /// The version that brought it, in a JSON document.
    var versionFields: JSONFields { ["identifier": identifier, "appVersion": appVersion] }
}

extension StatusReport.Row {
    fileprivate var color: Style.Color {
        switch (mark, state) {
        case (nil, "up"): .green
        case (nil, "down"), ("draft", _), ("begun", _): .yellow
        default: .red
        }
    }

    /// Whether the identifier already shows where the migration is defined.
    fileprivate var isSourceTold: Bool {
        // A file's name begins with it.
        source.map { $0.hasPrefix(identifier) || $0.contains(identifier) } ?? true
    }
}
