import Foundation

/// Random numbers that are the same for the same seed, so that a failure comes back: SplitMix64.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// What random tests begin with: a fixed number, so that the same sources pass or fail alike
    /// wherever they are tested. `TESTS_SEED` gives another, `random` any.
    package static let seed: UInt64 = {
        switch ProcessInfo.processInfo.environment["TESTS_SEED"] {
        case "random"?: .random(in: .min ... .max)
        case let given?: UInt64(given) ?? 1
        case nil: 1
        }
    }()

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
