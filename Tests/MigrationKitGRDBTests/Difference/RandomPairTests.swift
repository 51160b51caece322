import Foundation
import TestSupport
import Testing

/// Random pairs of schemas with rows: a migration is planned, and runs up, down and up.
///
/// `TESTS_EXPORT_PAIRS` names a file that gets the pairs, a JSON document a line.
@Suite struct RandomPairTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let numbers = RandomPair.numbers(30)

    @Test func everyPairIsReachedAndTakenBack() throws {
        var tally = Tally()
        for number in Self.numbers {
            let pair = RandomPair(number: number)
            let problems: [String]
            do {
                problems = try PairRun(pair, isEncrypted: number % 25 == 0).problems(&tally)
            } catch {
                problems = ["\(error)"]
            }
            guard problems.isEmpty else {
                Issue.record("\(problems.prefix(5).joined(separator: "\n"))\n\(pair)")
                tally.failures += 1
                if tally.failures == 3 { return }
                continue
            }
        }
        if Self.numbers.count > 1000 { print("\(Self.numbers):", tally) }
    }

    @Test(.enabled(if: environment["TESTS_EXPORT_PAIRS"] != nil))
    func pairsAreExported() throws {
        let path = try #require(Self.environment["TESTS_EXPORT_PAIRS"])
        let encoder = JSONEncoder()
        let lines = try Self.numbers.map { number in
            String(decoding: try encoder.encode(RandomPair(number: number)), as: UTF8.self)
        }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    }
}
