import MigrationKitCommon
import MigrationKitFleet

/// The summary of a run, or of the reports of several.
struct FleetDocument {
    /// The command of a dry run of 'migrate', and how those of other dry runs end.
    static let dryRun = "dry-run"

    let command: String
    let summary: FleetSummary
    /// Why the run is over; `nil` for a merged report.
    var end: FleetRun.End?
    var shard: FleetRecord.Shard?
    /// How long the run took; `nil` for a merged report.
    var seconds: Double?
    /// What matches the pattern and isn't a store; `nil` if there is no run.
    var skipped: [StorePattern.Skipped]?
    /// How many stores of the fleet were left out; `nil` if there is no run.
    var excluded: Int?
    var tornLines: Int?
    /// The shards of which there is no report; `nil` if there is only one run.
    var missingShards: [String]?

    // MARK: - For People

    func text(_ style: Style) -> String {
        var parts = [heading]
        // What lists the rest.
        let way = end == nil ? " (--list names all)" : " ('fleet report --list' names all)"
        if !summary.versions.isEmpty {
            let rows = summary.versionsByCount.map {
                [count($0.count), $0.version ?? "none, or not known"]
            }
            parts.append(table(["STORES", "VERSION"], rows))
        }
        if !summary.failures.isEmpty {
            let unlisted = summary.failed - summary.failures.count
            let causes = summary.causesByCount.map { [count($0.count), $0.code] }
            parts.append(table(["FAILED", "CAUSE"], causes))
            parts.append(
                (summary.failures.map {
                    "\(style.text($0.store.printable, .red)): \($0.error.message.printable)"
                } + (unlisted > 0 ? ["… and \(unlisted) more\(way)"] : [])).joined(separator: "\n")
            )
        }
        if !summary.findings.isEmpty {
            let unlisted = summary.withFindings - summary.findings.count
            parts.append(
                (summary.findings.map { "\($0.store): \($0.text)".printable }
                    + (unlisted > 0 ? ["… and \(unlisted) more stores"] : []))
                    .joined(separator: "\n")
            )
        }
        if !summary.unfinishedStores.isEmpty {
            let names = summary.unfinishedStores.map(\.printable)
            parts.append("Never finished: \(shortList(names, of: summary.unfinished)).")
        }
        if let skipped, !skipped.isEmpty {
            let files = skipped.prefix(10).map { "\($0.path.printable) (\($0.kind))" }
            parts.append("Skipped: \(shortList(files, of: skipped.count)).")
        }
        if command.hasSuffix(Self.dryRun) { parts.append("Nothing was changed.") }
        if let slowest = summary.slowest.first, slowest.seconds >= 5 {
            let names = summary.slowest.filter { $0.seconds >= 5 }
                .map { "\($0.store.printable) (\(duration($0.seconds)))" }
            parts.append("Slowest: \(names.joined(separator: ", ")).")
        }
        return parts.joined(separator: "\n\n")
    }

    private var heading: String {
        let stores = counted(summary.count, "store")
        var facts = ["\(summary.done) of \(stores) done"]
        if summary.failed > 0 { facts.append("\(summary.failed) failed") }
        if summary.unfinished > 0 { facts.append("\(summary.unfinished) not finished") }
        for (count, deed) in [(summary.applied, "applied"), (summary.undone, "undone")]
        where count > 0 {
            facts.append("\(counted(count, "migration")) \(deed) in \(summary.changed)")
        }
        // What was undone is pending.
        if summary.pending > 0, summary.undone == 0 {
            facts.append("\(summary.pending) with pending migrations")
        }
        if summary.withFindings > 0 { facts.append("\(summary.withFindings) with findings") }
        if let excluded, excluded > 0 { facts.append("\(excluded) excluded") }
        let time = seconds.map { ", in \(duration($0))" } ?? ""
        return (shard.map { "Part \($0.text): " } ?? "") + facts.joined(separator: ", ") + time
            + "."
    }

    private func count(_ number: Int) -> String {
        let text = "\(number)"
        return String(repeating: " ", count: max(0, 6 - text.count)) + text
    }
}

extension FleetDocument: Encodable {
    func encode(to encoder: any Encoder) throws {
        let fields: JSONFields = [
            "command": command, "shard": shard?.text, "end": end?.rawValue,
            "seconds": seconds, "skipped": skipped, "excluded": excluded,
            "tornLines": tornLines, "missingShards": missingShards,
        ]
        try encoder.encode(JSONFields(summary, fields))
    }
}

extension FleetRecord.Shard {
    /// For example `2/8`.
    var text: String { "\(number)/\(count)" }
}
