import MigrationKitSQLCipher
import Testing

@testable import MigrationKitCLI

/// A run's estimate is that of the whole, and never says that nothing is left.
@Suite struct RunEstimateTests {
    private let million = 1_000_000

    /// A run of phases that take these seconds. Only the first ones tell by bytes how far they are;
    /// the others stop telling at 45 per cent.
    private func states(
        _ seconds: KeyValuePairs<ConversionEvent.Phase, Double>,
        expecting phases: [ConversionEvent.Phase]
    ) -> [(seconds: Double, fraction: Double, left: Int?, line: String)] {
        var estimate = RunEstimate(phases)
        var states: [(Double, Double, Int?, String)] = []
        var start = 0.0
        for (phase, duration) in seconds {
            for tick in 0...100 {
                let part = Double(tick) / 100
                let isExact = phase == .copying || phase == .reading
                let done = isExact ? part : min(part, 0.45)
                let now = start + part * duration
                estimate.note(phase, done: Int(done * 100) * million, total: 100 * million, at: now)
                let (fraction, left) = estimate.state(at: now)
                states.append((now, fraction, left, estimate.line(at: now) ?? ""))
            }
            start += duration
        }
        return states
    }

    @Test func aRunGoesOnWithoutALeapAndSomethingIsLeftToTheEnd() {
        let states = states(
            [.copying: 12, .comparing: 6, .verifying: 3],
            expecting: [.copying, .comparing, .verifying]
        )
        for (one, next) in zip(states, states.dropFirst()) {
            #expect(next.fraction >= one.fraction)
            #expect(next.fraction - one.fraction < 0.03, "\(one) \(next)")
        }
        for state in states {
            guard let left = state.left else { continue }
            #expect(left >= 1)
            #expect(abs(Double(left) - (21 - state.seconds)) < 4, "\(state)")
        }
        #expect(states.last?.line == "verifying, 99 % of all, 1 s left")
    }

    @Test func whatTakesLongerThanExpectedIsNeverDoneBefore() {
        let states = states([.copying: 2, .verifying: 30], expecting: [.copying, .verifying])
        #expect(states.allSatisfy { $0.fraction < 1 || $0.seconds >= 32 })
        #expect(states.allSatisfy { !$0.line.contains(" 0 s left") && !$0.line.contains("100 %") })
    }

    @Test func phaseThatIsLeftOutCountsAsDone() {
        let states = states(
            [.copying: 24, .verifying: 6],
            expecting: [.copying, .comparing, .verifying]
        )
        #expect(states.last.map { $0.fraction > 0.95 } == true)
        let middle = states[150]
        // Half of the verifying is to come.
        #expect(middle.left.map { (3...6).contains($0) } == true, "\(middle)")
    }

    @Test func copyingTellsItsBytesAndTheWhole() {
        var estimate = RunEstimate([.copying, .comparing, .verifying])
        #expect(estimate.line(at: 0) == nil)
        estimate.note(.copying, done: 0, total: 512 * million, at: 0)
        #expect(estimate.line(at: 0) == "copying 0.0 of 512.0 MB, 0 % of all")
        estimate.note(.copying, done: 256 * million, total: 512 * million, at: 3)
        #expect(estimate.line(at: 3) == "copying 256.0 of 512.0 MB, 28 % of all, 8 s left")
        estimate.note(.searchingSalt, done: 3, total: 128, at: 3)
        #expect(estimate.line(at: 3) == "looking for the salt: 3 of 128")
    }
}
