/// Reads a string of JSON from a secret's memory into another's: no `String` is made of it, since that could
/// not be wiped. <https://www.rfc-editor.org/rfc/rfc8259#section-7>
package struct JSONStringReader {
    /// What is wrong with a string. Nothing of it is quoted.
    package struct Flaw: Error {
        package let reason: String
    }

    private let text: UnsafeRawBufferPointer
    /// Behind what was read.
    package private(set) var place: Int

    /// - Parameter place: Behind the string's first quote.
    package init(_ text: UnsafeRawBufferPointer, at place: Int) {
        (self.text, self.place) = (text, place)
    }

    /// Reads to the string's last quote.
    ///
    /// - Throws: A ``Flaw``.
    package mutating func string() throws -> Secret {
        // No escape is shorter than what it stands for.
        try Secret(capacity: lengthBound) { memory in
            var used = 0
            func append(_ byte: UInt8) {
                memory[used] = byte
                used += 1
            }
            while place < text.count {
                let byte = text[place]
                place += 1
                switch byte {
                case UInt8(ascii: "\""): return used
                case UInt8(ascii: "\\"): try escape(append)
                case 0..<0x20: throw Flaw(reason: "a string has a control character")
                default: append(byte)
                }
            }
            throw Flaw(reason: "a string has no end")
        }
    }

    /// How many bytes are before the string's last quote.
    private var lengthBound: Int {
        var end = place
        while end < text.count, text[end] != UInt8(ascii: "\"") {
            end += text[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(end, text.count) - place
    }

    private mutating func escape(_ append: (UInt8) -> Void) throws {
        guard place < text.count else { throw Flaw(reason: "a string has no end") }
        let byte = text[place]
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): append(byte)
        case UInt8(ascii: "b"): append(0x08)
        case UInt8(ascii: "f"): append(0x0C)
        case UInt8(ascii: "n"): append(0x0A)
        case UInt8(ascii: "r"): append(0x0D)
        case UInt8(ascii: "t"): append(0x09)
        case UInt8(ascii: "u"): UTF8.encode(try scalar())?.forEach(append)
        default: throw Flaw(reason: "a string has an unknown escape")
        }
    }

    /// What follows `\u`: four digits, or two such escapes for a character beyond U+FFFF.
    private mutating func scalar() throws -> Unicode.Scalar {
        var value = try fourDigits()
        if (0xD800..<0xDC00).contains(value), place + 1 < text.count,
            text[place] == UInt8(ascii: "\\"), text[place + 1] == UInt8(ascii: "u")
        {
            place += 2
            let low = try fourDigits()
            guard (0xDC00..<0xE000).contains(low) else {
                throw Flaw(reason: "a string has half a surrogate pair")
            }
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else {
            throw Flaw(reason: "a string has half a surrogate pair")
        }
        return scalar
    }

    private mutating func fourDigits() throws -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard place < text.count, let digit = Hexadecimal.value(text[place]) else {
                throw Flaw(reason: "a string has an unknown escape")
            }
            value = value << 4 | UInt32(digit)
            place += 1
        }
        return value
    }
}
