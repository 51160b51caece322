import Foundation
import TestSupport
import Testing

/// Random pairs of schemas with rows: a migration is planned, and runs up, down and up.
///
/// `MIGRATIONKIT_PAIRS` asks for more of them, `MIGRATIONKIT_PAIR` for the one with this number.
/// `MIGRATIONKIT_EXPORT_PAIRS` names a file that gets
/// them, a JSON document a line.
@Suite struct RandomPairTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = environment["MIGRATIONKIT_PAIRS"].flatMap { Int($0) } ?? 100
    private static let numbers =
        environment["MIGRATIONKIT_PAIR"].flatMap { Int($0) }.map { $0..<$0 + 1 } ?? 0..<count

    @Test func everyPairIsReachedAndTakenBack() throws {
        var tally = Tally()
        for number in Self.numbers {
            let pair = RandomPair(seed: Self.seed(number))
            let problems: [String]
            do {
                problems = try PairRun(pair, isEncrypted: number % 25 == 0).problems(&tally)
            } catch {
                problems = ["\(error)"]
            }
            guard problems.isEmpty else {
                Issue.record(
                    """
                    \(problems.prefix(5).joined(separator: "\n"))
                    \(number), MIGRATIONKIT_SEED=\(SeededGenerator.seed): \(pair.changes), \
                    renames \(pair.renames), backfills \(pair.backfills)
                    \((pair.fromStatements + pair.inserts).joined(separator: ";\n"));
                    -- to
                    \(pair.toStatements.joined(separator: ";\n"));
                    """
                )
                tally.failures += 1
                if tally.failures == 3 { return }
                continue
            }
        }
        if Self.count > 1000 { print("\(Self.count) pairs:", tally) }
    }

    @Test(.enabled(if: environment["MIGRATIONKIT_EXPORT_PAIRS"] != nil))
    func pairsAreExported() throws {
        let path = try #require(Self.environment["MIGRATIONKIT_EXPORT_PAIRS"])
        let encoder = JSONEncoder()
        let lines = try (0..<Self.count).map { number in
            String(decoding: try encoder.encode(RandomPair(seed: Self.seed(number))), as: UTF8.self)
        }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    }

    private static func seed(_ number: Int) -> UInt64 {
        SeededGenerator.seed &+ UInt64(number) &* 0x1_0000_0001
    }
}
