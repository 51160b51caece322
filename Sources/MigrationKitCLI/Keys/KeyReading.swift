import Foundation
import MigrationKitKeys

/// What a secret means as a key, in one of the ways in which programs write keys.
///
/// The notations can't be told from each other: 44 letters may be a passphrase, or the base64 of 32 bytes.
/// So each reading is tried on the database, and none is guessed.
struct KeyReading: Sendable {
    /// How the key is written, such as `base64`; `nil` if it is written as this library does.
    let notation: String?
    let key: DatabaseKey

    /// All that a secret can mean, each key once, the likeliest first.
    ///
    /// - Parameter form: The form of a secret that this library stored, which has no other meaning; `nil`
    ///   for any other.
    static func all(of secret: Secret, form: DatabaseKey.Form? = nil) -> [KeyReading] {
        // A passphrase of 64 KiB is the longest that commands accept.
        guard !secret.isEmpty, secret.count <= 65536 else { return [] }
        if let form {
            return (try? DatabaseKey(secret, form: form)).map { [Self(notation: nil, key: $0)] }
                ?? []
        }
        var readings = Readings()
        readings.add(secret, nil)
        return readings.found
    }
}

/// Collects readings.
private struct Readings {
    private(set) var found: [KeyReading] = []

    private mutating func add(_ key: DatabaseKey?, _ notation: String?) {
        guard let key, !found.contains(where: { $0.key == key }) else { return }
        found.append(KeyReading(notation: notation, key: key))
    }

    /// - Parameter notation: How the text was written; `nil` for the secret itself.
    mutating func add(_ text: Secret, _ notation: String?) {
        addText(text, notation, plain: notation)
        add(try? .rawKey(bytes: text), notation ?? "\(text.count) bytes")
        // Spaces may belong to a passphrase.
        if let other = text.between("\u{feff}", "") {
            addText(other, notation, plain: notation ?? "text with a mark of byte order")
        }
        let bare = text.withoutSurroundings
        if bare != text {
            addText(bare, notation, plain: notation ?? "text in quotes or spaces")
        }
        guard notation == nil else { return }
        // The line feed of a last line has two bytes.
        let units = text.count % 2 == 0 ? text : text.appending("\n")
        if let other = units.fromUTF16 { add(other, "text in UTF-16") }
        addJSON(bare, "a field of JSON")
        for value in text.valuesOfSettings { add(value, "a line of settings") }
        for (form, other) in bare.otherNormalForms { add(try? .passphrase(other), form) }
        // A line feed at the end was taken for the end of a line.
        for end in ["\n", "\r\n"] as [StaticString] {
            let whole = text.appending(end)
            add(try? .rawKey(bytes: whole), "\(whole.count) bytes")
        }
        add(try? .passphrase(text.appending("\n")), "text with its line feed")
    }

    private mutating func addJSON(_ text: Secret, _ notation: String) {
        for value in text.stringsOfJSON { add(value, notation) }
        for bytes in text.byteArraysOfJSON { add(try? .rawKey(bytes: bytes), notation) }
    }

    /// - Parameter plain: How it was written if it is a passphrase, or a raw key's digits.
    private mutating func addText(_ text: Secret, _ notation: String?, plain: String?) {
        add(try? .rawKey(hexadecimal: text), plain)
        add(try? .passphrase(text), plain)
        addDigits(text, notation)
        addBase64(text, notation)
        if let start = text.beforeNUL { add(try? .passphrase(start), "bytes before a NUL") }
    }

    /// Hexadecimal digits: as in SQL, as a number, or by themselves.
    private mutating func addDigits(_ text: Secret, _ notation: String?) {
        let forms = [("x'", "'", "x'…'"), ("x\"", "\"", "x\"…\""), ("0x", "", "0x…")]
        for (start, end, name) in forms {
            guard let digits = text.between(start, end) else { continue }
            add(try? .rawKey(hexadecimal: digits), notation ?? name)
            add(try? .passphrase(digits), notation ?? name)
            addBytes(of: digits, notation ?? name)
            // SQLCipher takes other numbers of digits for a passphrase, with what is around them.
            if start == "0x", ![64, 96].contains(digits.count), Hexadecimal.decoded(digits) != nil {
                add(try? .passphrase(Hexadecimal.literal(digits)), notation ?? name)
            }
        }
        if let digits = text.withoutColons {
            add(try? .rawKey(hexadecimal: digits), notation ?? "digits with colons")
            addBytes(of: digits, notation ?? "digits with colons")
        }
        if text.count >= 16 { addBytes(of: text, notation ?? "hexadecimal digits") }
    }

    /// Digits that stand for a passphrase's bytes, or are a passphrase in the other case.
    private mutating func addBytes(of digits: Secret, _ notation: String) {
        guard let bytes = Hexadecimal.decoded(digits) else { return }
        for other in [
            digits.mapped { $0 | ($0 > 64 ? 0x20 : 0) },
            digits.mapped { $0 & ($0 > 64 ? 0xdf : 0xff) },
        ]
        where other != digits {
            add(try? .passphrase(other), "digits in the other case")
        }
        add(try? .passphrase(bytes), notation)
        if let start = bytes.beforeNUL { add(try? .passphrase(start), "bytes before a NUL") }
    }

    private mutating func addBase64(_ text: Secret, _ notation: String?) {
        // What go-keyring stores, which several programs for the desktop use.
        let keyring = text.between("go-keyring-base64:", "")
        let older = text.between("go-keyring-encoded:", "")
        guard let bytes = older.flatMap(Hexadecimal.decoded) ?? (keyring ?? text).decodedBase64
        else {
            return
        }
        let isKeyring = keyring != nil || older != nil
        let name =
            older != nil ? "go-keyring-encoded" : keyring != nil ? "go-keyring-base64" : "base64"
        if notation == nil { addJSON(bytes.withoutSurroundings, "a field of JSON in \(name)") }
        let notation = notation ?? name
        add(try? .rawKey(bytes: bytes), notation)
        add(try? .rawKey(hexadecimal: bytes), notation)
        // Letters and digits of any number are base64, and bytes that nobody made are no key.
        let isText = bytes.withUnsafeBytes { $0.allSatisfy { $0 >= 32 && $0 != 127 } }
        if isKeyring || isText || [16, 20, 24, 32, 48, 64].contains(bytes.count) {
            add(try? .passphrase(bytes), notation)
            if let start = bytes.beforeNUL { add(try? .passphrase(start), "bytes before a NUL") }
        }
    }
}

// MARK: - Parts of a Secret

extension Secret {
    fileprivate func part(_ range: Range<Int>) -> Secret {
        withUnsafeBytes { Secret(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    func appending(_ end: StaticString) -> Secret {
        Secret(capacity: count + end.utf8CodeUnitCount) { memory in
            withUnsafeBytes { memory.copyMemory(from: $0) }
            UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(
                from: UnsafeRawBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount)
            )
            return memory.count
        }
    }

    /// What is before the first NUL, where a program in C may have cut it; `nil` if there is none, or
    /// nothing before it.
    fileprivate var beforeNUL: Secret? {
        withUnsafeBytes { bytes in
            bytes.firstIndex(of: 0).flatMap { $0 > 0 ? part(0..<$0) : nil }
        }
    }

    fileprivate func mapped(_ body: (UInt8) -> UInt8) -> Secret {
        Secret(capacity: count) { memory in
            withUnsafeBytes { for (place, byte) in $0.enumerated() { memory[place] = body(byte) } }
            return count
        }
    }

    /// The values of lines `name = value`, as in a file `.env`, at most 64.
    fileprivate var valuesOfSettings: [Secret] {
        withUnsafeBytes { bytes in
            bytes.split(whereSeparator: { [10, 13].contains($0) }).prefix(64).compactMap { line in
                guard line.first != UInt8(ascii: "#"),
                    let sign = line.firstIndex(of: UInt8(ascii: "=")),
                    sign > line.startIndex, sign + 1 < line.endIndex
                else { return nil }
                return part(sign + 1..<line.endIndex).withoutSurroundings
            }
        }
    }

    /// The secret without colons, as OpenSSL separates bytes; `nil` if it has none.
    fileprivate var withoutColons: Secret? {
        withUnsafeBytes { bytes in
            guard bytes.contains(UInt8(ascii: ":")) else { return nil }
            return Secret(capacity: bytes.count) { memory in
                var count = 0
                for byte in bytes where byte != UInt8(ascii: ":") {
                    memory[count] = byte
                    count += 1
                }
                return count
            }
        }
    }

    /// What is between a beginning, in any case, and an end; `nil` if the secret doesn't have both.
    fileprivate func between(_ start: String, _ end: String) -> Secret? {
        let (start, end) = (Array(start.utf8), Array(end.utf8))
        let fits = withUnsafeBytes { bytes in
            bytes.count > start.count + end.count
                && zip(bytes, start).allSatisfy { $0 == $1 || $0 | 0x20 == $1 }
                && bytes.suffix(end.count).elementsEqual(end)
        }
        return fits ? part(start.count..<count - end.count) : nil
    }

    /// The secret without a mark of byte order, white space and quotes around it; the same object if it has
    /// none.
    fileprivate var withoutSurroundings: Secret {
        withUnsafeBytes { bytes in
            var range = bytes.indices
            if bytes.starts(with: [0xef, 0xbb, 0xbf]) { range = 3..<range.upperBound }
            func isSpace(_ byte: UInt8) -> Bool { [9, 10, 13, 32].contains(byte) }
            while let first = range.first, isSpace(bytes[first]) { range.removeFirst() }
            while let last = range.last, isSpace(bytes[last]) { range.removeLast() }
            if range.count > 2, let first = range.first, let last = range.last,
                bytes[first] == bytes[last], [0x22, 0x27].contains(bytes[first])
            {
                range = first + 1..<last
            }
            guard range != bytes.indices, !range.isEmpty else { return self }
            return Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[range]))
        }
    }

    /// The bytes that the secret encodes, also in the alphabet for addresses and without padding; `nil` if it
    /// encodes none. <https://www.rfc-editor.org/rfc/rfc4648>
    fileprivate var decodedBase64: Secret? {
        withUnsafeBytes { text in
            let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
            let digits = text.dropLast(padding)
            guard digits.count >= 4, digits.count % 4 != 1, padding < 3 else { return nil }
            var isValid = true
            let bytes = Secret(capacity: digits.count / 4 * 3 + 3) { memory in
                var (bits, value, count) = (0, UInt32(0), 0)
                for byte in digits {
                    guard let digit = Self.base64Value(byte) else {
                        isValid = false
                        return 0
                    }
                    (value, bits) = (value << 6 | digit, bits + 6)
                    guard bits >= 8 else { continue }
                    bits -= 8
                    memory[count] = UInt8(truncatingIfNeeded: value >> UInt32(bits))
                    count += 1
                }
                return count
            }
            return isValid && !bytes.isEmpty ? bytes : nil
        }
    }

    private static func base64Value(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }

    /// The strings that a JSON document has as values, at most 64. Only quotes and colons are looked at.
    fileprivate var stringsOfJSON: [Secret] {
        withUnsafeBytes { bytes in
            guard let first = bytes.first, [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(first)
            else { return [] }
            var (found, place) = ([Secret](), 1)
            while place < bytes.count, found.count < 64 {
                place += 1
                guard bytes[place - 1] == UInt8(ascii: "\"") else { continue }
                var reader = JSONStringReader(bytes, at: place)
                guard let string = try? reader.string() else { return found }
                place = reader.place
                let next = bytes[place...].first { ![9, 10, 13, 32].contains($0) }
                if next != UInt8(ascii: ":"), !string.isEmpty { found.append(string) }
            }
            return found
        }
    }

    /// The arrays of numbers in a JSON document that are a raw key's bytes, at most 64.
    fileprivate var byteArraysOfJSON: [Secret] {
        withUnsafeBytes { bytes in
            guard let first = bytes.first, [UInt8(ascii: "{"), UInt8(ascii: "[")].contains(first)
            else { return [] }
            return bytes.split(separator: UInt8(ascii: "[")).prefix(64).compactMap { part in
                let numbers = part.prefix { $0 != UInt8(ascii: "]") }
                var isValid = numbers.count < part.count
                let array = Secret(capacity: numbers.count / 2 + 1) { memory in
                    var count = 0
                    for number in numbers.split(
                        separator: UInt8(ascii: ","),
                        omittingEmptySubsequences: false
                    ) {
                        var (value, digitCount) = (0, 0)
                        for byte in number where ![9, 10, 13, 32].contains(byte) {
                            digitCount += 1
                            guard (0x30...0x39).contains(byte), digitCount < 4 else {
                                isValid = false
                                return 0
                            }
                            value = value * 10 + Int(byte - 0x30)
                        }
                        guard digitCount > 0, value < 256, count < memory.count else {
                            isValid = false
                            return 0
                        }
                        memory[count] = UInt8(value)
                        count += 1
                    }
                    return count
                }
                return isValid ? array : nil
            }
        }
    }

    /// UTF-8, if the secret has the mark of UTF-16 or consists of its units for ASCII; `nil` if not.
    fileprivate var fromUTF16: Secret? {
        withUnsafeBytes { bytes in
            guard bytes.count >= 4, bytes.count % 2 == 0 else { return nil }
            let pairs = stride(from: 0, to: bytes.count, by: 2)
            let isMarked = bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff])
            let isBigEndian =
                isMarked
                ? bytes[0] == 0xfe : pairs.allSatisfy { bytes[$0] == 0 && bytes[$0 + 1] != 0 }
            guard
                isMarked || isBigEndian
                    || pairs.allSatisfy({ bytes[$0] != 0 && bytes[$0 + 1] == 0 })
            else { return nil }
            let units = pairs.lazy.dropFirst(isMarked ? 1 : 0).map { place in
                let (first, second) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
                return isBigEndian ? first << 8 | second : second << 8 | first
            }
            // A unit has at most three bytes in UTF-8.
            var isValid = true
            let text = Secret(capacity: bytes.count / 2 * 3) { memory in
                var count = 0
                isValid = !transcode(
                    units.makeIterator(),
                    from: UTF16.self,
                    to: UTF8.self,
                    stoppingOnError: true
                ) {
                    memory[count] = $0
                    count += 1
                }
                return isValid ? count : 0
            }
            return isValid && !text.isEmpty ? text : nil
        }
    }

    /// Whether it, or a string of the JSON in it, begins as Chromium's safeStorage writes what it encrypts: with
    /// `v10` or `v11`, as it is, in hexadecimal digits or in base64.
    var isOfSafeStorage: Bool {
        let marks = ["v10", "v11", "763130", "763131", "djEw", "djEx"].map { Array($0.utf8) }
        func begins(_ text: Secret) -> Bool {
            text.count > 16
                && text.withUnsafeBytes { bytes in marks.contains { bytes.starts(with: $0) } }
        }
        return begins(self) || withoutSurroundings.stringsOfJSON.contains(where: begins)
    }

    /// A text that isn't ASCII, in the normal forms that it doesn't have: macOS and Linux may compose what
    /// somebody types differently. <https://unicode.org/reports/tr15/>
    ///
    /// The system normalizes texts only, which can't be wiped.
    fileprivate var otherNormalForms: [(name: String, text: Secret)] {
        guard withUnsafeBytes({ $0.contains { $0 > 127 } }) else { return [] }
        let text = unwipableText
        return [
            ("text in NFC", text.precomposedStringWithCanonicalMapping),
            ("text in NFD", text.decomposedStringWithCanonicalMapping),
        ].map { ($0, Secret(utf8: $1)) }.filter { $0.1 != self }
    }
}
