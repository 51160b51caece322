import Foundation
import MigrationKitCommon

/// The reports of one or several runs, merged: the last line for a store counts.
public struct FleetReport: Sendable {
    /// What became of each store, in the order of their names.
    public let records: [FleetRecord]

    /// How many lines are incomplete, because a run was killed or a disk was full.
    public let tornCount: Int

    /// Reads reports.
    ///
    /// - Parameter paths: The files, oldest first.
    /// - Throws: ``FleetReportError``.
    public init(paths: [String]) throws {
        var latest: [String: FleetRecord] = [:]
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
                if let record = try? decoder.decode(FleetRecord.self, from: bytes) {
                    latest[record.store] = record
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
        tornCount = torn
    }

    /// The summary of all stores.
    public var summary: FleetSummary {
        records.reduce(into: FleetSummary()) { $0.add($1) }
    }
}
