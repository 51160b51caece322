import MigrationKitPages
import TestSupport

/// What may happen to a page.
enum PageDamage: CaseIterable {
    case bits, bytes, word, swap, copy, zero, cellOrder, cellTwice, cellCount, content, fragments
    case child, link, header, pageHeader

    /// - Returns: What was done, for the message.
    func apply(
        to image: inout [UInt8],
        _ pageSize: Int,
        _ generator: inout SeededGenerator
    ) -> String {
        let pageCount = image.count / pageSize
        let page = Int.random(in: 0..<pageCount, using: &generator)
        let other = Int.random(in: 0..<pageCount, using: &generator)
        let start = page * pageSize
        let head = start + (page == 0 ? 100 : 0)
        let cellCount = min(image.half(head + 3), pageSize / 8)
        let pointers = head + (image[head] < 8 ? 12 : 8)
        func put(_ value: Int, _ count: Int, at offset: Int) {
            for index in 0..<count where offset + index < image.count {
                image[offset + index] = UInt8(
                    truncatingIfNeeded: value >> (8 * (count - 1 - index))
                )
            }
        }
        func random(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        switch self {
        case .bits: image[start + random(0..<pageSize)] ^= 1 << UInt8(random(0..<8))
        case .bytes: image[start + random(0..<pageSize)] = UInt8(random(0..<256))
        case .word: put(random(0..<pageCount + 3), 4, at: start + random(0..<pageSize - 4))
        case .swap where page > 0 && other > 0:
            for index in 0..<pageSize { image.swapAt(start + index, other * pageSize + index) }
        case .copy where page > 0:
            image.replaceSubrange(
                start..<start + pageSize,
                with: Array(image[other * pageSize..<(other + 1) * pageSize])
            )
        case .zero where page > 0: for index in 0..<pageSize { image[start + index] = 0 }
        case .cellOrder where cellCount > 1:
            let index = random(0..<cellCount - 1)
            for byte in 0..<2 {
                image.swapAt(pointers + 2 * index + byte, pointers + 2 * index + 2 + byte)
            }
        case .cellTwice where cellCount > 1:
            let (from, to) = (random(0..<cellCount), random(0..<cellCount))
            put(image.half(pointers + 2 * from), 2, at: pointers + 2 * to)
        case .cellCount:
            put(max(0, cellCount + 2 * random(0..<2) - 1), 2, at: head + 3)
        case .content: put(image.half(head + 5) + random(-9..<10), 2, at: head + 5)
        case .fragments: image[head + 7] = UInt8(random(0..<64))
        case .child where cellCount > 0:
            put(random(0..<pageCount + 2), 4, at: start + image.half(pointers) % (pageSize - 4))
        case .link: put(random(0..<pageCount + 2), 4, at: page == 0 ? 32 : start)
        case .header: image[random(16..<100)] ^= 1 << UInt8(random(0..<8))
        case .pageHeader: image[head + random(0..<12)] ^= 1 << UInt8(random(0..<8))
        default: return "nothing"
        }
        return "\(self) on page \(page + 1)"
    }
}
