/// One part of a fleet. Each part is handled by its own task.
///
/// Which part a store belongs to is decided by its name alone: by the 64-bit FNV-1a hash of its
/// UTF-8 bytes, modulo the number of parts. So every store is in exactly one part, and stays in it if
/// others come or go. <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>
public struct StoreShard: Equatable, Sendable {
    /// Which part it is, from 1 to ``count``.
    public let number: Int

    /// How many parts there are.
    public let count: Int

    /// - Parameters:
    ///   - number: Which part it is, from 1.
    ///   - count: How many parts there are.
    /// - Returns: `nil` if there is no such part.
    public init?(number: Int, of count: Int) {
        guard count > 0, (1...count).contains(number) else { return nil }
        self.number = number
        self.count = count
    }

    /// Whether the store with a name is in this part.
    public func contains(_ name: String) -> Bool {
        Self.hash(name) % UInt64(count) == UInt64(number - 1)
    }

    /// FNV-1a, 64 bits.
    static func hash(_ name: String) -> UInt64 {
        name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
