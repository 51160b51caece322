import MigrationKitPages
import TestSupport
import Testing

@Suite struct PageNumbersTests {
    private static let seed = SeededGenerator.seed

    @Test func itHoldsTheSameNumbersAsADictionary() {
        var random = SeededGenerator(seed: Self.seed)
        var (numbers, expected) = (PageNumbers(), [Int: Int]())
        #expect(numbers.greatestPage == nil)
        for _ in 0..<5000 {
            let page =
                Bool.random(using: &random)
                ? Int.random(in: 1...3000, using: &random)
                : Int(UInt32.random(in: 1 ... .max, using: &random))
            let number = Int.random(in: 0...Int.max, using: &random)
            numbers[page] = number
            expected[page] = number
        }
        #expect(expected.allSatisfy { numbers[$0.key] == $0.value }, "seed \(Self.seed)")
        #expect(
            (1...3000).allSatisfy { numbers[$0] == expected[$0] },
            "seed \(Self.seed)"
        )
        #expect(numbers.greatestPage == expected.keys.max(), "seed \(Self.seed)")
    }
}
