/// Converts hexadecimal digits to bytes and back, from one secret's memory to another's.
enum Hexadecimal {
    /// The bytes for `digits`, in upper or lower case; nil if they aren't valid.
    static func decoded(_ digits: Secret) -> Secret? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        return try? Secret(capacity: digits.count / 2) { memory in
            try digits.withUnsafeBytes { text in
                for index in memory.indices {
                    guard let high = value(text[2 * index]), let low = value(text[2 * index + 1])
                    else { throw NotADigit() }
                    memory[index] = high << 4 | low
                }
            }
            return memory.count
        }
    }

    /// Two lower-case digits for every byte of `bytes`.
    static func encoded(_ bytes: Secret) -> Secret {
        Secret(
            capacity: bytes.count * 2,
            initializingWith: { memory in
                bytes.withUnsafeBytes { bytes in
                    for (index, byte) in bytes.enumerated() {
                        memory[2 * index] = digit(byte >> 4)
                        memory[2 * index + 1] = digit(byte & 15)
                    }
                }
                return memory.count
            }
        )
    }

    /// The value of a digit. Computed, because a lookup table would reveal the key's digits to a
    /// program that observes the cache.
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private struct NotADigit: Error {}
}
