import MigrationKit
import Testing

@testable import MigrationKitGRDB

/// How many rows a batch gets.
@Suite struct BatchPaceTests {
    /// - Parameters:
    ///   - own: What a batch takes without a row, in seconds.
    ///   - ofRow: What a row takes.
    private func pace(own: Double, ofRow: Double, batches: Int) -> BatchPace {
        var pace = BatchPace(
            MigrationBatch("DELETE FROM note"),
            holding: 0.015...0.03,
            isResumed: false
        )
        for _ in 0..<batches { pace.note(seconds: own + ofRow * Double(pace.rows)) }
        return pace
    }

    @Test(arguments: [0.000_001, 0.000_02, 0.001, 0.02]) func lockIsHeldShortly(_ ofRow: Double) {
        let rows = pace(own: 0.001, ofRow: ofRow, batches: 30).rows
        #expect((0.015...0.031).contains(0.001 + ofRow * Double(rows)))
    }

    /// A slow disk, or a subquery that reads a table in each batch.
    @Test(arguments: [0.02, 0.05, 1, 8], [0.000_1, 0.02])
    func batchIsNotMostlyItsOwnCost(_ own: Double, _ ofRow: Double) {
        let seconds = ofRow * Double(pace(own: own, ofRow: ofRow, batches: 40).rows)
        #expect((0.5...3).contains(seconds / own))
    }

    /// Two slow batches may be chance, and what was true once needn't stay so.
    @Test func lockIsNotHeldLongerByChance() {
        var pace = pace(own: 0.001, ofRow: 0.000_01, batches: 20)
        let rows = pace.rows
        pace.note(seconds: 0.08)
        pace.note(seconds: 0.08)
        #expect(pace.rows < rows)
        for _ in 0..<20 { pace.note(seconds: 0.001 + 0.000_01 * Double(pace.rows)) }
        #expect((0.015...0.031).contains(0.001 + 0.000_01 * Double(pace.rows)))

        for _ in 0..<10 { pace.note(seconds: 0.05 + 0.000_01 * Double(pace.rows)) }
        #expect(0.000_01 * Double(pace.rows) > 0.025)
        for _ in 0..<300 { pace.note(seconds: 0.02 + 0.000_01 * Double(pace.rows)) }
        #expect(0.02 + 0.000_01 * Double(pace.rows) < 0.081)
    }

    /// Who waits can't be seen before he has written.
    @Test func othersHaveATurnThoughNobodyWasSeen() {
        var pace = pace(own: 0.001, ofRow: 0.000_01, batches: 1)
        let start = ContinuousClock.now + .milliseconds(20)
        #expect(pace.turnForOthers(at: start) > 0.025)
        #expect(pace.turnForOthers(at: start + .milliseconds(299)) == 0)
        #expect(pace.turnForOthers(at: start + .milliseconds(300)) > 0.025)
    }

    @Test func pauseOfTheMachineIsForgotten() {
        var pace = pace(own: 0.001, ofRow: 0.000_01, batches: 20)
        for _ in 0..<3 { pace.note(seconds: 2) }
        for _ in 0..<20 { pace.note(seconds: 0.001 + 0.000_01 * Double(pace.rows)) }
        #expect((0.015...0.031).contains(0.001 + 0.000_01 * Double(pace.rows)))
    }
}
