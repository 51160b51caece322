import Foundation
import PowerCuts

/// Prints a line at once, whatever standard output is.
func print(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// The campaigns by their names and numbers.
struct PowerCommand {
    private let verb: String
    private let folder: String
    private var names: [String] = []
    private var numbers: [String: Int] = [:]

    init(_ words: [String]) {
        verb = words[0]
        folder = words.count > 1 ? words[1] : ""
        var rest = words.dropFirst(2)
        while let word = rest.popFirst() {
            if word.hasPrefix("--") {
                numbers[String(word.dropFirst(2))] = rest.popFirst().flatMap { Int($0) }
            } else {
                names.append(word)
            }
        }
    }

    private var known: [Scenario] {
        let isIgnoring = verb == "ignore" || numbers["stacks"] != nil || folder == "ignore"
        return Scenario.all + (isIgnoring ? Scenario.unsynchronized : [])
    }

    private var scenarios: [Scenario] {
        names.isEmpty
            ? known
            : known.filter { scenario in
                names.contains {
                    scenario.name == $0
                        || numbers["exact"] == nil && scenario.name.hasPrefix($0 + "-")
                }
            }
    }

    private var seed: UInt64 { UInt64(numbers["seed"] ?? 1) }

    func run() throws {
        var isBad = false
        switch verb {
        case "list": for scenario in known { print(scenario.name) }
        case "state": try writeState()
        case "operations":
            for scenario in scenarios {
                let recording = try scenario.recording(in: Place(folder + "/" + scenario.name))
                for (index, operation) in recording.operations.enumerated() {
                    print("\(index) \(operation)")
                }
            }
        default:
            for scenario in scenarios {
                let place = Place(folder + "/" + scenario.name)
                do {
                    switch verb {
                    case "record":
                        try scenario.record(
                            in: .made(at: place.path),
                            stacks: numbers["stacks"] != nil
                        )
                    case "cut": isBad = try cut(scenario, place) || isBad
                    case "fail": isBad = try fail(scenario, place) || isBad
                    default: try ignore(scenario, place)
                    }
                } catch {
                    isBad = true
                    print("\(scenario.name): \(error)")
                }
            }
        }
        if isBad { exit(1) }
    }

    private func cut(_ scenario: Scenario, _ place: Place) throws -> Bool {
        let start = Date()
        var campaign = try Campaign(scenario, in: place)
        campaign.run(randomCount: numbers["random"] ?? 8, seed: seed, most: numbers["most"])
        try campaign.repeat(numbers["repeat"] ?? 0, seed: seed)
        let report = campaign.report
        var lines = [
            "\(report.scenario) | \(report.operationCount) operations, \(report.syncCount) syncs"
                + " | \(report.madeCount) cuts | \(report.judgedCount) states"
                + " | \(report.repeatedCount) repeated | \(report.badCount) bad | seed \(seed)"
                + " | \(Int(Date().timeIntervalSince(start))) s"
        ]
        if numbers["versions"] != nil || report.badCount > 0 {
            lines += report.versions.map { "    content: \($0)" }
        }
        for finding in report.findings {
            lines += [
                "  \(finding.cut)", "    \(finding.reason)",
                "    SQLCipher alone: \(finding.withoutLibrary)",
            ]
        }
        print(lines.joined(separator: "\n"))
        return report.badCount > 0
    }

    private func ignore(_ scenario: Scenario, _ place: Place) throws {
        var campaign = try Campaign(scenario, in: place)
        let syncs = campaign.ignoreSyncs(
            randomCount: numbers["random"] ?? 4,
            seed: seed,
            most: numbers["most"] ?? 1000
        )
        var lines = campaign.report.findings.map {
            "\(scenario.name) | - | bad with all synchronizations | \($0.cut) \($0.reason)"
        }
        for sync in syncs {
            let verdict =
                sync.finding.map { "seen: \($0.cut) \($0.reason)" }
                ?? "not seen in \(sync.judgedCount) states, covers \(sync.coveredCount) operations"
            lines.append("\(scenario.name) | \(sync.index) | \(sync.place) | \(verdict)")
        }
        print(lines.joined(separator: "\n"))
    }

    /// Lets the calls fail that are named, or as many as asked for.
    private func fail(_ scenario: Scenario, _ place: Place) throws -> Bool {
        let start = Date()
        let library = try FailingLibrary(in: place.path)
        var campaign = try FailingCampaign(scenario, in: place, library: library)
        let named = names.compactMap(FailingCall.init)
        let calls = named.isEmpty ? campaign.failingCalls(seed: seed) : named
        for call in calls.prefix(numbers["most"] ?? .max) { try campaign.run(call) }
        let report = campaign.report
        var lines = [
            "\(report.scenario) | \(report.callCount) calls | \(report.runCount) runs"
                + " | \(report.doneCount) done | \(report.refusedCount) refused"
                + " | \(report.missedCount) missed | \(report.repeatedCount) repeated"
                + " | \(report.badCount) bad | seed \(seed)"
                + " | \(Int(Date().timeIntervalSince(start))) s"
        ]
        if numbers["tolerated"] != nil {
            lines += report.tolerated.map { "    done: \($0)" }.sorted()
        }
        for finding in report.findings {
            lines += ["  \(finding.call)", "    \(finding.reason)"]
            lines += finding.output.split(separator: "\n").map { "    | \($0)" }
        }
        print(lines.joined(separator: "\n"))
        return report.badCount > 0
    }

    private func writeState() throws {
        guard names.count == 3, let cut = Cut(names[1]),
            let scenario = (Scenario.all + Scenario.unsynchronized).first(where: {
                $0.name == names[0]
            })
        else { return print("usage: PowerProbe state FOLDER NAME CUT OUTPUT") }
        let campaign = try Campaign(scenario, in: Place(folder + "/" + scenario.name))
        try FileManager.default.createDirectory(
            atPath: names[2],
            withIntermediateDirectories: true
        )
        try Place.fill(names[2], campaign.files(cut))
    }
}
