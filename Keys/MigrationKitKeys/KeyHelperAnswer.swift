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
            var reader = JSONStringReader(line, at: place)
            defer { place = reader.place }
            do {
                return try reader.string()
            } catch let flaw as JSONStringReader.Flaw {
                throw unusable(flaw.reason)
            }
        }
    }
}
