import MigrationKitCommon
import MigrationKitFleet

/// The summary of a run, or of the reports of several.
struct FleetDocument: Encodable {
    struct Version: Encodable {
        /// `nil` if no migration is applied, or the store couldn't be opened.
        let version: String?
        let stores: Int
    }

    struct Cause: Encodable {
        let code: String
        let stores: Int
    }

    struct Failed: Encodable {
        let store: String
        let code: String
        let message: String
    }

    struct Finding: Encodable {
        let store: String
        let text: String
    }

    struct Skipped: Encodable {
        let path: String
        let kind: String
    }

    struct Slow: Encodable {
        let store: String
        let seconds: Double
    }

    /// The command of a dry run of 'migrate', and how those of other dry runs end.
    static let dryRun = "dry-run"

    let command: String
    let shard: String?
    let end: String?
    let stores: Int
    let done: Int
    let failed: Int
    let unfinished: Int
    let applied: Int
    let undone: Int
    let changed: Int
    let pending: Int
    /// Of how many stores it isn't known whether a migration is pending.
    let pendingUnknown: Int
    /// Whether it is known of any. Not part of the document.
    let knowsPending: Bool
    let withFindings: Int
    let versions: [Version]
    let causes: [Cause]
    let failures: [Failed]
    let findings: [Finding]
    let unfinishedStores: [String]
    let slowest: [Slow]
    let seconds: Double?
    /// What matches the pattern and isn't a store; `nil` if there is no run.
    var skipped: [Skipped]?
    /// How many stores of the fleet were left out; `nil` if there is no run.
    var excluded: Int?
    var tornLines: Int?
    /// The shards of which there is no report; `nil` if there is only one run.
    var missingShards: [String]?

    /// - Parameters:
    ///   - end: Why the run is over; `nil` for a merged report.
    ///   - seconds: How long the run took; `nil` for a merged report.
    init(
        command: String,
        _ summary: FleetSummary,
        end: FleetRun.End? = nil,
        shard: FleetRecord.Shard? = nil,
        seconds: Double? = nil
    ) {
        self.command = command
        self.shard = shard.map { "\($0.number)/\($0.count)" }
        self.end = end?.rawValue
        stores = summary.count
        done = summary.done
        failed = summary.failed
        unfinished = summary.unfinished
        applied = summary.applied
        undone = summary.undone
        changed = summary.changed
        pending = summary.pending
        pendingUnknown = summary.pendingUnknown
        knowsPending = summary.pendingKnown > 0
        withFindings = summary.withFindings
        versions = summary.versions.map { Version(version: $0, stores: $1) }
            .sorted { ($1.stores, $0.version ?? "") < ($0.stores, $1.version ?? "") }
        causes = summary.causes.map { Cause(code: $0, stores: $1) }
            .sorted { ($1.stores, $0.code) < ($0.stores, $1.code) }
        failures = summary.failures.map {
            Failed(store: $0.store, code: $0.error.code, message: $0.error.message)
        }
        findings = summary.findings.map { Finding(store: $0.store, text: $0.text) }
        unfinishedStores = summary.unfinishedStores
        slowest = summary.slowest.map { Slow(store: $0.store, seconds: $0.seconds) }
        self.seconds = seconds.map(\.inMicroseconds)
    }

    private enum CodingKeys: CodingKey {
        case command, shard, end, stores, done, failed, unfinished, applied, undone
        case changed, pending, pendingUnknown, withFindings, versions, causes, failures, findings
        case unfinishedStores, slowest, seconds, skipped, excluded, tornLines, missingShards
    }

    // MARK: - For People

    func text(_ style: Style) -> String {
        var parts = [heading]
        // What lists the rest.
        let list = end == nil ? " (--list names all)" : " ('fleet report --list' names all)"
        if !versions.isEmpty {
            parts.append(
                table(
                    ["STORES", "VERSION"],
                    versions.map {
                        [count($0.stores), $0.version ?? "none, or not known"]
                    }
                )
            )
        }
        if !failures.isEmpty {
            let unlisted = failed - failures.count
            parts.append(
                table(["FAILED", "CAUSE"], causes.map { [count($0.stores), $0.code] })
            )
            parts.append(
                (failures.map {
                    "\(style.text($0.store.printable, .red)): \($0.message.printable)"
                } + (unlisted > 0 ? ["… and \(unlisted) more\(list)"] : [])).joined(separator: "\n")
            )
        }
        if !findings.isEmpty {
            let unlisted = withFindings - findings.count
            parts.append(
                (findings.map { "\($0.store): \($0.text)".printable }
                    + (unlisted > 0 ? ["… and \(unlisted) more stores"] : []))
                    .joined(separator: "\n")
            )
        }
        if !unfinishedStores.isEmpty {
            let unlisted = unfinished - unfinishedStores.count
            let names = unfinishedStores.map(\.printable).joined(separator: ", ")
            parts.append(
                "Never finished: \(names)" + (unlisted > 0 ? " and \(unlisted) more." : ".")
            )
        }
        if let skipped, !skipped.isEmpty {
            let names = skipped.prefix(10).map { "\($0.path.printable) (\($0.kind))" }
            let unlisted = skipped.count - names.count
            parts.append(
                "Skipped: \(names.joined(separator: ", "))"
                    + (unlisted > 0 ? " and \(unlisted) more." : ".")
            )
        }
        if command.hasSuffix(Self.dryRun) { parts.append("Nothing was changed.") }
        if let slowest = slowest.first, slowest.seconds >= 5 {
            let names = self.slowest.filter { $0.seconds >= 5 }
                .map { "\($0.store.printable) (\(duration($0.seconds)))" }
            parts.append("Slowest: \(names.joined(separator: ", ")).")
        }
        return parts.joined(separator: "\n\n")
    }

    private var heading: String {
        var facts = ["\(done) of \(stores) \(stores == 1 ? "store" : "stores") done"]
        if failed > 0 { facts.append("\(failed) failed") }
        if unfinished > 0 { facts.append("\(unfinished) not finished") }
        for (count, deed) in [(applied, "applied"), (undone, "undone")] where count > 0 {
            let steps = "\(count) \(count == 1 ? "migration" : "migrations")"
            facts.append("\(steps) \(deed) in \(changed)")
        }
        // What was undone is pending.
        if pending > 0, undone == 0 { facts.append("\(pending) with pending migrations") }
        if withFindings > 0 { facts.append("\(withFindings) with findings") }
        if let excluded, excluded > 0 { facts.append("\(excluded) excluded") }
        let time = seconds.map { ", in \(duration($0))" } ?? ""
        return (shard.map { "Part \($0): " } ?? "") + facts.joined(separator: ", ") + time + "."
    }

    private func count(_ number: Int) -> String {
        let text = "\(number)"
        return String(repeating: " ", count: max(0, 6 - text.count)) + text
    }
}
