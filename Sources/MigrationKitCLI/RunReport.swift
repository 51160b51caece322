import MigrationKit
import MigrationKitGRDB

/// A step in a JSON document.
struct StepDocument: Encodable {
    let identifier: String
    let seconds: Double

    init(_ step: MigrationReport.Step) {
        identifier = step.identifier
        seconds = (step.seconds * 1_000_000).rounded() / 1_000_000
    }
}

extension [MigrationReport.Step] {
    /// How many, how long, and each with its time.
    var summary: String {
        let total = reduce(0) { $0 + $1.seconds }
        let width = map(\.identifier.count).max() ?? 0
        let lines = map { "  \($0.identifier.padded(to: width))  \(duration($0.seconds))" }
        let count = "\(count) \(count == 1 ? "migration" : "migrations")"
        return (["\(count) in \(duration(total)):"] + lines).joined(separator: "\n")
    }
}

extension MigrationReport {
    /// Where the database stands now.
    func closing(in runner: GRDBMigrationRunner) -> String {
        let latest = runner.migrationIdentifiers.last { !pending.contains($0) }
        let state = latest.map { "The database is at \($0)" } ?? "No migration is applied"
        let rest = pending.isEmpty ? "nothing is pending" : "\(pending.count) pending"
        return "\(verified ? "Verified. " : "")\(state); \(rest)."
    }
}

/// A time for people: milliseconds below a second.
func duration(_ seconds: Double) -> String {
    if seconds < 1 {
        return "\(Int((seconds * 1000).rounded())) ms"
    }
    let tenths = Int((seconds * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) s"
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }

    func trimmingTrailingSpaces() -> String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
