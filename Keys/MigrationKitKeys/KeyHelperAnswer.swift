/// A key helper's answer: one line with a JSON object of strings.
///
/// It is read where it is, in locked memory: no `String` is made of a key, since that could not be
/// wiped. <https://www.rfc-editor.org/rfc/rfc8259>
enum KeyHelperAnswer {
    case key(Secret, DatabaseKey.Form)
    case refused(String)

    /// - Parameters:
    ///   - line: The line, without the newline at its end.
    ///   - program: The helper, for errors.
    ///   - form: The form of a key for which the answer gives none.
    /// - Throws: ``KeySourceError/unusableAnswer(program:reason:)``. The reason quotes nothing of the
    ///   line, which may have a key in it.
    init(
        _ line: UnsafeRawBufferPointer,
        of program: String,
        assuming form: DatabaseKey.Form
    ) throws {
        var reader = Reader(line: line, program: program)
        let fields = try reader.object()
        if let message = fields["error"] {
            self = .refused(message.unwipableText)
            return
        }
        guard let key = fields["key"] else { throw reader.unusable("it has no \"key\"") }
        switch fields["form"]?.unwipableText {
        case nil: self = .key(key, form)
        case "raw": self = .key(key, .rawKey)
        case "passphrase": self = .key(key, .passphrase)
        case _?: throw reader.unusable("its \"form\" is neither \"raw\" nor \"passphrase\"")
        }
    }

    private struct Reader {
        let line: UnsafeRawBufferPointer
        let program: String
        var place = 0

        mutating func object() throws -> [String: Secret] {
            var fields: [String: Secret] = [:]
            try expect("{")
            if next() == UInt8(ascii: "}") { return fields }
            place -= 1
            while true {
                let name = try string().unwipableText
                try expect(":")
                guard fields.updateValue(try string(), forKey: name) == nil else {
                    throw unusable("a field is there twice")
                }
                switch next() {
                case UInt8(ascii: ","): continue
                case UInt8(ascii: "}"):
                    guard next() == nil else { throw unusable("more follows its object") }
                    return fields
                default: throw noObject
                }
            }
        }

        func unusable(_ reason: String) -> KeySourceError {
            .unusableAnswer(program: program, reason: reason)
        }

        private var noObject: KeySourceError {
            unusable("it isn't a JSON object of strings on one line")
        }

        /// The next byte that is no space; `nil` at the end.
        private mutating func next() -> UInt8? {
            while place < line.count {
                defer { place += 1 }
                if ![0x20, 0x09, 0x0D].contains(line[place]) { return line[place] }
            }
            place += 1
            return nil
        }

        private mutating func expect(_ character: Unicode.Scalar) throws {
            guard next() == UInt8(ascii: character) else { throw noObject }
        }

        private mutating func string() throws -> Secret {
            try expect("\"")
            // No escape is shorter than what it stands for.
            return try Secret(capacity: max(0, line.count - place)) { memory in
                var used = 0
                func append(_ byte: UInt8) {
                    memory[used] = byte
                    used += 1
                }
                while place < line.count {
                    let byte = line[place]
                    place += 1
                    switch byte {
                    case UInt8(ascii: "\""): return used
                    case UInt8(ascii: "\\"): try escape(append)
                    case 0..<0x20: throw unusable("a string has a control character")
                    default: append(byte)
                    }
                }
                throw unusable("a string has no end")
            }
        }

        private mutating func escape(_ append: (UInt8) -> Void) throws {
            guard place < line.count else { throw unusable("a string has no end") }
            let byte = line[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): append(byte)
            case UInt8(ascii: "b"): append(0x08)
            case UInt8(ascii: "f"): append(0x0C)
            case UInt8(ascii: "n"): append(0x0A)
            case UInt8(ascii: "r"): append(0x0D)
            case UInt8(ascii: "t"): append(0x09)
            case UInt8(ascii: "u"): UTF8.encode(try scalar())?.forEach(append)
            default: throw unusable("a string has an unknown escape")
            }
        }

        /// What follows `\u`: four digits, or two such escapes for a character beyond U+FFFF.
        private mutating func scalar() throws -> Unicode.Scalar {
            var value = try fourDigits()
            if (0xD800..<0xDC00).contains(value), place + 1 < line.count,
                line[place] == UInt8(ascii: "\\"), line[place + 1] == UInt8(ascii: "u")
            {
                place += 2
                let low = try fourDigits()
                guard (0xDC00..<0xE000).contains(low) else {
                    throw unusable("a string has half a surrogate pair")
                }
                value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(value) else {
                throw unusable("a string has half a surrogate pair")
            }
            return scalar
        }

        private mutating func fourDigits() throws -> UInt32 {
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard place < line.count, let digit = Hexadecimal.value(line[place]) else {
                    throw unusable("a string has an unknown escape")
                }
                value = value << 4 | UInt32(digit)
                place += 1
            }
            return value
        }
    }
}
