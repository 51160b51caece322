import Foundation
import MigrationKitFleet
import TestSupport
import Testing

/// The report: lines that are appended, and merged.
@Suite struct FleetReportTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func record(
        _ name: String,
        _ outcome: FleetRecord.Outcome,
        to version: String? = nil,
        code: String? = nil,
        seconds: Double? = nil
    ) -> FleetRecord {
        let store = FleetStore(name: name, path: "\(name).db", group: "g")
        var record = FleetRecord(command: "migrate", store: store, outcome: outcome, time: "t")
        record.to = version
        record.seconds = seconds
        record.error = code.map { .init(code: $0, message: "it failed", exit: 77) }
        return record
    }

    private func append(_ name: String, _ records: [FleetRecord]) throws {
        let file = try FleetReportFile(path: folder.path(name))
        try file.append(records)
        try file.synchronize()
    }

    @Test func lastLineForAStoreCounts() throws {
        try append("a", [record("x", .planned), record("y", .planned), record("z", .planned)])
        try append("a", [record("x", .failed, code: "locked"), record("y", .done, to: "2")])
        try append("b", [record("x", .done, to: "2")])
        let report = try FleetReport(paths: [folder.path("a"), folder.path("b")])
        #expect(report.records.map(\.store) == ["x", "y", "z"])
        #expect(report.records.map(\.outcome) == [.done, .done, .planned])
        let summary = report.summary
        #expect(summary.count == 3 && summary.done == 2 && summary.unfinished == 1)
        #expect(summary.unfinishedStores == ["z"])
        #expect(summary.versions == ["2": 2, nil: 1])
        let other = try FleetReport(paths: [folder.path("b"), folder.path("a")])
        #expect(other.summary.causes == ["locked": 1])
    }

    @Test func aShardWithoutAReportIsMissing() throws {
        // Of 5 stores, the third shard has none.
        func line(_ name: String, _ number: Int, stores: Int) throws -> FleetRecord {
            var line = record(name, .done)
            let shard = try #require(StoreShard(number: number, of: 4))
            line.shard = FleetRecord.Shard(shard, stores: stores, allStores: 5)
            return line
        }
        try append("1", [line("a", 1, stores: 2), line("b", 1, stores: 2)])
        try append("2", [line("c", 2, stores: 1)])
        func missing(_ names: String...) throws -> [String] {
            try FleetReport(paths: names.map { folder.path($0) }).missingShards
        }
        #expect(try missing("1", "2") == ["3/4", "4/4"])
        try append("4", [line("d", 4, stores: 2), line("e", 4, stores: 2)])
        #expect(try missing("1", "2", "4") == [])
        #expect(try missing("4") == ["1/4", "2/4", "3/4"])
        // One of a few stores, such as of the canaries, hasn't. A run of the whole fleet has.
        try append("canaries", [record("a", .done)])
        #expect(try missing("4", "canaries") == ["1/4", "2/4", "3/4"])
        try append("whole", ["a", "b", "c", "d", "e"].map { record($0, .done) })
        #expect(try missing("4", "whole") == [])
        let summary = try FleetReport(paths: [folder.path("4")]).summary
        #expect(summary.count == 5 && summary.done == 2 && summary.unfinished == 3)
        #expect(summary.pendingUnknown == 3)
    }

    @Test func resumedRunsApplyTogether() throws {
        func line(_ applied: Int?, _ outcome: FleetRecord.Outcome) -> FleetRecord {
            var line = record("x", outcome)
            line.applied = applied
            return line
        }
        try append("a", [line(nil, .planned), line(2, .failed)])
        try append("b", [line(nil, .planned), line(1, .done)])
        let report = try FleetReport(paths: [folder.path("a"), folder.path("b")])
        #expect(report.summary.applied == 3 && report.summary.changed == 1)
        // The same file again says nothing new.
        for names in [["a", "b", "b"], ["a", "b", "a"]] {
            let again = try FleetReport(paths: names.map { folder.path($0) }).summary
            #expect(again.applied == 3 && again.done == 1, "\(names)")
        }
    }

    @Test func fileIsForItsOwnerAlone() throws {
        try append("report", [record("x", .done)])
        var status = stat()
        #expect(stat(folder.path("report"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func tornLineIsCountedAndSwallowsNoOther() throws {
        try append("report", [record("x", .done)])
        let text = String(decoding: try folder.data("report"), as: UTF8.self)
        try folder.write("report", (text + text.dropLast(20)).utf8)
        try append("report", [record("y", .done)])
        let report = try FleetReport(paths: [folder.path("report")])
        #expect(report.records.map(\.store) == ["x", "y"])
        #expect(report.tornCount == 1)
    }

    @Test func summaryIsBounded() throws {
        var summary = FleetSummary()
        for number in 0..<1000 {
            summary.add(
                record(
                    "\(number)",
                    .failed,
                    code: number % 2 == 0 ? "a" : "b",
                    seconds: Double(number)
                )
            )
            summary.add(record("left \(number)", .notStarted))
        }
        #expect(summary.failed == 1000 && summary.unfinished == 1000)
        #expect(summary.causes == ["a": 500, "b": 500])
        #expect(summary.failures.count == 20 && summary.unfinishedStores.count == 10)
        #expect(summary.slowest.map(\.seconds) == [999, 998, 997, 996, 995])
    }

    @Test func otherFilesAreNone() throws {
        try folder.makeFolder("folder")
        #expect(
            throws: FleetError.cannotWriteReport(
                path: folder.path("folder"),
                reason: "is a directory"
            )
        ) { try FleetReportFile(path: folder.path("folder")) }
        let empty = try folder.write("empty", "\n".utf8)
        #expect(throws: FleetError.noRecords(paths: [empty])) {
            try FleetReport(paths: [empty])
        }
        let none = folder.path("none")
        #expect(
            throws: FleetError.reportUnreadable(path: none, reason: "no such file or directory")
        ) { try FleetReport(paths: [none]) }
    }

    @Test func nothingIsAppendedToOtherFiles() throws {
        let key = Array("0123456789abcdef\n".utf8)
        try folder.write("key", key)
        try folder.write("store.db", [0x53, 0x0A, 0xFF, 0x00])
        try folder.write("empty", [])
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"),
            withDestinationPath: "empty"
        )
        try FileManager.default.linkItem(atPath: folder.path("key"), toPath: folder.path("other"))
        for name in ["key", "store.db", "link", "other"] {
            let error = #expect(throws: FleetError.self) {
                try FleetReportFile(path: folder.path(name))
            }
            guard case .notAReport? = error else {
                Issue.record("\(name): \(String(describing: error))")
                continue
            }
        }
        #expect(try folder.data("key") == Data(key))
        #expect(try folder.data("store.db").count == 4)
        _ = try FleetReportFile(path: folder.path("empty"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func anotherUsersFileIsNoReport() throws {
        let path = try folder.write("report", [])
        try #require(chown(path, 12345, 0) == 0)
        let error = FleetError.notAReport(path: path, reason: "it is another user's")
        #expect(throws: error) { try FleetReportFile(path: path) }
    }
}
