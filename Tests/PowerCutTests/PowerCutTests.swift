import Foundation
import PowerCuts
import TestSupport
import Testing

/// A sample of what `Scripts/check-power` does: every command is recorded, and states in which a
/// power cut may leave the disk are judged. Seeds are fixed.
@Suite struct PowerCutTests {
    private static func recorded(_ scenario: Scenario) throws -> (TemporaryFolder, Place) {
        let folder = try TemporaryFolder()
        let place = try Place.made(at: folder.path("place"))
        try scenario.record(in: place)
        return (folder, place)
    }

    private static func scenario(_ name: String) throws -> Scenario {
        try #require(Scenario.all.first { $0.name == name })
    }

    @Test(arguments: Scenario.all.map(\.name))
    func powerCutLeavesTheOldContentOrTheNew(_ name: String) throws {
        let scenario = try Self.scenario(name)
        let (folder, place) = try Self.recorded(scenario)
        defer { withExtendedLifetime(folder) {} }
        var campaign = try Campaign(scenario, in: place)
        campaign.run(randomCount: 2, seed: 16, most: 150)
        try campaign.repeat(1, seed: 16)
        let report = campaign.report
        #expect(report.judgedCount > 0)
        #expect(
            report.badCount == 0,
            "seed 16: \(report.findings.map { "\($0.cut) \($0.reason)" })"
        )
    }

    /// A judge that finds nothing may be blind: here the disk ignores a synchronization.
    @Test(arguments: [
        "rekey-delete", "restore-delete", "backup-delete", "migrate-backup-delete",
        "downgrade-delete",
    ])
    func ignoredSynchronizationIsSeen(_ name: String) throws {
        // The first is that of the new file, which is synchronized once.
        let results = try Self.ignoredSyncs(of: name, first: 1)
        #expect(results.first?.finding != nil, "\(results)")
    }

    /// No synchronization is made in vain. With `rekey-removed`, the one of the folder before the new
    /// file takes the old one's place is needed because another program has just removed a journal.
    @Test(arguments: ["encrypt-keep", "rekey-removed", "backup-delete", "create"])
    func everySynchronizationIsNeeded(_ name: String) throws {
        let results = try Self.ignoredSyncs(of: name)
        #expect(!results.isEmpty)
        #expect(results.allSatisfy { $0.finding != nil }, "\(results)")
    }

    private static func ignoredSyncs(
        of name: String,
        first count: Int? = nil
    ) throws -> [Campaign.IgnoredSync] {
        let scenario = try scenario(name)
        let (folder, place) = try recorded(scenario)
        defer { withExtendedLifetime(folder) {} }
        var campaign = try Campaign(scenario, in: place)
        return campaign.ignoreSyncs(randomCount: 4, seed: 16, most: 100, first: count)
    }

    @Test func cutIsMadeAgainFromItsName() throws {
        let names = [
            "3:nothing", "3:everything", "7:allBut:5", "7:tail:3", "120:random:99",
            "9:uncovered:without:5", "9:uncoveredTail:2:without:5", "9:size:3:without:5",
        ]
        for name in names {
            #expect(Cut(name)?.description == name)
        }
        for name in ["nonsense", "3:only", "9:uncovered:without", "9:without:5:uncovered"] {
            #expect(Cut(name) == nil)
        }
    }
}
