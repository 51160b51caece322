/// A way in which a power cut may leave the disk: when it comes, and what of the operations that were
/// not synchronized by then has reached it.
package struct Cut: Sendable, Equatable {
    /// How many operations of the record came before it.
    package var prefix: Int
    package var loss: Loss
    /// The place of a synchronization that the disk ignored.
    package var ignored: Int?

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
        /// All that the ignored synchronization covers, and nothing else.
        case uncovered
        /// The content of that, but not the sizes. Where a file is longer than its content, it is
        /// filled with this byte.
        case uncoveredContent(filler: UInt8)
        /// Of what the ignored synchronization covers, all but the first operations.
        case uncoveredTail(kept: Int)
        /// Of what the ignored synchronization covers, the first operations.
        case uncoveredHead(lost: Int)
        /// A random part of what the ignored synchronization covers, and nothing else.
        case uncoveredPart(seed: UInt64)
        /// All that the ignored synchronization covers, and a random part of the rest.
        case uncoveredAndRandom(seed: UInt64)
    }

    package init(prefix: Int, loss: Loss, ignored: Int? = nil) {
        self.prefix = prefix
        self.loss = loss
        self.ignored = ignored
    }
}

extension Cut: CustomStringConvertible {
    /// Such as "120:random:7" or, with the place of an ignored synchronization, "120:random:7:without:99".
    package var description: String {
        let (name, number): (String, UInt64?) =
            switch loss {
            case .everything: ("everything", nil)
            case .nothing: ("nothing", nil)
            case .only(let index): ("only", UInt64(index))
            case .allBut(let index): ("allBut", UInt64(index))
            case .content(let index): ("content", UInt64(index))
            case .size(let index): ("size", UInt64(index))
            case .tail(let count): ("tail", UInt64(count))
            case .head(let count): ("head", UInt64(count))
            case .random(let seed): ("random", seed)
            case .uncovered: ("uncovered", nil)
            case .uncoveredContent(let filler): ("uncoveredContent", UInt64(filler))
            case .uncoveredTail(let count): ("uncoveredTail", UInt64(count))
            case .uncoveredHead(let count): ("uncoveredHead", UInt64(count))
            case .uncoveredPart(let seed): ("uncoveredPart", seed)
            case .uncoveredAndRandom(let seed): ("uncoveredAndRandom", seed)
            }
        return "\(prefix):\(name)" + (number.map { ":\($0)" } ?? "")
            + (ignored.map { ":without:\($0)" } ?? "")
    }

    /// Makes the cut again from its ``description``.
    package init?(_ description: String) {
        var words = description.split(separator: ":")
        if let place = words.firstIndex(of: "without") {
            guard place == words.count - 2, let ignored = Int(words[place + 1]) else { return nil }
            self.ignored = ignored
            words.removeLast(2)
        }
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
        case ("uncovered", nil): loss = .uncovered
        case ("uncoveredContent", let number?):
            loss = .uncoveredContent(filler: UInt8(truncatingIfNeeded: number))
        case ("uncoveredTail", let number?): loss = .uncoveredTail(kept: Int(number))
        case ("uncoveredHead", let number?): loss = .uncoveredHead(lost: Int(number))
        case ("uncoveredPart", let number?): loss = .uncoveredPart(seed: number)
        case ("uncoveredAndRandom", let number?): loss = .uncoveredAndRandom(seed: number)
        default: return nil
        }
    }
}
