import TestSupport
import Testing

@testable import MigrationKitRescue

/// Where rowids may be missing, beside a look at each hole.
@Suite struct OpenRangesTests {
    @Test(arguments: 0..<20)
    func sameAsEachHole(round: Int) {
        let seed = SeededGenerator.seed
        var generator = SeededGenerator(seed: seed)
        func rowid() -> Int64 {
            let ends: [Int64] = [.min, .max, .min + 1, .max - 1]
            return generator.next() % 8 == 0
                ? ends.randomElement(using: &generator) ?? 0
                : .random(in: -40...40, using: &generator)
        }
        var (ranges, holes) = (OpenRanges(), [SalvageTree.Hole]())
        for _ in 0..<30 {
            if generator.next() % 3 == 0 {
                let after = generator.next() % 5 == 0 ? nil : rowid()
                let through = generator.next() % 5 == 0 ? nil : rowid()
                holes.append(.init(page: 1, depth: 1, after: after, through: through))
            }
            ranges.add(holes) { $0.after != 7 }
            let (one, other) = (rowid(), rowid())
            let rowids = min(one, other)...max(one, other)
            let isOpen = holes.contains { hole in
                hole.after != 7 && hole.after.map { $0 < rowids.lowerBound } ?? true
                    && hole.through.map { $0 >= rowids.upperBound } ?? true
            }
            #expect(ranges.contain(rowids) == isOpen, "seed \(seed), \(rowids) in \(holes)")
        }
    }
}
