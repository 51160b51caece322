import Foundation
import MigrationKitCommon

/// The reports of one or several runs, merged: the last line for a store counts.
public struct FleetReport: Sendable {
    /// What became of each store, in the order of their names.
    public let records: [FleetRecord]

    /// The parts of the fleet of which there is no line, though they have stores: the reports of their
    /// tasks are missing. Each as `3/4`.
    public let missingShards: [String]

    /// How many stores are in these parts, and so have no line.
    public let missingStores: Int

    /// The commands of which there are parts, each with how many, such as `migrate in 4 shards`.
    public let splits: [String]

    /// How many lines are incomplete, because a run was killed or a disk was full.
    public let tornCount: Int

    /// Reads reports. A line that is there twice counts once, so that a file may be given twice.
    ///
    /// - Parameter paths: The files, oldest first.
    /// - Throws: ``FleetError``.
    public init(paths: [String]) throws {
        var latest: [String: FleetRecord] = [:]
        var seen: Set<FleetRecord> = []
        var shards = FleetShards()
        var torn = 0
        let decoder = JSONDecoder()
        for path in paths {
            guard let file = fopen(path, "re") else {
                throw FleetError.reportUnreadable(path: path, reason: systemReason(errno))
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
                    guard seen.insert(record).inserted else { continue }
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
                throw FleetError.reportUnreadable(path: path, reason: systemReason(errno))
            }
        }
        guard !latest.isEmpty else { throw FleetError.noRecords(paths: paths) }
        records = latest.values.sorted { $0.store < $1.store }
        missingShards = shards.missing
        missingStores = shards.missingStores
        splits = shards.splits
        tornCount = torn
    }

    /// The summary of all stores, also of those without a line.
    public var summary: FleetSummary {
        var summary = records.reduce(into: FleetSummary()) { $0.add($1) }
        summary.addMissing(missingStores)
        return summary
    }
}

/// The stores of a fleet of which there are lines, by the command, and the parts that they are in.
private struct FleetShards {
    private struct Run {
        var stores: Set<String> = []
        var allStores = 0
        /// The numbers of the parts, by how many there are.
        var numbers: [Int: Set<Int>] = [:]

        /// A part without a store has no line. And those of another split, or a run on all stores, may
        /// have done the stores of a missing part.
        var missingStores: Int { max(0, allStores - stores.count) }
    }

    private var runs: [String: Run] = [:]

    mutating func add(_ record: FleetRecord) {
        var run = runs.removeValue(forKey: record.command) ?? Run()
        defer { runs[record.command] = run }
        run.stores.insert(record.store)
        guard let shard = record.shard else { return }
        run.allStores = max(run.allStores, shard.allStores)
        run.numbers[shard.count, default: []].insert(shard.number)
    }

    /// How many stores are missing in the run that lacks most.
    var missingStores: Int { runs.values.map(\.missingStores).max() ?? 0 }

    var missing: [String] {
        runs.values.filter { $0.missingStores > 0 }.flatMap { run in
            run.numbers.flatMap { count, found in
                (1...count).filter { !found.contains($0) }.map { "\($0)/\(count)" }
            }
        }.sorted()
    }

    /// The commands, each with how many shards it has.
    var splits: [String] {
        runs.flatMap { command, run in run.numbers.keys.map { "\(command) in \($0) shards" } }
            .sorted()
    }
}
