/// A way in which a power cut may leave the disk: when it comes, and what of the operations that were
/// not synchronized by then has reached it.
package struct Cut: Sendable, Equatable {
    /// How many operations of the record came before it.
    package var prefix: Int
    package var loss: Loss

    package enum Loss: Sendable, Equatable {
        /// All pending operations are lost.
        case everything
        case nothing
        /// One operation is lost.
        case only(Int)
        /// All but one.
        case allBut(Int)
        /// The content of one write, but not the size that it gave the file.
        case content(Int)
        /// The size that one write gave the file, and so what lies behind its end.
        case size(Int)
        /// The last write but for its first sectors.
        case tail(sectors: Int)
        /// The first sectors of the last write.
        case head(sectors: Int)
        case random(seed: UInt64)
    }
}

extension Cut: CustomStringConvertible {
    /// Such as "120:random:7", from which ``init(_:)`` makes the cut again.
    package var description: String {
        switch loss {
        case .everything: "\(prefix):everything"
        case .nothing: "\(prefix):nothing"
        case .only(let index): "\(prefix):only:\(index)"
        case .allBut(let index): "\(prefix):allBut:\(index)"
        case .content(let index): "\(prefix):content:\(index)"
        case .size(let index): "\(prefix):size:\(index)"
        case .tail(let count): "\(prefix):tail:\(count)"
        case .head(let count): "\(prefix):head:\(count)"
        case .random(let seed): "\(prefix):random:\(seed)"
        }
    }

    package init?(_ description: String) {
        let words = description.split(separator: ":")
        guard words.count >= 2, let prefix = Int(words[0]) else { return nil }
        self.prefix = prefix
        let number = words.count > 2 ? UInt64(words[2]) : nil
        switch (words[1], number) {
        case ("everything", nil): loss = .everything
        case ("nothing", nil): loss = .nothing
        case ("only", let number?): loss = .only(Int(number))
        case ("allBut", let number?): loss = .allBut(Int(number))
        case ("content", let number?): loss = .content(Int(number))
        case ("size", let number?): loss = .size(Int(number))
        case ("tail", let number?): loss = .tail(sectors: Int(number))
        case ("head", let number?): loss = .head(sectors: Int(number))
        case ("random", let number?): loss = .random(seed: number)
        default: return nil
        }
    }
}

/// SplitMix64, which gives the same numbers for the same seed everywhere.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

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
