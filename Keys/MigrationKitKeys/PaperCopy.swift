import CLibCrypto

/// A key as lines of letters that a person can write down, and type again.
///
/// ```
/// 1/4 ADTG CY3D LMVQ RYKM  7QZA
/// ```
///
/// Each line has its number, the number of lines, ten bytes in base32 (RFC 4648, without padding) in
/// groups of four letters, and a last group that checks the line together with those before it. The
/// bytes are one for the key's form, 0 for a raw key and 1 for a passphrase, and the key's own. The
/// last group has the first 20 bits of the SHA-256 of `migrationkit.paper/1`, a byte with the
/// number, a byte with the number of lines, and all bytes up to the end of the line.
///
/// <https://www.rfc-editor.org/rfc/rfc4648#section-6>
package struct PaperCopy {
    private static let bytesPerLine = 10
    private static let mark = "migrationkit.paper/1"
    /// A line's number is one byte of what is hashed, and 99 lines are a page and a half.
    private static let lineLimit = 99

    // MARK: - Writing

    /// The lines, each with a newline at its end.
    ///
    /// - Throws: ``RecoveryCopyError/tooLongForPaper(limit:)``.
    package static func text(of key: DatabaseKey) throws -> Secret {
        let bytes = Secret(
            capacity: 1 + key.secret.count,
            initializingWith: { memory in
                memory[0] = key.form == .rawKey ? 0 : 1
                key.secret.withUnsafeBytes { copy($0, to: memory, at: 1) }
                return memory.count
            }
        )
        let lineCount = (bytes.count + bytesPerLine - 1) / bytesPerLine
        guard lineCount <= lineLimit else {
            throw RecoveryCopyError.tooLongForPaper(limit: lineLimit * bytesPerLine - 1)
        }
        return Secret(
            capacity: 64 * lineCount,
            initializingWith: { memory in
                var used = 0
                func append(_ byte: UInt8) {
                    memory[used] = byte
                    used += 1
                }
                bytes.withUnsafeBytes { bytes in
                    for line in 1...lineCount {
                        let end = min(line * bytesPerLine, bytes.count)
                        "\(line)/\(lineCount)".utf8.forEach(append)
                        let part = bytes[((line - 1) * bytesPerLine)..<end]
                        Base32.encode(UnsafeRawBufferPointer(rebasing: part)) { index, letter in
                            if index % 4 == 0 { append(UInt8(ascii: " ")) }
                            append(letter)
                        }
                        "  ".utf8.forEach(append)
                        let whole = UnsafeRawBufferPointer(rebasing: bytes[..<end])
                        check(whole, line: line, of: lineCount).forEach(append)
                        append(UInt8(ascii: "\n"))
                    }
                }
                return used
            }
        )
    }

    /// The four letters at the end of a line.
    private static func check(
        _ bytes: UnsafeRawBufferPointer,
        line: Int,
        of count: Int
    ) -> [UInt8] {
        let head = Array(mark.utf8) + [UInt8(line), UInt8(count)]
        let hashed = Secret(
            capacity: head.count + bytes.count,
            initializingWith: { memory in
                memory.copyBytes(from: head)
                copy(bytes, to: memory, at: head.count)
                return memory.count
            }
        )
        var digest = [UInt8](repeating: 0, count: 32)
        hashed.withUnsafeBytes {
            _ = EVP_Digest($0.baseAddress, $0.count, &digest, nil, EVP_sha256(), nil)
        }
        var letters: [UInt8] = []
        digest.withUnsafeBytes { digest in
            Base32.encode(UnsafeRawBufferPointer(rebasing: digest[..<5])) { _, letter in
                letters.append(letter)
            }
        }
        return Array(letters.prefix(4))
    }

    private static func copy(
        _ bytes: UnsafeRawBufferPointer,
        to memory: UnsafeMutableRawBufferPointer,
        at offset: Int
    ) {
        UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyMemory(from: bytes)
    }

    // MARK: - Reading

    /// The number of the next line, from 1.
    package private(set) var next = 1
    private var lineCount: Int?
    /// The bytes of the lines so far.
    private var bytes = Secret(capacity: 0, initializingWith: { _ in 0 })

    /// Creates a copy of which no line has been read.
    package init() {}

    /// Whether every line was read.
    package var isComplete: Bool { lineCount.map { next > $0 } ?? false }

    /// The key, if all lines are in a text. Lines of other kinds, such as a heading, are skipped.
    ///
    /// - Parameter source: The text's name in errors.
    /// - Throws: ``RecoveryCopyError``; ``DatabaseKeyError``.
    package static func key(in text: Secret, named source: String) throws -> DatabaseKey {
        var copy = PaperCopy()
        try text.withUnsafeBytes { text in
            for line in text.split(separator: UInt8(ascii: "\n")) where !copy.isComplete {
                try copy.read(UnsafeRawBufferPointer(rebasing: line))
            }
        }
        guard copy.lineCount != nil else { throw RecoveryCopyError.notACopy(source: source) }
        return try copy.key()
    }

    /// Reads the next line. One that doesn't begin like a line of a copy is skipped.
    ///
    /// - Throws: ``RecoveryCopyError/wrongLine(_:)``, ``RecoveryCopyError/missingLine(_:of:)``.
    ///   The line then counts as not read.
    package mutating func read(_ line: UnsafeRawBufferPointer) throws {
        guard let (number, count, rest) = Self.numbered(line) else { return }
        guard number == next, count == lineCount ?? count else {
            throw number > next
                ? RecoveryCopyError.missingLine(next, of: count)
                : RecoveryCopyError.wrongLine(number)
        }
        let letters = Secret(
            capacity: rest.count,
            initializingWith: { memory in
                var used = 0
                for byte in rest where byte > UInt8(ascii: " ") {
                    memory[used] = byte
                    used += 1
                }
                return used
            }
        )
        let whole = try letters.withUnsafeBytes { letters in
            guard letters.count > 4,
                let part = Base32.decoded(UnsafeRawBufferPointer(rebasing: letters.dropLast(4))),
                part.count == Self.bytesPerLine || number == count && part.count < Self.bytesPerLine
            else { throw RecoveryCopyError.wrongLine(number) }
            let whole = bytes.appending(part)
            let check = whole.withUnsafeBytes { Self.check($0, line: number, of: count) }
            guard check.elementsEqual(letters.suffix(4).map(Base32.upperCase)) else {
                throw RecoveryCopyError.wrongLine(number)
            }
            return whole
        }
        bytes = whole
        lineCount = count
        next += 1
    }

    /// The key, once every line was read.
    ///
    /// - Throws: ``RecoveryCopyError/missingLine(_:of:)``; ``DatabaseKeyError``.
    package func key() throws -> DatabaseKey {
        guard isComplete else {
            throw RecoveryCopyError.missingLine(next, of: lineCount ?? next)
        }
        return try bytes.withUnsafeBytes { bytes in
            let key = Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[1...]))
            switch bytes[0] {
            case 0: return try .rawKey(bytes: key)
            case 1: return try .passphrase(key)
            default: throw RecoveryCopyError.wrongLine(1)
            }
        }
    }

    /// The number of a line, that of all lines, and the rest; `nil` if it doesn't begin like `1/4 `.
    private static func numbered(
        _ line: UnsafeRawBufferPointer
    ) -> (number: Int, count: Int, rest: UnsafeRawBufferPointer)? {
        let start = line.prefix { $0 <= UInt8(ascii: " ") }.count
        let word = line[start...].prefix { $0 > UInt8(ascii: " ") }
        guard word.count <= 5 else { return nil }
        let numbers = word.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Int(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 2, let number = numbers[0], let count = numbers[1],
            (1...lineLimit).contains(count), (1...count).contains(number)
        else { return nil }
        return (number, count, UnsafeRawBufferPointer(rebasing: line[word.endIndex...]))
    }
}

extension Secret {
    fileprivate func appending(_ other: Secret) -> Secret {
        Secret(
            capacity: count + other.count,
            initializingWith: { memory in
                withUnsafeBytes { memory.copyMemory(from: $0) }
                other.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: $0)
                }
                return memory.count
            }
        )
    }
}

// MARK: - Base32

/// Base32 of RFC 4648, without padding. Letters are computed: a table would reveal the key to a
/// program that observes the cache.
enum Base32 {
    /// Gives `append` each letter with its index.
    static func encode(
        _ bytes: UnsafeRawBufferPointer,
        _ append: (_ index: Int, _ letter: UInt8) -> Void
    ) {
        for index in 0..<((bytes.count * 8 + 4) / 5) {
            var value: UInt8 = 0
            for bit in (5 * index)..<(5 * index + 5) {
                let byte = bit / 8 < bytes.count ? bytes[bit / 8] : 0
                value = value << 1 | byte >> (7 - bit % 8) & 1
            }
            append(index, value < 26 ? UInt8(ascii: "A") + value : UInt8(ascii: "2") + value - 26)
        }
    }

    /// The bytes of letters in upper or lower case; `nil` if they aren't valid.
    static func decoded(_ letters: UnsafeRawBufferPointer) -> Secret? {
        let count = letters.count * 5 / 8
        guard (count * 8 + 4) / 5 == letters.count else { return nil }
        return try? Secret(capacity: count) { memory in
            for (index, letter) in letters.enumerated() {
                guard let value = value(upperCase(letter)) else { throw NotALetter() }
                for offset in 0..<5 where value >> (4 - offset) & 1 == 1 {
                    let bit = 5 * index + offset
                    // The bits behind the last byte are 0.
                    guard bit / 8 < count else { throw NotALetter() }
                    memory[bit / 8] |= 0x80 >> (bit % 8)
                }
            }
            return count
        }
    }

    static func upperCase(_ letter: UInt8) -> UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter) ? letter - 32 : letter
    }

    private static func value(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter - UInt8(ascii: "A")
        case UInt8(ascii: "2")...UInt8(ascii: "7"): letter - UInt8(ascii: "2") + 26
        default: nil
        }
    }

    private struct NotALetter: Error {}
}
