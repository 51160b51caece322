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
        campaign.run(randomCount: 2, seed: 16, most: 250)
        try campaign.repeat(1, seed: 16)
        let report = campaign.report
        #expect(report.judgedCount > 0)
        #expect(
            report.badCount == 0,
            "seed 16: \(report.findings.map { "\($0.cut) \($0.reason)" })"
        )
    }

    /// A judge that finds nothing may be blind: here the disk ignores a synchronization.
    @Test(arguments: ["rekey-delete", "restore-delete", "backup-delete"])
    func ignoredSynchronizationIsSeen(_ name: String) throws {
        let scenario = try Self.scenario(name)
        let (folder, place) = try Self.recorded(scenario)
        defer { withExtendedLifetime(folder) {} }
        var campaign = try Campaign(scenario, in: place)
        let results = campaign.ignoreSyncs(randomCount: 4, seed: 16)
        // The first is that of the new file.
        #expect(results.first?.finding != nil, "\(results)")
    }

    @Test func cutIsMadeAgainFromItsName() throws {
        for name in ["3:nothing", "3:everything", "7:allBut:5", "7:tail:3", "120:random:99"] {
            #expect(Cut(name)?.description == name)
        }
        #expect(Cut("nonsense") == nil)
    }
}
