/// SipHash-1-3 with 128 bits. Swift's `Hasher` has 64, another seed in every process, and is slower
/// with a few bytes at a time.
/// <https://github.com/veorq/SipHash>
@frozen package struct SipHash {
    @usableFromInline var v0: UInt64
    @usableFromInline var v1: UInt64
    @usableFromInline var v2: UInt64
    @usableFromInline var v3: UInt64

    /// - Parameter seed: Whoever doesn't know it can't choose values with the same hash.
    @inlinable
    package init(seed: (UInt64, UInt64)) {
        v0 = seed.0 ^ 0x736f_6d65_7073_6575
        v1 = seed.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = seed.0 ^ 0x6c79_6765_6e65_7261
        v3 = seed.1 ^ 0x7465_6462_7974_6573
    }

    @inlinable @inline(__always)
    package mutating func add(_ word: UInt64) {
        v3 ^= word
        round()
        v0 ^= word
    }

    /// The number of bytes must have been added before.
    @inlinable @inline(__always)
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset + 8 <= bytes.count {
            add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        guard offset < bytes.count else { return }
        var last: UInt64 = 0
        while offset < bytes.count {
            last = last << 8 | UInt64(bytes[offset])
            offset += 1
        }
        add(last)
    }

    /// Adds a text with its length.
    package mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            add(UInt64(bytes.count))
            add(UnsafeRawBufferPointer(bytes))
        }
    }

    @inlinable
    package consuming func finish() -> (UInt64, UInt64) {
        v2 ^= 0xee
        for _ in 0..<3 { round() }
        let one = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        for _ in 0..<3 { round() }
        return (one, v0 ^ v1 ^ v2 ^ v3)
    }

    @inlinable @inline(__always)
    mutating func round() {
        v0 = v0 &+ v1
        v1 = v1 << 13 | v1 >> 51
        v1 ^= v0
        v0 = v0 << 32 | v0 >> 32
        v2 = v2 &+ v3
        v3 = v3 << 16 | v3 >> 48
        v3 ^= v2
        v0 = v0 &+ v3
        v3 = v3 << 21 | v3 >> 43
        v3 ^= v0
        v2 = v2 &+ v1
        v1 = v1 << 17 | v1 >> 47
        v1 ^= v2
        v2 = v2 << 32 | v2 >> 32
    }
}
