import Foundation
import MigrationKitCommon

/// The reports of one or several runs, merged: the last line for a store counts.
public struct FleetReport: Sendable {
    /// What became of each store, in the order of their names.
    public let records: [FleetRecord]

    /// The parts of the fleet of which there is no line, though they have stores: the reports of their
    /// tasks are missing. Each as `3/4`.
    public let missingShards: [String]

    /// How many lines are incomplete, because a run was killed or a disk was full.
    public let tornCount: Int

    /// Reads reports.
    ///
    /// - Parameter paths: The files, oldest first.
    /// - Throws: ``FleetReportError``.
    public init(paths: [String]) throws {
        var latest: [String: FleetRecord] = [:]
        var shards = FleetShards()
        var torn = 0
        let decoder = JSONDecoder()
        for path in paths {
            guard let file = fopen(path, "re") else {
                throw FleetReportError.cannotRead(path: path, reason: systemReason(errno))
            }
            defer { fclose(file) }
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            defer { free(line) }
            while true {
                let count = getline(&line, &capacity, file)
                guard count > 0, let line else { break }
                let bytes = Data(bytesNoCopy: line, count: count, deallocator: .none)
                if var record = try? decoder.decode(FleetRecord.self, from: bytes) {
                    // What an earlier run has applied to the store was applied by these runs, too.
                    if let earlier = latest[record.store], earlier.command == record.command {
                        if let applied = earlier.applied {
                            record.applied = applied + (record.applied ?? 0)
                        }
                        if let undone = earlier.undone {
                            record.undone = undone + (record.undone ?? 0)
                        }
                    }
                    latest[record.store] = record
                    shards.add(record)
                } else if count > 1 {
                    torn += 1
                }
            }
            guard ferror(file) == 0 else {
                throw FleetReportError.cannotRead(path: path, reason: systemReason(errno))
            }
        }
        guard !latest.isEmpty else { throw FleetReportError.noRecords(paths: paths) }
        records = latest.values.sorted { $0.store < $1.store }
        missingShards = shards.missing
        tornCount = torn
    }

    /// The summary of all stores.
    public var summary: FleetSummary {
        records.reduce(into: FleetSummary()) { $0.add($1) }
    }
}

/// The parts of a fleet of which there are lines.
private struct FleetShards {
    private struct Split: Hashable {
        let command: String
        let count: Int
    }

    private var shards: [Split: [Int: FleetRecord.Shard]] = [:]
    private var wholeRuns: Set<String> = []

    mutating func add(_ record: FleetRecord) {
        guard let shard = record.shard else {
            wholeRuns.insert(record.command)
            return
        }
        let split = Split(command: record.command, count: shard.count)
        shards[split, default: [:]][shard.number] = shard
    }

    /// A part without a store has no line. So one is missing only if the others don't have all stores.
    var missing: [String] {
        shards.filter { !wholeRuns.contains($0.key.command) }.flatMap { split, found in
            let all = found.values.map(\.allStores).max() ?? 0
            guard found.values.reduce(0, { $0 + $1.stores }) < all else { return [String]() }
            return (1...split.count).filter { found[$0] == nil }.map { "\($0)/\(split.count)" }
        }.sorted()
    }
}
